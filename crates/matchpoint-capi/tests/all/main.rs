//! The C interface: every test of it, in one program.

mod header;
mod installed;
#[path = "../../../matchpoint-cli/tests/left_out/mod.rs"]
mod left_out;
mod programs;
mod stalls;
