//! Tests of `matchpoint calibrate` with real MPI libraries, and between hosts with known latency and rate.
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as for `scripts/mpi`. The default is all prepared libraries.

#[path = "../record/cluster.rs"]
#[allow(dead_code)]
mod cluster;
mod errors;
mod hosts;
mod jobs;
#[path = "../left_out/mod.rs"]
mod left_out;
#[path = "../record/mpi.rs"]
#[allow(dead_code)]
mod mpi;
mod pairs;
#[path = "../ran/mod.rs"]
#[allow(dead_code)]
mod ran;
mod setting;
mod validate;
