//! The reports of `matchpoint predict validate`, from a [`Validated`](crate::predict::Validated).

mod bars;
pub mod document;
pub mod json;
mod table;
