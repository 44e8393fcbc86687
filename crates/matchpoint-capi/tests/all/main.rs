//! Tests of the C interface, with compiled C and C++ programs.

mod header;
mod installed;
#[path = "../../../matchpoint-cli/tests/left_out/mod.rs"]
mod left_out;
mod programs;
mod stalls;
