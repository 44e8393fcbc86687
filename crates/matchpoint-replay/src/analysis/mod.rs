//! Conclusions from measurements: the verdict, recommendations and limitations. Every function is pure.

pub mod advice;
pub mod call_sites;
pub mod derived;
pub mod inconclusive;
mod judge;
pub mod library_cost;
pub mod stand_in;
pub mod verdict;

pub use judge::judge;
