//! What applications ask of endpoints above the core, and what they are told.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;
use std::sync::Once;

use matchpoint_fabric::abi::*;

use super::opened::{Opened, open};
use super::{begin, objects, world};

/// Of libfabric.
pub const VERSION: u32 = version(2, 5);
/// More than goes as it is.
pub const LONG: usize = 50_000;

/// Endpoints of a core of this thread, each with its queue.
pub fn endpoints(count: usize, directions: &[u64]) -> Vec<Opened> {
    endpoints_that_inject(64, count, directions)
}

/// Up to so many bytes.
pub fn endpoints_that_inject(bytes: usize, count: usize, directions: &[u64]) -> Vec<Opened> {
    static CHOICE: Once = Once::new();
    // SAFETY: nothing but Rust's own functions reads the environment of a test.
    CHOICE.call_once(|| unsafe { std::env::set_var("MATCHPOINT_CORE", "mock") });
    objects::give(VERSION);
    begin(5, false, VERSION, 0);
    world().inject_bytes = bytes;
    // SAFETY: a core that has begun.
    unsafe { open(count, CQ_FORMAT_TAGGED, directions) }
}

/// Both know each other.
pub fn acquainted(a: &Opened, b: &Opened) -> (Addr, Addr) {
    (a.insert(b), b.insert(a))
}

/// Sends a message; nothing is refused.
pub fn send(from: &Opened, to: Addr, tag: u64, bytes: &[u8], context: usize) {
    let bytes = bytes.to_vec().leak();
    // SAFETY: an enabled endpoint; the bytes are there for ever.
    let rc = unsafe {
        let send = (*(*from.ep).tagged).send.expect("it sends");
        send(from.ep, bytes.as_ptr().cast(), bytes.len(), ptr::null_mut(), to, tag, context as *mut c_void)
    };
    assert_eq!(rc, 0);
}

/// The same with flags of its own.
pub fn send_with(flags: u64, from: &Opened, to: Addr, tag: u64, bytes: &[u8], context: usize) {
    let bytes = bytes.to_vec().leak();
    let iov = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let (msg_iov, context) = (&raw const iov, context as *mut c_void);
    let msg = MsgTagged {
        msg_iov,
        desc: ptr::null_mut(),
        iov_count: 1,
        addr: to,
        tag,
        ignore: 0,
        context,
        data: 0,
    };
    // SAFETY: an enabled endpoint; the bytes are there for ever.
    let rc = unsafe { (*(*from.ep).tagged).sendmsg.expect("it sends")(from.ep, &raw const msg, flags) };
    assert_eq!(rc, 0);
}

/// Posts a receive.
pub fn receive(at: &Opened, from: Addr, tag: u64, room: &mut [u8], context: usize) {
    // SAFETY: an enabled endpoint; the tests keep the room until the message has arrived.
    let rc = unsafe {
        let receive = (*(*at.ep).tagged).recv.expect("it receives");
        let context = context as *mut c_void;
        receive(at.ep, room.as_mut_ptr().cast(), room.len(), ptr::null_mut(), from, tag, 0, context)
    };
    assert_eq!(rc, 0);
}

/// Looks so many times: the contexts of what is complete, and of what has failed.
pub fn look(at: &Opened, times: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut complete, mut failed) = (Vec::new(), Vec::new());
    for _ in 0..times {
        // SAFETY: zeros are entries; an open queue, and room for as many.
        unsafe {
            let mut entries: [CqTaggedEntry; 8] = zeroed();
            let read = (*(*at.cq).ops).readfrom.expect("it reads");
            let rc = read(at.cq, entries.as_mut_ptr().cast(), 8, ptr::null_mut());
            if rc == -(errno::EAVAIL as isize) {
                let mut error: CqErrEntry = zeroed();
                (*(*at.cq).ops).readerr.expect("it reads errors")(at.cq, &raw mut error, 0);
                failed.push(error.op_context as usize);
            }
            let read = usize::try_from(rc).unwrap_or(0);
            complete.extend(entries[..read].iter().map(|entry| entry.op_context as usize));
        }
    }
    (complete, failed)
}
