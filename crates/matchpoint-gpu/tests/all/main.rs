//! Tests of matching on graphics processors.

mod card;
mod cases;
mod compile;
mod driver;
mod emulation;
mod engines;
mod kernels;
mod laws;
#[path = "../../../matchpoint-cli/tests/left_out/mod.rs"]
mod left_out;
