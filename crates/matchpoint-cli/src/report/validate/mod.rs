//! The reports of `matchpoint predict validate`: made of a [`Validated`](crate::predict::Validated) and nothing else.

pub mod html;
pub mod json;
mod table;
pub mod terminal;
