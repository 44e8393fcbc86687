//! Sends messages through the provider over a simulated core provider, for `cargo xtask instructions`. The
//! arguments are any number of PATTERN:LENGTH.
#![allow(unsafe_code)]

#[path = "../tests/all/mock/mod.rs"]
mod mock;

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use matchpoint_fabric::abi::*;
use mock::objects;
use mock::opened::{BOTH, Opened, open};

/// An ignore mask like that of all receives in MPICH and Open MPI.
const IGNORED: u64 = 0b11 << 54;
const MESSAGES: usize = 1024;
const LENGTH: usize = 8;

struct Pair {
    from: Opened,
    to: Opened,
    peer: Addr,
    own: Addr,
    sent: [u8; LENGTH],
    room: [u8; LENGTH],
    contexts: Vec<[usize; 8]>,
}

impl Pair {
    fn new() -> Pair {
        mock::begin(1, true, version(2, 5), 0);
        // SAFETY: the core provider is initialized. The objects are from `open`.
        unsafe {
            let mut both = open(2, CQ_FORMAT_TAGGED, BOTH).into_iter();
            let (from, to) = (both.next().expect("two"), both.next().expect("two"));
            let number = |opened: &Opened| (*opened.ep.cast::<mock::Ep>()).at as Addr;
            let (own, peer) = (number(&from), number(&to));
            for opened in [&from, &to] {
                let addresses = [own, peer];
                let mut addrs = [0; 2];
                let insert = (*(*opened.av).ops).insert.expect("it takes addresses");
                assert_eq!(
                    insert(opened.av, addresses.as_ptr().cast(), 2, addrs.as_mut_ptr(), 0, ptr::null_mut()),
                    2
                );
            }
            let (sent, room) = ([7; LENGTH], [0; LENGTH]);
            let mut pair = Pair { from, to, peer, own, sent, room, contexts: vec![[0; 8]; 8192] };
            // Grows the tables of the engine before the count.
            for _ in 0..4 {
                pair.post_receive(0, 0);
                pair.send_message(0);
                pair.await_receives(1);
            }
            pair
        }
    }

    fn send_message(&mut self, tag: u64) {
        let ep = self.from.ep;
        let context = self.contexts[0].as_mut_ptr().cast();
        // SAFETY: the endpoint is enabled. The buffer outlives the call.
        unsafe {
            let send = (*(*ep).tagged).send.expect("it sends");
            let buffer = self.sent.as_ptr().cast::<c_void>();
            assert_eq!(send(ep, buffer, LENGTH, ptr::null_mut(), self.peer, tag, context), 0);
        }
    }

    fn post_receive(&mut self, at: usize, tag: u64) {
        let ep = self.to.ep;
        let context = self.contexts[at].as_mut_ptr().cast();
        // SAFETY: the endpoint is enabled. The buffer outlives the receive.
        unsafe {
            let receive = (*(*ep).tagged).recv.expect("it receives");
            let buffer = self.room.as_mut_ptr().cast::<c_void>();
            assert_eq!(receive(ep, buffer, LENGTH, ptr::null_mut(), self.own, tag, IGNORED, context), 0);
        }
    }

    fn await_receives(&mut self, receives: usize) {
        let mut done = 0;
        while done < receives {
            done += self.read_completions(self.to.cq, flags::RECV);
            self.read_completions(self.from.cq, flags::SEND);
        }
    }

    fn await_arrival(&mut self) {
        for _ in 0..100_000 {
            self.read_completions(self.to.cq, flags::RECV);
            // SAFETY: an object of the simulated core provider.
            if unsafe { (*self.to.ep.cast::<mock::Ep>()).is_quiet() } {
                break;
            }
        }
        self.read_completions(self.to.cq, flags::RECV);
    }

    fn read_completions(&self, cq: *mut FidCq, which: u64) -> usize {
        // SAFETY: zeros are valid entries. The queue is open, and the buffer is large enough.
        unsafe {
            let (mut entries, mut sources) = (std::mem::zeroed::<[CqTaggedEntry; 8]>(), [0; 8]);
            let read = (*(*cq).ops).readfrom.expect("it reads");
            let rc = read(cq, entries.as_mut_ptr().cast(), 8, sources.as_mut_ptr());
            let count = usize::try_from(rc).unwrap_or(0);
            black_box(entries)[..count].iter().filter(|entry| entry.flags & which != 0).count()
        }
    }
}

#[inline(never)]
fn counted_messages(pair: &mut Pair, pattern: &str, length: usize) {
    exchange_messages(pair, pattern, length);
}

/// Sends `length` messages at a time, in reverse order of the receives, or with `among` one message at a
/// time.
fn exchange_messages(pair: &mut Pair, pattern: &str, length: usize) {
    if pattern == "among" {
        for _ in 0..MESSAGES {
            pair.post_receive(0, 0);
            pair.send_message(0);
            pair.await_receives(1);
        }
        return;
    }
    for _ in 0..MESSAGES / length {
        if pattern == "expected" {
            (0..length).for_each(|at| pair.post_receive(at, at as u64));
            (0..length).rev().for_each(|at| pair.send_message(at as u64));
        } else {
            (0..length).for_each(|at| pair.send_message(at as u64));
            pair.await_arrival();
            (0..length).rev().for_each(|at| pair.post_receive(at, at as u64));
        }
        pair.await_receives(length);
    }
}

fn main() {
    objects::install(version(2, 5));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pattern in &arguments {
        let (name, length) = pattern.split_once(':').expect("PATTERN:LENGTH");
        let length = length.parse().expect("the length of a queue");
        let mut pair = Pair::new();
        if name == "among" {
            (0..length).for_each(|at| pair.post_receive(at, 1 + at as u64));
        }
        // The first pass allocates the engine's memory.
        exchange_messages(&mut pair, name, length);
        counted_messages(&mut pair, name, length);
    }
}
