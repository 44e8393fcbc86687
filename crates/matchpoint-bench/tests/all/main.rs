//! The benchmark: every test of it, in one program.

mod measuring;
mod through_c;
mod workloads;
