//! Result of an engine with a full table of fixed size.

/// Position in words. A refusal costs less than the refused work, so costs after it are invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full(pub String);
