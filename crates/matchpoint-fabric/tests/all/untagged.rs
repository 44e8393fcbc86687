//! Untagged messages, with single receives and multi-receive buffers.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;

use crate::mock;
use crate::mock::opened::Opened;
use crate::mock::talk::{endpoints_with, read_completions};
use libc::iovec;
use matchpoint_fabric::abi::*;

fn open_pair(seed: u64) -> (Opened, Opened) {
    let both = endpoints_with(seed, 2, true);
    (both[0], both[1])
}

fn send_message(from: &Opened, to: Addr, bytes: &[u8]) {
    let bytes = bytes.to_vec().leak();
    // SAFETY: the endpoint is enabled. The bytes are leaked.
    let rc = unsafe {
        let send = (*(*from.ep).msg).send.expect("it sends");
        send(from.ep, bytes.as_ptr().cast(), bytes.len(), ptr::null_mut(), to, ptr::null_mut())
    };
    assert_eq!(rc, 0);
}

fn post_receive(at: &Opened, from: Addr, room: &mut [u8], context: usize, flags: u64) {
    let iov = iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let context = context as *mut c_void;
    let msg =
        Msg { msg_iov: &raw const iov, desc: ptr::null_mut(), iov_count: 1, addr: from, context, data: 0 };
    // SAFETY: the endpoint is enabled. The tests keep the buffer.
    let rc = unsafe { (*(*at.ep).msg).recvmsg.expect("it receives")(at.ep, &raw const msg, flags) };
    assert_eq!(rc, 0);
}

/// Reads completions 200 times. A pair is a context, and whether the completion releases a buffer.
fn read_contexts(at: &Opened) -> Vec<(usize, bool)> {
    let reported = |(context, set): (usize, u64)| (context, set & flags::MULTI_RECV != 0);
    read_completions(at, 200).into_iter().map(reported).collect()
}

#[test]
fn late_source_matches_posted_receive() {
    let (sender, receiver) = open_pair(1);
    let (to, from) = (sender.insert(&receiver), receiver.insert(&sender));
    let (mut first, mut second) = ([0; 8], [0; 8]);
    post_receive(&receiver, from, &mut first, 21, 0);
    post_receive(&receiver, from, &mut second, 22, 0);
    receiver.remove(from);
    for kind in 1..=3 {
        send_message(&sender, to, &[kind; 8]);
    }
    assert_eq!(read_contexts(&receiver), []);
    assert_eq!(receiver.insert(&sender), from);
    let mut complete = read_contexts(&receiver);
    complete.sort_unstable();
    assert_eq!(complete, [(21, false), (22, false)]);
    let mut third = [0; 8];
    post_receive(&receiver, from, &mut third, 23, 0);
    assert_eq!(read_contexts(&receiver), [(23, false)]);
    assert_eq!((first, second, third), ([1; 8], [2; 8], [3; 8]));
}

#[test]
fn late_source_matches_multi_receive_buffer() {
    let (sender, receiver) = open_pair(1);
    let (to, from) = (sender.insert(&receiver), receiver.insert(&sender));
    let mut room = [0; 100];
    post_receive(&receiver, from, &mut room, 21, flags::MULTI_RECV);
    receiver.remove(from);
    send_message(&sender, to, &[1; 20]);
    send_message(&sender, to, &[2; 40]);
    assert_eq!(read_contexts(&receiver), []);
    receiver.insert(&sender);
    // FI_OPT_MIN_MULTI_RECV is 64 bytes: after the first message 80 bytes are free, after the second 40.
    assert_eq!(read_contexts(&receiver), [(21, false), (21, false), (21, true)]);
    assert!(room[..20] == [1; 20] && room[20..60] == [2; 40]);
}

#[test]
fn multi_receive_buffer_is_released_last() {
    for seed in 1..20 {
        let (sender, receiver) = open_pair(seed);
        let to = sender.insert(&receiver);
        receiver.insert(&sender);
        let (mut one, mut two) = ([0; 200], [0; 200]);
        // The first message is unexpected; the other messages find a posted buffer.
        send_message(&sender, to, &[1; 50]);
        read_contexts(&receiver);
        post_receive(&receiver, ADDR_UNSPEC, &mut one, 21, flags::MULTI_RECV);
        post_receive(&receiver, ADDR_UNSPEC, &mut two, 22, flags::MULTI_RECV);
        send_message(&sender, to, &[2; 60]);
        send_message(&sender, to, &[3; 70]);
        send_message(&sender, to, &[4; 80]);
        let complete = read_contexts(&receiver);
        let of = |context| {
            complete.iter().filter(move |(own, _)| *own == context).map(|(_, is_released)| *is_released)
        };
        assert!(of(21).eq([false, false, false, true]), "{complete:?}");
        assert!(of(22).eq([false]), "{complete:?}");
        assert!(one[..50] == [1; 50] && one[50..110] == [2; 60] && one[110..180] == [3; 70]);
        assert!(one[180..] == [0; 20] && two[..80] == [4; 80]);
    }
}

#[test]
fn cancelled_multi_receive_buffer_keeps_messages() {
    for seed in 1..20 {
        let (sender, receiver) = open_pair(seed);
        let to = sender.insert(&receiver);
        receiver.insert(&sender);
        let mut room = [0; 400];
        post_receive(&receiver, ADDR_UNSPEC, &mut room, 21, flags::MULTI_RECV);
        send_message(&sender, to, &[1; 50]);
        send_message(&sender, to, &[2; 60]);
        // Both messages are in the buffer, perhaps already finished. SAFETY: open endpoints of the simulated
        // core provider.
        let rc = unsafe {
            let core = &mut *mock::world().endpoints[receiver.number() as usize];
            while core.in_transit() > 0 {
                core.progress();
            }
            let fid = &raw mut (*receiver.ep).fid;
            (*(*receiver.ep).ops).cancel.expect("it cancels")(fid, 21 as *mut c_void)
        };
        assert_eq!(rc, 0);
        send_message(&sender, to, &[3; 70]);
        let mut reported = Vec::new();
        for _ in 0..100 {
            reported.extend(read_once(&receiver));
        }
        assert_eq!(reported, [(21, 0), (21, 0), (21, errno::ECANCELED)], "{seed}");
        assert!(room[..50] == [1; 50] && room[50..110] == [2; 60] && room[110..] == [0; 290]);
        let mut last = [0; 70];
        post_receive(&receiver, ADDR_UNSPEC, &mut last, 22, 0);
        assert_eq!((read_contexts(&receiver), last), (vec![(22, false)], [3; 70]));
    }
}

/// Context and error of one completion.
fn read_once(at: &Opened) -> Option<(usize, i32)> {
    // SAFETY: zeros are valid entries. The queue is open, and the buffer is large enough.
    unsafe {
        let mut entry: CqTaggedEntry = zeroed();
        let rc =
            (*(*at.cq).ops).readfrom.expect("it reads")(at.cq, (&raw mut entry).cast(), 1, ptr::null_mut());
        if rc == 1 {
            return Some((entry.op_context as usize, 0));
        }
        if rc != -(errno::EAVAIL as isize) {
            return None;
        }
        let mut error: CqErrEntry = zeroed();
        assert_eq!((*(*at.cq).ops).readerr.expect("it reads errors")(at.cq, &raw mut error, 0), 1);
        Some((error.op_context as usize, error.err))
    }
}
