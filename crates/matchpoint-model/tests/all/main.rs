//! Tests of the models.

mod common;
mod figures;
mod logp;
mod machine;
mod models;
mod predict;
mod sparse;
