//! Tests of calibration.

mod session;
mod synthetic;
mod synthetic_machine;
