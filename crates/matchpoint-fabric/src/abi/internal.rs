//! Three bits that are in no public header of libfabric. They have had these values since 1.17, and there is no public
//! way to the same end:
//!
//! * `FI_PROVIDER=X` hides all other core providers from everyone, from ours as well, which needs the one it stands on.
//!   Asking with [`HIDDEN`] finds it all the same.
//! * Other providers look for something to stand on with [`CORE_ONLY`] or [`INTERNAL`] set. We stand on such providers
//!   ourselves: answering would put them on top of us and us on top of them without end.

/// `OFI_GETINFO_INTERNAL`
pub const INTERNAL: u64 = 1 << 58;
/// `OFI_CORE_PROV_ONLY`
pub const CORE_ONLY: u64 = 1 << 59;
/// `OFI_GETINFO_HIDDEN`
pub const HIDDEN: u64 = 1 << 60;
