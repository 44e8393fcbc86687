//! Tests of `matchpoint record` with real MPI libraries. Programs count their calls and messages, and the tests compare
//! the counts with the traces.
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as for `scripts/mpi`. The default is all prepared libraries.

mod applications;
mod cluster;
mod counts;
mod endings;
mod entries;
mod errors;
mod examples;
mod families;
mod fortran;
mod groups;
mod hazards;
mod hosts;
mod job;
#[allow(dead_code)]
#[path = "../launch/mod.rs"]
mod launch;
#[path = "../left_out/mod.rs"]
mod left_out;
mod mpi;
#[path = "../ran/mod.rs"]
#[allow(dead_code)]
mod ran;
mod search;
mod stress;
mod table;
mod top;
