//! `matchpoint record`, end to end: real programs under real MPI libraries, recorded by the real command, analyzed, and
//! compared with what the programs counted themselves.
//!
//! `MATCHPOINT_TEST_MPI` names the libraries, as `scripts/mpi` does; without it, those that it has made ready are used.

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
#[path = "../left_out/mod.rs"]
mod left_out;
mod mpi;
mod search;
mod stress;
mod table;
mod top;
