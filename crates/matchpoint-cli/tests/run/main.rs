//! Tests of `matchpoint run`, with the engine above the MPI library (overflow matching) or below (the libfabric
//! provider).
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as for `scripts/mpi`. The default is all prepared libraries.

#[path = "../record/cluster.rs"]
mod cluster;
mod compared;
mod endings;
mod examples;
mod explained;
mod hosts;
mod installed;
mod job;
mod json;
#[allow(dead_code)]
#[path = "../launch/mod.rs"]
mod launch;
#[path = "../left_out/mod.rs"]
mod left_out;
#[path = "../record/mpi.rs"]
#[allow(dead_code)]
mod mpi;
mod overflow;
mod preloaded;
mod printed;
mod programs;
#[path = "../ran/mod.rs"]
#[allow(dead_code)]
mod ran;
mod recorded;
mod semantics;
mod settings;
mod stock;
