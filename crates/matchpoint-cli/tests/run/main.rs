//! `matchpoint run`, end to end: programs that verify themselves, under real MPI libraries, their messages matched by
//! engines of ours.
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as `scripts/mpi` does; without it, those that it has made ready are used.

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
#[path = "../record/mpi.rs"]
#[allow(dead_code)]
mod mpi;
mod others;
mod recorded;
mod semantics;
mod settings;
