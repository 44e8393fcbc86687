//! Measures a machine under its MPI library and fits the parameters of the model of Bienz, Gropp & Olson.
//!
//! Comments cite sections and equations of the paper, *Improving Performance Models for Irregular
//! Point-to-Point Communication* (EuroMPI 2018).
//!
//! A C program ([`program`]) runs under the user's launcher and makes one measurement per request
//! ([`conversation`]). The location of the ranks determines the measurements ([`ranks`], [`plan`]), which go
//! to a file ([`raw`], [`session`]). The fitted ([`fit`]) parameters become the file of a machine
//! ([`machine`]). The same program makes the exchanges that validate a prediction ([`irregular`],
//! [`validation`]).
//!
//! Times are in seconds, sizes in bytes.

#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod conversation;
pub mod fit;
pub mod irregular;
pub mod machine;
pub mod plan;
pub mod program;
pub mod ranks;
pub mod raw;
pub mod session;
pub mod typical;
pub mod validation;

mod error;

pub use error::CalibrateError;
