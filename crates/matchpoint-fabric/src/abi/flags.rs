//! Bits of `rdma/fabric.h`: capabilities, modes, and flags of operations and completions.

/// The value of libfabric's `FI_MSG`.
pub const MSG: u64 = 1 << 1;
/// The value of libfabric's `FI_TAGGED`.
pub const TAGGED: u64 = 1 << 3;
/// The value of libfabric's `FI_RECV`.
pub const RECV: u64 = 1 << 10;
/// The value of libfabric's `FI_SEND`, `FI_TRANSMIT`.
pub const SEND: u64 = 1 << 11;
/// The value of libfabric's `FI_MULTI_RECV`.
pub const MULTI_RECV: u64 = 1 << 16;
/// The value of libfabric's `FI_REMOTE_CQ_DATA`.
pub const REMOTE_CQ_DATA: u64 = 1 << 17;
/// The value of libfabric's `FI_PEEK`.
pub const PEEK: u64 = 1 << 19;
/// The value of libfabric's `FI_COMPLETION`.
pub const COMPLETION: u64 = 1 << 24;
/// The value of libfabric's `FI_INJECT`.
pub const INJECT: u64 = 1 << 25;
/// The value of libfabric's `FI_AV_USER_ID`.
pub const AV_USER_ID: u64 = 1 << 41;
/// The value of libfabric's `FI_PEER`.
pub const PEER: u64 = 1 << 43;
/// The value of libfabric's `FI_TAGGED_DIRECTED_RECV`.
pub const TAGGED_DIRECTED_RECV: u64 = 1 << 45;
/// The value of libfabric's `FI_HMEM`.
pub const HMEM: u64 = 1 << 47;
/// The value of libfabric's `FI_REMOTE_COMM`.
pub const REMOTE_COMM: u64 = 1 << 52;
/// The value of libfabric's `FI_SOURCE`.
pub const SOURCE: u64 = 1 << 57;
/// The value of libfabric's `FI_DISCARD`, of an operation.
pub const DISCARD: u64 = 1 << 58;
/// The value of libfabric's `FI_CLAIM`, of an operation.
pub const CLAIM: u64 = 1 << 59;
/// The value of libfabric's `FI_DIRECTED_RECV`, a capability.
pub const DIRECTED_RECV: u64 = 1 << 59;
/// The value of libfabric's `FI_SELECTIVE_COMPLETION`, of a binding.
pub const SELECTIVE_COMPLETION: u64 = 1 << 59;
