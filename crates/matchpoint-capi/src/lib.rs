//! `libmatchpoint`: the engines behind the C interface that `include/matchpoint.h` declares.
//!
//! A program calls an engine through a table of functions, to which `mp_engine` points. `calls.rs` has the tables. The
//! three kinds of engine implement one trait: `exclusive.rs` for one thread, `shared.rs` for any thread, `offload.rs` for
//! a separate thread. `exclusive.rs` has a table for `hybrid` alone, without dynamic dispatch.
//!
//! A panic ends the process: the functions are `extern "C"`. After a panic the engine's queues are in an unknown
//! state, so no caller can continue, and the hot functions have no guard.

mod answers;
mod calls;
mod create;
mod exclusive;
mod library;
mod offload;
mod shared;
