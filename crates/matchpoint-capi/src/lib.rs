//! `libmatchpoint`: the engines behind the C interface that `include/matchpoint.h` declares. That header is generated
//! from these files and from `matchpoint_abi::types`; the comments in it are theirs.
//!
//! Every function that is handed an engine goes through [`handle`], where a panic ends and where a call from within a
//! call is turned away. Nothing here knows an engine by name.

mod handle;
mod library;
mod life;
mod matching;
mod tell;
mod upkeep;
