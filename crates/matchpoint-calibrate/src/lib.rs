//! Measures a machine under its MPI library and fits the parameters of the model of Bienz, Gropp & Olson.
//!
//! The paper is *Improving Performance Models for Irregular Point-to-Point Communication* (EuroMPI 2018).
//! Comments cite its sections and equations.
//!
//! A C program ([`program`]) runs under the user's launcher. The program makes one measurement per request
//! ([`conversation`]) and reports the times. The location of the ranks determines the measurements
//! ([`ranks`], [`plan`]). The measurements go to a file ([`raw`], [`session`]). The fit ([`fit`]) reads the
//! measurements, and the parameters become the file of a machine ([`machine`]). The same program makes the
//! exchanges that validate a prediction ([`irregular`]).
//!
//! Times are in seconds, sizes in bytes.

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

mod error;

pub use error::CalibrateError;
