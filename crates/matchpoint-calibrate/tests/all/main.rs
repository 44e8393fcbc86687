//! Calibration: every test of it, in one program.

mod made_up;
mod session;
mod synthetic;
