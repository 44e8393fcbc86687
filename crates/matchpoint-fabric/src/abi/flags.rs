//! Bits of `rdma/fabric.h`: capabilities, modes, and flags of operations and completions.

/// `FI_MSG`
pub const MSG: u64 = 1 << 1;
/// `FI_TAGGED`
pub const TAGGED: u64 = 1 << 3;
/// `FI_RECV`
pub const RECV: u64 = 1 << 10;
/// `FI_SEND`, `FI_TRANSMIT`
pub const SEND: u64 = 1 << 11;
/// `FI_MULTI_RECV`
pub const MULTI_RECV: u64 = 1 << 16;
/// `FI_REMOTE_CQ_DATA`
pub const REMOTE_CQ_DATA: u64 = 1 << 17;
/// `FI_PEEK`
pub const PEEK: u64 = 1 << 19;
/// `FI_COMPLETION`
pub const COMPLETION: u64 = 1 << 24;
/// `FI_INJECT`
pub const INJECT: u64 = 1 << 25;
/// `FI_AV_USER_ID`
pub const AV_USER_ID: u64 = 1 << 41;
/// `FI_PEER`
pub const PEER: u64 = 1 << 43;
/// `FI_TAGGED_DIRECTED_RECV`
pub const TAGGED_DIRECTED_RECV: u64 = 1 << 45;
/// `FI_HMEM`
pub const HMEM: u64 = 1 << 47;
/// `FI_REMOTE_COMM`
pub const REMOTE_COMM: u64 = 1 << 52;
/// `FI_SOURCE`
pub const SOURCE: u64 = 1 << 57;
/// `FI_DISCARD`, of an operation
pub const DISCARD: u64 = 1 << 58;
/// `FI_CLAIM`, of an operation
pub const CLAIM: u64 = 1 << 59;
/// `FI_DIRECTED_RECV`, a capability
pub const DIRECTED_RECV: u64 = 1 << 59;
/// `FI_SELECTIVE_COMPLETION`, of a binding
pub const SELECTIVE_COMPLETION: u64 = 1 << 59;
