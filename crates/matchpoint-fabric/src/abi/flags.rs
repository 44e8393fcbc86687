//! Bits of `rdma/fabric.h`: capabilities, modes, and flags of operations and completions.

pub const MSG: u64 = 1 << 1;
pub const TAGGED: u64 = 1 << 3;
pub const RECV: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const MULTI_RECV: u64 = 1 << 16;
pub const REMOTE_CQ_DATA: u64 = 1 << 17;
pub const PEEK: u64 = 1 << 19;
pub const COMPLETION: u64 = 1 << 24;
pub const INJECT: u64 = 1 << 25;
pub const AV_USER_ID: u64 = 1 << 41;
pub const PEER: u64 = 1 << 43;
pub const TAGGED_DIRECTED_RECV: u64 = 1 << 45;
pub const HMEM: u64 = 1 << 47;
pub const REMOTE_COMM: u64 = 1 << 52;
pub const SOURCE: u64 = 1 << 57;
pub const DISCARD: u64 = 1 << 58;
pub const CLAIM: u64 = 1 << 59;
pub const DIRECTED_RECV: u64 = 1 << 59;
pub const SELECTIVE_COMPLETION: u64 = 1 << 59;
