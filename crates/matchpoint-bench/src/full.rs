//! What ends the part of an engine whose table has a fixed size.

/// The engine's table was full: when, in words. A refusal costs less than the work that was refused, so nothing is said of what
/// calls cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full(pub String);
