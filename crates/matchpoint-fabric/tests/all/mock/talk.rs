//! Calls of a test application.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;
use std::sync::Once;

use matchpoint_fabric::abi::*;

use super::opened::{BOTH, Opened, open};
use super::{begin, objects};

pub const VERSION: u32 = version(2, 5);
/// Bytes of a rendezvous message.
pub const LONG: usize = 50_000;

/// Opens endpoints of a new core provider, each with a completion queue.
pub fn endpoints(count: usize, accepts_peers: bool) -> Vec<Opened> {
    endpoints_with(5, count, accepts_peers)
}

pub fn endpoints_with(seed: u64, count: usize, accepts_peers: bool) -> Vec<Opened> {
    static CHOICE: Once = Once::new();
    // SAFETY: only Rust functions read the environment of a test.
    CHOICE.call_once(|| unsafe { std::env::set_var("MATCHPOINT_CORE", "mock") });
    objects::install(VERSION);
    begin(seed, accepts_peers, VERSION, 0);
    // SAFETY: the core provider is initialized.
    unsafe { open(count, CQ_FORMAT_TAGGED, BOTH) }
}

pub fn exchange_addresses(a: &Opened, b: &Opened) -> (Addr, Addr) {
    (a.insert(b), b.insert(a))
}

pub fn send(from: &Opened, to: Addr, tag: u64, bytes: &[u8], context: usize) {
    let bytes = bytes.to_vec().leak();
    // SAFETY: the endpoint is enabled. The bytes are leaked.
    let rc = unsafe {
        let send = (*(*from.ep).tagged).send.expect("it sends");
        send(from.ep, bytes.as_ptr().cast(), bytes.len(), ptr::null_mut(), to, tag, context as *mut c_void)
    };
    assert_eq!(rc, 0);
}

pub fn receive(at: &Opened, from: Addr, (tag, ignore): (u64, u64), room: &mut [u8], context: usize) {
    let iov = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let (msg_iov, desc, context) = (&raw const iov, ptr::null_mut(), context as *mut c_void);
    let msg = MsgTagged { msg_iov, desc, iov_count: 1, addr: from, tag, ignore, context, data: 0 };
    // SAFETY: the endpoint is enabled. The tests keep the buffer until the message arrives.
    let rc = unsafe { (*(*at.ep).tagged).recvmsg.expect("it receives")(at.ep, &raw const msg, 0) };
    assert_eq!(rc, 0);
}

pub fn read_contexts(at: &Opened, times: usize) -> Vec<usize> {
    read_completions(at, times).into_iter().map(|(context, _)| context).collect()
}

/// Contexts and flags of completions.
pub fn read_completions(at: &Opened, times: usize) -> Vec<(usize, u64)> {
    let mut complete = Vec::new();
    for _ in 0..times {
        // SAFETY: zeros are valid entries. The queue is open, and the buffer is large enough.
        unsafe {
            let mut entries: [CqTaggedEntry; 8] = zeroed();
            let read = (*(*at.cq).ops).readfrom.expect("it reads");
            let rc = read(at.cq, entries.as_mut_ptr().cast(), 8, ptr::null_mut());
            let read = usize::try_from(rc).unwrap_or(0);
            complete.extend(entries[..read].iter().map(|entry| (entry.op_context as usize, entry.flags)));
        }
    }
    complete
}
