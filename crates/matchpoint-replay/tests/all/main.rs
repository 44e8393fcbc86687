//! The replay with the default allocator.

mod communicators;
mod counting;
mod events;
mod in_order;
mod memory;
mod program;
mod random;
mod real;
mod recorded;
mod simulation;
#[allow(dead_code)]
#[path = "../../../matchpoint-trace/tests/dumpi/traces.rs"]
mod traces;
mod traffic;
