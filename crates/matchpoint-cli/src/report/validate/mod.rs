//! The reports of `matchpoint predict validate`: made of a [`Validated`](crate::predict::Validated) and nothing else.

mod bars;
pub mod document;
pub mod json;
mod table;
