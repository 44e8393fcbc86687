//! The command: every test of it that runs no MPI program, in one program.

mod bench;
mod browser;
mod check;
mod command;
mod convert;
mod csv;
mod delivery;
mod json;
mod judgement;
#[path = "../left_out/mod.rs"]
mod left_out;
mod predict;
mod profile;
mod readme;
mod recorded;
mod saving;
mod synthetic;
mod terminal;
mod traces;
