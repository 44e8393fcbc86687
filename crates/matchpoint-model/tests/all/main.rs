//! The model: every test of it, in one program.

mod common;
mod figures;
mod logp;
mod machine;
mod models;
mod predict;
mod sparse;
