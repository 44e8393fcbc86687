//! Completion queues of the core provider, in which the application first reads this provider's completions.
//!
//! The core provider reports delivered messages. The provider adds results of peeks, cancelled receives,
//! truncated messages, and released multi-receive buffers.

mod sleep;

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicBool;

use crate::abi::{
    ADDR_UNSPEC, Addr, CQ_FORMAT_CONTEXT, CQ_FORMAT_DATA, CQ_FORMAT_MSG, CqErrEntry, CqTaggedEntry, FidCq,
    Ops, OpsCq, errno,
};
use crate::completion::{Completion, CompletionList};
use crate::object::{self, Object};
use crate::patch::{Lock, Patch, data_at};
use crate::peer::owner::SrxOwner;
use crate::{dump, lock};

/// Number of entries per call, if entries are copied from a local buffer into a shorter format.
const BATCH: usize = 16;

pub struct Queue {
    /// Size of an application's entry. The core provider's entries have the longest format.
    entry_bytes: usize,
    own: CompletionList,
    /// Endpoints with receives that complete in this queue.
    owners: Vec<*mut SrxOwner>,
    /// Value of [`dump::request_count`] at the last dump of this queue.
    requests_at_dump: u32,
    ops: Patch<OpsCq>,
    fid_ops: Patch<Ops>,
}

struct QueueData {
    /// The waiting thread must return. Another thread sets the flag without the lock, because the waiting
    /// thread may hold the lock, and has a reference to [`Queue`].
    is_signaled: AtomicBool,
    queue: Queue,
}

/// Entries and sources of one call. The result of the call is the number of initialized entries.
struct CoreEntries([MaybeUninit<CqTaggedEntry>; BATCH], [MaybeUninit<Addr>; BATCH]);

impl CoreEntries {
    fn buffer_pointers(&mut self) -> (*mut c_void, *mut Addr) {
        (self.0.as_mut_ptr().cast(), self.1.as_mut_ptr().cast())
    }

    /// Copies entries into the application's buffer, except completions that become errors. Returns the
    /// result of the call.
    ///
    /// # Safety
    /// `read` is the core provider's result of a read into this buffer.
    unsafe fn copy_to(&self, read: isize, queue: &mut Queue, output: &mut ReadBuffer) -> isize {
        for at in 0..read.max(0) as usize {
            // SAFETY: guaranteed by the caller.
            let (entry, source) = unsafe { (self.0[at].assume_init_ref(), self.1[at].assume_init()) };
            match queue.own.take_truncated(entry.op_context) {
                // SAFETY: the core provider has delivered the message. The application has not regained its buffers.
                Some(truncated) => queue.own.ready.push_back(unsafe { truncated.finish(entry) }),
                None => _ = output.append(entry, source),
            }
        }
        read_result(read, output.taken)
    }

    fn new() -> Self {
        // A core provider may leave sources unset.
        CoreEntries(
            [const { MaybeUninit::uninit() }; BATCH],
            [const { MaybeUninit::new(ADDR_UNSPEC) }; BATCH],
        )
    }
}

/// Result of a read, if the core provider returned `read` and the application gets `kept` entries.
fn read_result(read: isize, kept: usize) -> isize {
    match kept {
        0 if read > 0 => -(errno::EAVAIL as isize),
        0 => read,
        kept => kept as isize,
    }
}

impl Object for QueueData {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.queue.fid_ops
    }

    fn set_installed(&mut self, is_installed: bool) {
        self.queue.ops.set_installed(is_installed);
        self.queue.fid_ops.set_installed(is_installed);
    }
}

impl Queue {
    /// Patches a queue with the longest entry format, for an application that uses `format`. Returns `None`
    /// if an allocation fails.
    ///
    /// # Safety
    /// `fid` is such a queue, just opened. Only its `close` function closes it. No reference to the data
    /// remains afterwards.
    pub unsafe fn attach(fid: *mut FidCq, format: c_int, lock: &Lock) -> Option<()> {
        let entry_bytes = match format {
            CQ_FORMAT_CONTEXT => size_of::<*mut c_void>(),
            CQ_FORMAT_MSG => 24,
            CQ_FORMAT_DATA => 40,
            _ => size_of::<CqTaggedEntry>(),
        };
        // SAFETY: the slots belong to the open object.
        let address = object::allocate(|address| unsafe {
            let mut ops = Patch::new(&raw mut (*fid).ops, address, lock)?;
            let mut fid_ops = Patch::new(&raw mut (*fid).fid.ops, address, lock)?;
            let table = ops.table();
            table.read = Some(if lock.is_none() { read::<false> } else { read::<true> });
            table.readfrom = Some(if lock.is_none() { read_from::<false> } else { read_from::<true> });
            table.readerr = Some(read_error);
            table.sread = Some(sleep::wait_read);
            table.sreadfrom = Some(sleep::wait_read_from);
            table.signal = table.signal.and(Some(sleep::signal));
            fid_ops.table().close = Some(object::close::<QueueData>);
            let queue = Queue {
                entry_bytes,
                own: CompletionList::default(),
                owners: Vec::new(),
                requests_at_dump: dump::request_count(),
                ops,
                fid_ops,
            };
            Some(QueueData { is_signaled: AtomicBool::new(false), queue })
        })?;
        // SAFETY: the object was just allocated.
        unsafe { (*address).set_installed(true) };
        Some(())
    }

    /// # Safety
    /// The queue is patched, and no other reference to its data exists.
    #[inline]
    pub unsafe fn of<'a>(fid: *mut FidCq) -> &'a mut Queue {
        // SAFETY: guaranteed by the caller. The reference excludes the shared flag.
        unsafe { &mut (*data_at::<QueueData, _>((*fid).ops)).queue }
    }

    /// Returns a queue's completion list, for an endpoint bound to the queue.
    ///
    /// # Safety
    /// The conditions of [`of`](Self::of). No other reference to the list exists.
    pub unsafe fn completion_list(fid: *mut FidCq) -> *mut CompletionList {
        // SAFETY: guaranteed by the caller.
        unsafe { &raw mut (*data_at::<QueueData, _>((*fid).ops)).queue.own }
    }

    pub fn add_owner(&mut self, owner: *mut SrxOwner) {
        self.owners.push(owner);
    }

    pub fn remove_owner(&mut self, owner: *mut SrxOwner) {
        self.owners.retain(|&other| other != owner);
    }

    /// Lets the core provider progress without a read.
    ///
    /// # Safety
    /// The queue is open. No reference to an endpoint bound to it exists, because the core provider may call back.
    pub unsafe fn progress(fid: *mut FidCq) {
        // SAFETY: guaranteed by the caller. A read of no entries is allowed.
        unsafe { Queue::read(fid, ptr::null_mut(), 0, ptr::null_mut()) };
    }

    /// True if the core provider reports all events: this provider has no completions, and no source is
    /// pending.
    ///
    /// # Safety
    /// The queue is open.
    pub unsafe fn can_sleep(fid: *mut FidCq) -> bool {
        // SAFETY: guaranteed by the caller.
        let (_guard, queue) = unsafe { (lock::acquire((*fid).ops), Queue::of(fid)) };
        queue.own.ready.is_empty() && queue.own.deferred.is_empty() && !queue.own.has_pending_sources
    }

    /// `fi_cq_readfrom`, optimized for applications that wait: most calls return no completion.
    ///
    /// # Safety
    /// The conditions of `fi_cq_readfrom`. No reference to the queue is held while the core provider is
    /// called, because endpoints add completions here.
    #[inline(always)]
    unsafe fn read(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let queue = Queue::of(fid);
            if dump::request_count() != queue.requests_at_dump
                || !queue.own.ready.is_empty()
                || queue.own.has_pending_sources
            {
                if let Some(read) = Queue::handle_own_events(fid, buf, count, sources) {
                    return read;
                }
            }
            if !queue.has_longest_entries() {
                return Queue::read_short_format(fid, buf, count, sources);
            }
            let core = queue.ops.core().readfrom.expect("every core can read");
            let read = core(fid, buf, count, sources);
            let queue = Queue::of(fid);
            let read = match queue.own.truncated.is_empty() {
                true => read,
                false => queue.extract_truncated(read, buf, sources),
            };
            if queue.own.deferred.is_empty() { read } else { queue.read_deferred(read, buf, count, sources) }
        }
    }

    /// Removes completions that become errors from the application's buffer. Returns the result of the call.
    ///
    /// # Safety
    /// `read` is the core provider's result of a read into `buf` and `sources`. The entries of `buf` have the
    /// longest format.
    #[cold]
    unsafe fn extract_truncated(&mut self, read: isize, buf: *mut c_void, sources: *mut Addr) -> isize {
        let entries = buf.cast::<CqTaggedEntry>();
        let mut kept = 0;
        for at in 0..read.max(0) as usize {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let entry = *entries.add(at);
                if let Some(truncated) = self.own.take_truncated(entry.op_context) {
                    self.own.ready.push_back(truncated.finish(&entry));
                    continue;
                }
                *entries.add(kept) = entry;
                if !sources.is_null() {
                    *sources.add(kept) = *sources.add(at);
                }
            }
            kept += 1;
        }
        read_result(read, kept)
    }

    #[inline(always)]
    fn has_longest_entries(&self) -> bool {
        self.entry_bytes == size_of::<CqTaggedEntry>()
    }

    #[inline(never)]
    unsafe fn read_short_format(
        fid: *mut FidCq,
        buf: *mut c_void,
        count: usize,
        sources: *mut Addr,
    ) -> isize {
        let count = count.min(BATCH);
        let mut entries = CoreEntries::new();
        let (to, core_sources) = entries.buffer_pointers();
        // SAFETY: the queue is open. The core provider gets buffers for `count` entries.
        unsafe {
            let core = Queue::of(fid).ops.core().readfrom.expect("every core can read");
            let read = core(fid, to, count, core_sources);
            let queue = Queue::of(fid);
            let read = entries.copy_to(read, queue, &mut queue.read_buffer(buf, count, sources));
            if queue.own.deferred.is_empty() { read } else { queue.read_deferred(read, buf, count, sources) }
        }
    }

    /// Handles the provider's events before the core provider reads. Returns `None` without a completion to
    /// read.
    #[cold]
    unsafe fn handle_own_events(
        fid: *mut FidCq,
        buf: *mut c_void,
        count: usize,
        sources: *mut Addr,
    ) -> Option<isize> {
        // SAFETY: the queue is open.
        let queue = unsafe { Queue::of(fid) };
        if dump::request_count() != queue.requests_at_dump {
            queue.requests_at_dump = dump::request_count();
            let mut text = String::new();
            for &owner in &queue.owners {
                // SAFETY: an owner removes itself from the queue before it is freed.
                unsafe { &*owner }.describe_queues(&mut text);
            }
            dump::append(&text);
        }
        if std::mem::take(&mut queue.own.has_pending_sources) {
            for at in 0..queue.owners.len() {
                // SAFETY: an owner removes itself before it is freed. No borrow is live, because the core
                // provider may call back.
                unsafe { SrxOwner::set_pending_sources(Queue::of(fid).owners[at]) };
            }
        }
        // SAFETY: an owner removes itself before it is freed.
        let queue = unsafe { Queue::of(fid) };
        let mut output = queue.read_buffer(buf, count, sources);
        (count > 0 && !queue.own.ready.is_empty()).then(|| queue.take_ready(&mut output))
    }

    /// Reads deferred completions after the core provider's last completion.
    #[cold]
    fn read_deferred(&mut self, read: isize, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        if read >= count as isize || (read < 0 && read != -(errno::EAGAIN as isize)) {
            return read;
        }
        let mut output = self.read_buffer(buf, count, sources);
        output.taken = read.max(0) as usize;
        self.append_deferred(&mut output);
        match output.taken {
            0 if self.own.ready.is_empty() => read,
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }

    /// Appends deferred completions. An error at the front becomes a ready completion.
    fn append_deferred(&mut self, output: &mut ReadBuffer) {
        output.append_all(&mut self.own.deferred);
        if output.taken == 0 && output.count > 0 {
            self.own.ready.extend(self.own.deferred.pop_front());
        }
    }

    fn read_buffer(&self, buf: *mut c_void, count: usize, sources: *mut Addr) -> ReadBuffer {
        ReadBuffer { buf: buf.cast(), sources, count, taken: 0, entry_bytes: self.entry_bytes }
    }

    /// Reads the ready completions, up to the first error.
    #[inline]
    fn take_ready(&mut self, output: &mut ReadBuffer) -> isize {
        output.append_all(&mut self.own.ready);
        match output.taken {
            0 if self.own.ready.is_empty() => -(errno::EAGAIN as isize),
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }
}

unsafe extern "C" fn read<const IS_LOCKED: bool>(fid: *mut FidCq, buf: *mut c_void, count: usize) -> isize {
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe {
        let _guard = if IS_LOCKED { lock::acquire((*fid).ops) } else { None };
        Queue::read(fid, buf, count, ptr::null_mut())
    }
}

unsafe extern "C" fn read_from<const IS_LOCKED: bool>(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
) -> isize {
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe {
        let _guard = if IS_LOCKED { lock::acquire((*fid).ops) } else { None };
        Queue::read(fid, buf, count, sources)
    }
}

unsafe extern "C" fn read_error(fid: *mut FidCq, to: *mut CqErrEntry, flags: u64) -> isize {
    // SAFETY: the application passes an open queue.
    let (_guard, queue) = unsafe { (lock::acquire((*fid).ops), Queue::of(fid)) };
    if queue.own.ready.front().is_some_and(|next| next.error != 0) {
        let Some(next) = queue.own.ready.pop_front() else { return -(errno::EAGAIN as isize) };
        // SAFETY: the application provides an entry. Fields of later versions are not written.
        unsafe {
            (*to).op_context = next.entry.op_context;
            (*to).flags = next.entry.flags;
            (*to).len = next.entry.len;
            (*to).buf = next.entry.buf;
            (*to).data = next.entry.data;
            (*to).tag = next.entry.tag;
            (*to).olen = next.excess_bytes;
            (*to).err = next.error;
            (*to).prov_errno = -next.error;
            (*to).err_data_size = 0;
        }
        return 1;
    }
    // SAFETY: the application's arguments obey libfabric's rules.
    let read = unsafe { queue.ops.core().readerr.expect("every core can read errors")(fid, to, flags) };
    if read == 1 && !queue.own.truncated.is_empty() {
        // SAFETY: the core provider has written an entry.
        unsafe {
            if let Some(truncated) = queue.own.take_truncated((*to).op_context) {
                (*to).op_context = truncated.context();
            }
        }
    }
    read
}

/// The buffer of a read call, and its number of entries.
pub(super) struct ReadBuffer {
    pub(super) buf: *mut u8,
    pub(super) sources: *mut Addr,
    pub(super) count: usize,
    pub(super) taken: usize,
    pub(super) entry_bytes: usize,
}

impl ReadBuffer {
    /// Returns false if the buffer is full.
    #[inline]
    pub(super) fn append(&mut self, entry: &CqTaggedEntry, source: Addr) -> bool {
        if self.taken == self.count {
            return false;
        }
        // SAFETY: the buffer has `count` entries of the queue's format, a prefix of the longest format.
        // `sources` is null or has as many elements.
        unsafe {
            let to = self.buf.add(self.taken * self.entry_bytes);
            ptr::copy_nonoverlapping(ptr::from_ref(entry).cast(), to, self.entry_bytes);
            if !self.sources.is_null() {
                *self.sources.add(self.taken) = source;
            }
        }
        self.taken += 1;
        true
    }

    /// Appends completions of the provider, up to the first error.
    pub(super) fn append_all(&mut self, from: &mut VecDeque<Completion>) {
        while self.taken < self.count && from.front().is_some_and(|next| next.error == 0) {
            let Some(next) = from.pop_front() else { break };
            self.append(&next.entry, next.source);
        }
    }
}
