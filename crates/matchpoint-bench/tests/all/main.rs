//! Tests of the benchmark.

mod measuring;
mod through_c;
mod workloads;
