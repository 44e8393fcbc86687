//! The reports of `matchpoint predict`, from a [`Predicted`](crate::predict::Predicted).

pub(super) mod bars;
pub mod document;
pub mod json;
pub mod table;
