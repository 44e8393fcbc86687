//! The readers of DUMPI against real traces, against what the format's own tool prints of them, and against files
//! made here for what no trace at hand contains.

mod counts;
mod damage;
mod every_function;
mod opening;
#[path = "../native/random.rs"]
#[allow(dead_code)]
mod random;
mod records;
mod replaced;
mod text_agrees;
mod text_lines;
mod traces;
mod writer;
mod written;
