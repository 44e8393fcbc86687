//! Measures a machine under its own MPI, and fits the parameters of the model of Bienz, Gropp & Olson, *Improving
//! Performance Models for Irregular Point-to-Point Communication* (EuroMPI 2018), whose sections and equations are cited
//! here.
//!
//! A C program that is carried here ([`program`]) runs under the user's launcher, makes one measurement after the other as
//! it is told ([`conversation`]), and says what each took. What is to be measured follows from where the ranks are
//! ([`ranks`], [`plan`]). Measurements go to a file of their own ([`raw`], [`session`]), and from it the parameters are
//! fitted ([`fit`]) and written as the file of a machine ([`machine`]). The same program carries out exchanges that somebody
//! has predicted ([`irregular`]).
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
