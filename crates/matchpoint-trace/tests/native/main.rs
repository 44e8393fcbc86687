//! Reader and writer of Matchpoint's format: round trips, real traces, and damaged files.

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
