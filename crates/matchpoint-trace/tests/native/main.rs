//! The reader and the writer of our own format: against each other, against real traces written anew, and against
//! damage.

mod bundled;
mod by_hand;
mod canonical;
mod damage;
mod follow;
mod opening;
mod pieces;
mod random;
mod streams;
#[path = "../dumpi/traces.rs"]
#[allow(dead_code)]
mod traces;
