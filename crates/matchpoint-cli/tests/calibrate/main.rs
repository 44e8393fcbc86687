//! `matchpoint calibrate`, end to end: under real MPI libraries, and on hosts whose latency and rate are known.
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as `scripts/mpi` does; without it, those that it has made ready are used.

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
mod setting;
mod validate;
