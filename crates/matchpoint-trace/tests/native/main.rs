//! The reader and the writer of our own format: against each other, against real traces written anew, and against
//! damage.

mod bundled;
mod canonical;
mod random;
mod streams;
#[path = "../dumpi/traces.rs"]
#[allow(dead_code)]
mod traces;
