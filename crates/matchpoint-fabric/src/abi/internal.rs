//! Flags of `fi_getinfo` that no public header of libfabric declares.
//!
//! Their values are the same since libfabric 1.17. No public interface has the same effect:
//!
//! * `FI_PROVIDER=X` hides all other core providers, even from the provider above. [`HIDDEN`] finds hidden
//!   providers.
//! * Other providers search for a core provider with [`CORE_ONLY`] or [`INTERNAL`]. Answers of this provider
//!   would stack both providers on each other without end.

pub const INTERNAL: u64 = 1 << 58;
pub const CORE_ONLY: u64 = 1 << 59;
pub const HIDDEN: u64 = 1 << 60;
