//! The DUMPI readers with real traces, with the output of the format's tool, and with generated files.

mod counts;
mod damage;
mod every_function;
mod opening;
#[path = "../native/random.rs"]
#[allow(dead_code)]
mod random;
mod records;
mod replaced;
mod text_lines;
mod traces;
mod writer;
mod written;
