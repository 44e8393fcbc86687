//! The reports of `matchpoint predict`: made of a [`Predicted`](crate::predict::Predicted) and nothing else.

pub(super) mod bars;
pub mod document;
pub mod json;
mod table;
