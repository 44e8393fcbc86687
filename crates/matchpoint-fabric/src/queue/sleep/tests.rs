//! Threads that signal while another thread reads. Miri (`.ci/deep`) also detects data races here.

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::thread;

use super::*;
use crate::abi::{CQ_FORMAT_DATA, CQ_FORMAT_TAGGED, CqTaggedEntry, Fid, Ops, OpsCq};
use crate::completion::Completion;
use crate::lock;
use crate::patch::Lock;

/// A core provider without completions. A signal stays pending until a thread sleeps.
#[repr(C)]
struct Core {
    fid: FidCq,
    ops: Ops,
    cq: OpsCq,
    signals: AtomicU32,
}

unsafe extern "C" fn readfrom(_: *mut FidCq, _: *mut c_void, _: usize, _: *mut Addr) -> isize {
    -(errno::EAGAIN as isize)
}

unsafe extern "C" fn sreadfrom(
    fid: *mut FidCq,
    _: *mut c_void,
    _: usize,
    _: *mut Addr,
    _: *const c_void,
    _: c_int,
) -> isize {
    // SAFETY: a queue of this core provider.
    let signals = unsafe { &(*fid.cast::<Core>()).signals };
    while signals.swap(0, Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    -(errno::EAGAIN as isize)
}

unsafe extern "C" fn signal_core(fid: *mut FidCq) -> c_int {
    // SAFETY: a queue of this core provider.
    unsafe { &(*fid.cast::<Core>()).signals }.fetch_add(1, Ordering::Release);
    0
}

unsafe extern "C" fn close(_: *mut Fid) -> c_int {
    0
}

fn open_queue(format: c_int, lock: &Lock) -> *mut FidCq {
    let ops = Ops { size: size_of::<Ops>(), close: Some(close), bind: None, control: None, ops_open: None };
    let cq = OpsCq {
        size: size_of::<OpsCq>(),
        read: None,
        readfrom: Some(readfrom),
        readerr: None,
        sread: None,
        sreadfrom: Some(sreadfrom),
        signal: Some(signal_core),
        strerror: ptr::null_mut(),
    };
    let fid = Fid { class: 0, context: ptr::null_mut(), ops: ptr::null_mut() };
    let fid = FidCq { fid, ops: ptr::null_mut() };
    let core = Box::into_raw(Box::new(Core { fid, ops, cq, signals: AtomicU32::new(0) }));
    // SAFETY: just allocated; `closed` frees it.
    unsafe {
        (*core).fid.fid.ops = &raw mut (*core).ops;
        (*core).fid.ops = &raw mut (*core).cq;
        Queue::attach(core.cast(), format, lock).expect("there is memory");
    }
    core.cast()
}

fn close_queue(fid: *mut FidCq) {
    // SAFETY: from `opened`, and without other users.
    unsafe {
        let ops = (*fid).fid.ops;
        assert_eq!((*ops).close.expect("it can be closed")(&raw mut (*fid).fid), 0);
        drop(Box::from_raw(fid.cast::<Core>()));
    }
}

#[derive(Clone, Copy)]
struct Shared(*mut FidCq);
// SAFETY: the other thread only signals, which every thread may (fi_cq_signal(3)), or waits under a lock.
unsafe impl Send for Shared {}

impl Shared {
    fn signal(self) {
        // SAFETY: the queue is open.
        let rc = unsafe { (*(*self.0).ops).signal.expect("it can be signaled")(self.0) };
        assert_eq!(rc, 0);
    }

    fn wait(self) {
        let mut entry: CqTaggedEntry = Completion::new(ptr::null_mut(), 0).entry;
        // SAFETY: the queue is open, and the buffer has space for one entry.
        let read = unsafe {
            let wait = (*(*self.0).ops).sread.expect("it can be waited in");
            wait(self.0, (&raw mut entry).cast(), 1, ptr::null(), -1)
        };
        assert_eq!(read, -(errno::EAGAIN as isize));
    }
}

const ROUNDS: usize = 20;

#[test]
fn signal_during_read_wakes_reader() {
    for format in [CQ_FORMAT_TAGGED, CQ_FORMAT_DATA] {
        let queue = Shared(open_queue(format, &None));
        let waiting = thread::spawn(move || (0..ROUNDS).for_each(|_| { queue }.wait()));
        while !waiting.is_finished() {
            queue.signal();
            thread::yield_now();
        }
        waiting.join().expect("every round ends");
        close_queue(queue.0);
    }
}

#[test]
fn locked_queue_allows_several_waiters() {
    let queue = Shared(open_queue(CQ_FORMAT_DATA, &lock::new()));
    let waiting = [(); 2].map(|()| thread::spawn(move || (0..ROUNDS).for_each(|_| { queue }.wait())));
    while !waiting.iter().all(thread::JoinHandle::is_finished) {
        queue.signal();
        thread::yield_now();
    }
    waiting.into_iter().for_each(|thread| thread.join().expect("every round ends"));
    close_queue(queue.0);
}
