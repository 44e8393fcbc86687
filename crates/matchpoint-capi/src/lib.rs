//! `libmatchpoint`: the engines behind the C interface that `include/matchpoint.h` declares.
//!
//! A program calls an engine through a table of functions, to which its `mp_engine` points. `calls.rs` makes the tables. The
//! three kinds of engine implement one trait: `exclusive.rs` for one thread, `shared.rs` for any thread, `offload.rs` for a thread
//! of the engine's own. `exclusive.rs` has a table for `hybrid` alone, without dynamic dispatch.
//!
//! A panic ends the process: the functions are `extern "C"`. A panic means that the engine's queues are in an unknown state, where no
//! caller can continue; so the hot functions have no guard.

mod answers;
mod calls;
mod create;
mod exclusive;
mod library;
mod offload;
mod shared;
