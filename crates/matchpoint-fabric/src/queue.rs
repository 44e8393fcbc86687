//! Completion queues: the core's, and before it what only we have to say.
//!
//! The core reports the receives that it completes itself. Ours are the answers to a peek, receives withdrawn, and
//! buffers for several messages that are used up.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{
    ADDR_UNSPEC, Addr, CQ_FORMAT_CONTEXT, CQ_FORMAT_DATA, CQ_FORMAT_MSG, CqErrEntry, CqTaggedEntry, Fid, FidCq, Ops,
    OpsCq, errno,
};
use crate::patch::{Patch, owner};

/// One completion of ours.
pub struct Completion {
    /// What the application reads.
    pub entry: CqTaggedEntry,
    /// From whom.
    pub source: Addr,
    /// The error, or 0.
    pub error: c_int,
    /// Bytes that did not fit.
    pub missing: usize,
}

impl Completion {
    /// Of the operation with this context, with these flags; nothing else to say.
    pub fn new(context: *mut c_void, flags: u64) -> Self {
        let entry =
            CqTaggedEntry { op_context: context, flags, len: 0, buf: ptr::null_mut(), data: 0, tag: 0 };
        Completion { entry, source: ADDR_UNSPEC, error: 0, missing: 0 }
    }
}

/// A completion queue of the core, and ours before it.
pub struct Queue {
    fid: *mut FidCq,
    entry_bytes: usize,
    now: VecDeque<Completion>,
    /// To be read after all that the core has now: a buffer for several messages is released after the last of them.
    late: VecDeque<Completion>,
    ops: Patch<OpsCq>,
    fid_ops: Patch<Ops>,
}

impl Queue {
    /// Puts ours before a queue that the core has just opened, which delivers entries of this format. `None`: no memory.
    ///
    /// # Safety
    /// `fid` is such a queue; it is closed by its own `close` only, after which nothing refers to this any more.
    pub unsafe fn attach(fid: *mut FidCq, format: c_int) -> Option<()> {
        let entry_bytes = match format {
            CQ_FORMAT_CONTEXT => size_of::<*mut c_void>(),
            CQ_FORMAT_MSG => 24,
            CQ_FORMAT_DATA => 40,
            _ => size_of::<CqTaggedEntry>(),
        };
        let queue = Box::into_raw(Box::<Self>::new_uninit()).cast::<Self>();
        // SAFETY: the slots are the object's; the owner is initialised below, before anybody can call.
        let patches = unsafe {
            Patch::new(&raw mut (*fid).ops, queue.cast()).zip(Patch::new(&raw mut (*fid).fid.ops, queue.cast()))
        };
        let Some((mut ops, mut fid_ops)) = patches else {
            // SAFETY: allocated above, and not initialised.
            drop(unsafe { Box::from_raw(queue.cast::<std::mem::MaybeUninit<Self>>()) });
            return None;
        };
        let table = ops.table();
        table.read = Some(read);
        table.readfrom = Some(read_from);
        table.readerr = Some(read_error);
        table.sread = Some(wait_read);
        table.sreadfrom = Some(wait_read_from);
        fid_ops.table().close = Some(close);
        ops.install();
        fid_ops.install();
        let (now, late) = (VecDeque::new(), VecDeque::new());
        // SAFETY: allocated above for just this.
        unsafe { queue.write(Queue { fid, entry_bytes, now, late, ops, fid_ops }) };
        Some(())
    }

    /// The queue that was put before this one.
    ///
    /// # Safety
    /// It was, and nobody else refers to it meanwhile.
    pub unsafe fn of<'a>(fid: *mut FidCq) -> &'a mut Queue {
        // SAFETY: the caller's.
        unsafe { owner((*fid).ops) }
    }

    /// To be read next.
    pub fn push(&mut self, completion: Completion) {
        self.now.push_back(completion);
    }

    /// To be read after what the core has to say by now.
    pub fn push_late(&mut self, completion: Completion) {
        self.late.push_back(completion);
    }

    /// Lets the core work without taking anything.
    ///
    /// # Safety
    /// The queue is open. The core may call back into the endpoints bound to it: nobody refers to one meanwhile.
    pub unsafe fn progress(fid: *mut FidCq) {
        // SAFETY: the caller's; reading no entry is allowed.
        unsafe {
            let read = Queue::of(fid).ops.core().readfrom.expect("every core can read");
            read(fid, ptr::null_mut(), 0, ptr::null_mut());
        }
    }

    /// Entries of `from` into `buf`, which has room for `count`.
    unsafe fn drain(
        from: &mut VecDeque<Completion>,
        entry_bytes: usize,
        buf: *mut c_void,
        count: usize,
        sources: *mut Addr,
    ) -> usize {
        let mut taken = 0;
        while taken < count && from.front().is_some_and(|next| next.error == 0) {
            let Some(next) = from.pop_front() else { break };
            // SAFETY: the application gave room for `count` entries of the queue's format, which is a beginning of the
            // longest, and for as many sources if it wants them.
            unsafe {
                let to = buf.cast::<u8>().add(taken * entry_bytes);
                ptr::copy_nonoverlapping((&raw const next.entry).cast(), to, entry_bytes);
                if !sources.is_null() {
                    *sources.add(taken) = next.source;
                }
            }
            taken += 1;
        }
        taken
    }

    /// What `fi_cq_readfrom` is.
    ///
    /// # Safety
    /// That of `fi_cq_readfrom`. The core may call back into endpoints, and these push here: so no reference to the
    /// queue is held while it is called.
    unsafe fn read(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        // SAFETY: the application's call on an open queue.
        let queue = unsafe { Queue::of(fid) };
        let entry_bytes = queue.entry_bytes;
        if count > 0 {
            if let Some(next) = queue.now.front() {
                if next.error != 0 {
                    return -(errno::EAVAIL as isize);
                }
                // SAFETY: the application's buffers.
                return unsafe { Queue::drain(&mut queue.now, entry_bytes, buf, count, sources) } as isize;
            }
        }
        let core = queue.ops.core().readfrom.expect("every core can read");
        // SAFETY: the application's arguments, passed on.
        let read = unsafe { core(fid, buf, count, sources) };
        // SAFETY: as above; the core is done.
        let queue = unsafe { Queue::of(fid) };
        let taken = match read {
            read if read >= 0 => read as usize,
            read if read == -(errno::EAGAIN as isize) => 0,
            read => return read,
        };
        if taken >= count || queue.late.is_empty() {
            return read;
        }
        // SAFETY: the application's buffers, past what the core has put there.
        let more = unsafe {
            let rest = buf.cast::<u8>().add(taken * entry_bytes).cast();
            let sources = if sources.is_null() { sources } else { sources.add(taken) };
            Queue::drain(&mut queue.late, entry_bytes, rest, count - taken, sources)
        };
        if taken + more == 0 { read } else { (taken + more) as isize }
    }
}

unsafe extern "C" fn read(fid: *mut FidCq, buf: *mut c_void, count: usize) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe { Queue::read(fid, buf, count, ptr::null_mut()) }
}

unsafe extern "C" fn read_from(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe { Queue::read(fid, buf, count, sources) }
}

unsafe extern "C" fn read_error(fid: *mut FidCq, to: *mut CqErrEntry, flags: u64) -> isize {
    // SAFETY: the application's call on an open queue.
    let queue = unsafe { Queue::of(fid) };
    if queue.now.front().is_some_and(|next| next.error != 0) {
        let Some(next) = queue.now.pop_front() else { return -(errno::EAGAIN as isize) };
        // SAFETY: the application gave room for an entry. Fields of later versions are not written.
        unsafe {
            (*to).op_context = next.entry.op_context;
            (*to).flags = next.entry.flags;
            (*to).len = next.entry.len;
            (*to).buf = next.entry.buf;
            (*to).data = next.entry.data;
            (*to).tag = next.entry.tag;
            (*to).olen = next.missing;
            (*to).err = next.error;
            (*to).prov_errno = -next.error;
            (*to).err_data_size = 0;
        }
        return 1;
    }
    // SAFETY: the application's arguments, passed on.
    unsafe { queue.ops.core().readerr.expect("every core can read errors")(fid, to, flags) }
}

unsafe extern "C" fn wait_read(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe { wait_read_from(fid, buf, count, ptr::null_mut(), condition, timeout) }
}

unsafe extern "C" fn wait_read_from(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // Ours first; and what the core does not have by now may be there only after it has waited.
    // SAFETY: the application's call, passed on.
    let read = unsafe { Queue::read(fid, buf, count, sources) };
    if read != -(errno::EAGAIN as isize) {
        return read;
    }
    // SAFETY: the application's call on an open queue.
    let core = unsafe { Queue::of(fid) }.ops.core().sreadfrom;
    match core {
        // SAFETY: the application's arguments, passed on.
        Some(core) => unsafe { core(fid, buf, count, sources, condition, timeout) },
        None => -(errno::ENOSYS as isize),
    }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    let cq = fid.cast::<FidCq>();
    // SAFETY: the application's call on an open queue.
    let queue: *mut Queue = unsafe { Queue::of(cq) };
    // SAFETY: it was made by `attach`; if the core closes the object, nobody refers to it any more.
    unsafe {
        debug_assert_eq!((*queue).fid, cq);
        (*queue).ops.restore();
        (*queue).fid_ops.restore();
        let rc = (*queue).fid_ops.core().close.expect("every object can be closed")(fid);
        if rc == errno::SUCCESS {
            drop(Box::from_raw(queue));
        } else {
            (*queue).ops.install();
            (*queue).fid_ops.install();
        }
        rc
    }
}
