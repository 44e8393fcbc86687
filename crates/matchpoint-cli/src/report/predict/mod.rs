//! The reports of `matchpoint predict`: made of a [`Predicted`](crate::predict::Predicted) and nothing else.

pub mod html;
pub mod json;
mod table;
pub mod terminal;
