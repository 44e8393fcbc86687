//! `libmatchpoint`: the engines behind the C interface that `include/matchpoint.h` declares.
//!
//! A program calls an engine through a table of functions, to which `mp_engine` points (`calls.rs`). Three
//! kinds of engine implement the functions: `exclusive.rs` for one thread, `shared.rs` for any thread,
//! `offload.rs` for a separate thread. The engine `hybrid` has a table without dynamic dispatch.
//!
//! A panic ends the process, because the functions are `extern "C"`. No function catches a panic: the queues
//! may be inconsistent after a panic, and a guard would slow down each call.

mod answers;
mod calls;
mod create;
mod exclusive;
mod library;
mod offload;
mod shared;
