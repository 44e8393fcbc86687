//! Tests of the command that run no MPI program, in one binary.

mod bench;
mod browser;
mod check;
mod command;
mod convert;
mod csv;
mod delivery;
mod generate;
mod json;
mod judgement;
#[path = "../left_out/mod.rs"]
mod left_out;
mod library_costs;
mod predict;
mod profile;
#[path = "../ran/mod.rs"]
#[allow(dead_code)]
mod ran;
mod readme;
mod saving;
mod synthetic;
mod terminal;
mod traces;
mod worst_rank;
