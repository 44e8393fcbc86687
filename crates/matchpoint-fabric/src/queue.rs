//! Completion queues: the core's, and before it our own completions.
//!
//! The core delivers messages and reports their completions. Ours are the results of peeks, cancelled receives, truncated
//! messages, and buffers for several messages that are used up.

mod room;
mod sleep;

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicBool;

use self::room::Room;
use crate::abi::{
    ADDR_UNSPEC, Addr, CQ_FORMAT_CONTEXT, CQ_FORMAT_DATA, CQ_FORMAT_MSG, CqErrEntry, CqTaggedEntry, FidCq,
    Ops, OpsCq, errno,
};
use crate::completion::Completions;
use crate::dump;
use crate::lock;
use crate::object::{self, Object};
use crate::patch::{Lock, Patch, owner_at};
use crate::peer::owner::Owner;

/// Entries of a shorter format that one call returns at most: the core's are copied from room of ours.
const AT_ONCE: usize = 16;

/// A completion queue of the core, and ours before it.
pub struct Queue {
    /// Of the application's entries; the core's are the longest.
    entry_bytes: usize,
    ours: Completions,
    /// The endpoints whose receives complete here.
    owners: Vec<*mut Owner>,
    /// Requests for the queues' entries that were answered.
    told: u32,
    ops: Patch<OpsCq>,
    fid_ops: Patch<Ops>,
}

/// What is kept beside a queue of the core's: the owner of its tables.
struct Beside {
    /// Whoever waits in the queue is to wait no more. Another thread says so, without the lock, which who waits may hold:
    /// so this is no part of what that one refers to.
    is_signaled: AtomicBool,
    queue: Queue,
}

/// What the core delivers at once, and from whom; as many are there as it says.
struct Entries([MaybeUninit<CqTaggedEntry>; AT_ONCE], [MaybeUninit<Addr>; AT_ONCE]);

impl Entries {
    /// Room for the core's function.
    fn room(&mut self) -> (*mut c_void, *mut Addr) {
        (self.0.as_mut_ptr().cast(), self.1.as_mut_ptr().cast())
    }

    /// Puts the entries that the core has delivered into the application's room.
    ///
    /// Completions that become errors are left out. Returns what remains.
    ///
    /// # Safety
    /// `read` is the core's result of reading into this.
    unsafe fn put(&self, read: isize, queue: &mut Queue, room: &mut Room) -> isize {
        for at in 0..read.max(0) as usize {
            // SAFETY: the caller's.
            let (entry, source) = unsafe { (self.0[at].assume_init_ref(), self.1[at].assume_init()) };
            match queue.ours.take_truncated(entry.op_context) {
                // SAFETY: the core has delivered the message; the application does not have its buffers back.
                Some(truncated) => queue.ours.now.push_back(unsafe { truncated.finish(entry) }),
                None => _ = room.put(entry, source),
            }
        }
        remaining(read, room.taken)
    }

    fn new() -> Self {
        // A core may say nothing of sources.
        Entries(
            [const { MaybeUninit::uninit() }; AT_ONCE],
            [const { MaybeUninit::new(ADDR_UNSPEC) }; AT_ONCE],
        )
    }
}

/// The result of a call for which the core has delivered `read` entries, of which the application gets so many.
fn remaining(read: isize, kept: usize) -> isize {
    match kept {
        0 if read > 0 => -(errno::EAVAIL as isize),
        0 => read,
        kept => kept as isize,
    }
}

impl Object for Beside {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.queue.fid_ops
    }

    fn put(&mut self, are_ours: bool) {
        self.queue.ops.put(are_ours);
        self.queue.fid_ops.put(are_ours);
    }
}

impl Queue {
    /// Opens a queue of the core's that delivers the longest entries, and puts ours before it, for an application that
    /// wants those of `format`. `None`: no memory.
    ///
    /// # Safety
    /// `fid` is such a queue, just opened; it is closed by its own `close` only, after which nothing refers to this.
    pub unsafe fn attach(fid: *mut FidCq, format: c_int, lock: &Lock) -> Option<()> {
        let entry_bytes = match format {
            CQ_FORMAT_CONTEXT => size_of::<*mut c_void>(),
            CQ_FORMAT_MSG => 24,
            CQ_FORMAT_DATA => 40,
            _ => size_of::<CqTaggedEntry>(),
        };
        // SAFETY: the slots are the object's.
        let beside = object::place(|beside| unsafe {
            let mut ops = Patch::new(&raw mut (*fid).ops, beside, lock)?;
            let mut fid_ops = Patch::new(&raw mut (*fid).fid.ops, beside, lock)?;
            let table = ops.table();
            table.read = Some(if lock.is_none() { read::<false> } else { read::<true> });
            table.readfrom = Some(if lock.is_none() { read_from::<false> } else { read_from::<true> });
            table.readerr = Some(read_error);
            table.sread = Some(sleep::wait_read);
            table.sreadfrom = Some(sleep::wait_read_from);
            table.signal = table.signal.and(Some(sleep::signal));
            fid_ops.table().close = Some(object::close::<Beside>);
            let queue = Queue {
                entry_bytes,
                ours: Completions::default(),
                owners: Vec::new(),
                told: dump::asked(),
                ops,
                fid_ops,
            };
            Some(Beside { is_signaled: AtomicBool::new(false), queue })
        })?;
        // SAFETY: just made.
        unsafe { (*beside).put(true) };
        Some(())
    }

    /// The queue that was put before this one.
    ///
    /// # Safety
    /// It was, and nobody else refers to it meanwhile.
    #[inline]
    pub unsafe fn of<'a>(fid: *mut FidCq) -> &'a mut Queue {
        // SAFETY: the caller's; of what is beside it, the queue alone.
        unsafe { &mut (*owner_at::<Beside, _>((*fid).ops)).queue }
    }

    /// Ours of that queue, for an endpoint that is bound to it.
    ///
    /// # Safety
    /// As [`of`](Self::of); nobody refers to them meanwhile.
    pub unsafe fn completions(fid: *mut FidCq) -> *mut Completions {
        // SAFETY: the caller's.
        unsafe { &raw mut (*owner_at::<Beside, _>((*fid).ops)).queue.ours }
    }

    /// The receives of this owner complete here.
    pub fn add_owner(&mut self, owner: *mut Owner) {
        self.owners.push(owner);
    }

    /// Not any more.
    pub fn remove_owner(&mut self, owner: *mut Owner) {
        self.owners.retain(|&other| other != owner);
    }

    /// Lets the core work without taking anything.
    ///
    /// # Safety
    /// The queue is open. The core may call back into the endpoints bound to it: nobody refers to one meanwhile.
    pub unsafe fn progress(fid: *mut FidCq) {
        // SAFETY: the caller's; reading no entry is allowed.
        unsafe { Queue::read(fid, ptr::null_mut(), 0, ptr::null_mut()) };
    }

    /// The core reports all that there is to be read here: no completion of ours waits, and no name is owed.
    ///
    /// # Safety
    /// The queue is open.
    pub unsafe fn may_sleep(fid: *mut FidCq) -> bool {
        // SAFETY: the caller's.
        let (_guard, queue) = unsafe { (lock::wait((*fid).ops), Queue::of(fid)) };
        queue.ours.now.is_empty() && queue.ours.late.is_empty() && !queue.ours.owes_names
    }

    /// What `fi_cq_readfrom` is.
    ///
    /// # Safety
    /// That of `fi_cq_readfrom`. The core may call back into endpoints, and these push here: so no reference to the
    /// queue is held while it is called.
    ///
    /// Applications that wait do nothing else, and mostly there is nothing: so that is what costs least.
    #[inline(always)]
    unsafe fn read(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        // SAFETY: the application's call on an open queue.
        let queue = unsafe { Queue::of(fid) };
        if dump::asked() != queue.told || !queue.ours.now.is_empty() || queue.ours.owes_names {
            // SAFETY: as above.
            if let Some(read) = unsafe { Queue::read_ours(fid, buf, count, sources) } {
                return read;
            }
        }
        if !queue.has_longest_entries() {
            // SAFETY: as above.
            return unsafe { Queue::read_shorter(fid, buf, count, sources) };
        }
        let core = queue.ops.core().readfrom.expect("every core can read");
        // SAFETY: the application's arguments, passed on.
        let read = unsafe { core(fid, buf, count, sources) };
        // SAFETY: as above; the core is done.
        let queue = unsafe { Queue::of(fid) };
        let read = match queue.ours.truncated.is_empty() {
            true => read,
            // SAFETY: the core has delivered so many.
            false => unsafe { queue.take_errors(read, buf, sources) },
        };
        if queue.ours.late.is_empty() { read } else { queue.read_late(read, buf, count, sources) }
    }

    /// Removes completions that become errors from the entries that the core has delivered into the application's room, and
    /// returns what remains.
    ///
    /// # Safety
    /// `read` is the core's result of reading into `buf` and `sources`. The entries of `buf` have the longest format.
    #[cold]
    unsafe fn take_errors(&mut self, read: isize, buf: *mut c_void, sources: *mut Addr) -> isize {
        let entries = buf.cast::<CqTaggedEntry>();
        let mut kept = 0;
        for at in 0..read.max(0) as usize {
            // SAFETY: the caller's.
            unsafe {
                let entry = *entries.add(at);
                if let Some(truncated) = self.ours.take_truncated(entry.op_context) {
                    // The application does not have the buffers back.
                    self.ours.now.push_back(truncated.finish(&entry));
                    continue;
                }
                *entries.add(kept) = entry;
                if !sources.is_null() {
                    *sources.add(kept) = *sources.add(at);
                }
            }
            kept += 1;
        }
        remaining(read, kept)
    }

    /// The application's entries have the format of the core's.
    #[inline(always)]
    fn has_longest_entries(&self) -> bool {
        self.entry_bytes == size_of::<CqTaggedEntry>()
    }

    /// The same where they have a shorter one.
    #[inline(never)]
    unsafe fn read_shorter(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        let count = count.min(AT_ONCE);
        let mut entries = Entries::new();
        // SAFETY: an open queue.
        let core = unsafe { Queue::of(fid) }.ops.core().readfrom.expect("every core can read");
        let (to, froms) = entries.room();
        // SAFETY: the core's function, with room for as many as are asked for.
        let read = unsafe { core(fid, to, count, froms) };
        // SAFETY: an open queue; the core is done.
        let queue = unsafe { Queue::of(fid) };
        // SAFETY: the core has delivered so many.
        let read = unsafe { entries.put(read, queue, &mut queue.room(buf, count, sources)) };
        if queue.ours.late.is_empty() { read } else { queue.read_late(read, buf, count, sources) }
    }

    /// What there is to be said before the core is asked; `None`: nothing.
    #[cold]
    unsafe fn read_ours(
        fid: *mut FidCq,
        buf: *mut c_void,
        count: usize,
        sources: *mut Addr,
    ) -> Option<isize> {
        // SAFETY: an open queue.
        let queue = unsafe { Queue::of(fid) };
        if dump::asked() != queue.told {
            queue.told = dump::asked();
            let mut text = String::new();
            for &owner in &queue.owners {
                // SAFETY: an owner takes itself off the queue before it goes.
                unsafe { &*owner }.describe_queues(&mut text);
            }
            dump::append(&text);
        }
        if std::mem::take(&mut queue.ours.owes_names) {
            for at in 0..queue.owners.len() {
                // SAFETY: an owner takes itself off before it goes. It may push here, and the core call back: nothing is borrowed.
                unsafe { Owner::name_owed(Queue::of(fid).owners[at]) };
            }
        }
        // SAFETY: as above.
        let queue = unsafe { Queue::of(fid) };
        let mut room = queue.room(buf, count, sources);
        (count > 0 && !queue.ours.now.is_empty()).then(|| queue.take_now(&mut room))
    }

    /// The core has delivered so many, or nothing; then it is time for what comes late.
    #[cold]
    fn read_late(&mut self, read: isize, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        if read >= count as isize || (read < 0 && read != -(errno::EAGAIN as isize)) {
            return read;
        }
        let mut room = self.room(buf, count, sources);
        room.taken = read.max(0) as usize;
        self.put_late(&mut room);
        match room.taken {
            0 if self.ours.now.is_empty() => read,
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }

    /// It is time for what comes late; an error is next, then, for whom there is nothing else.
    fn put_late(&mut self, room: &mut Room) {
        room.put_all(&mut self.ours.late);
        if room.taken == 0 && room.count > 0 {
            self.ours.now.extend(self.ours.late.pop_front());
        }
    }

    fn room(&self, buf: *mut c_void, count: usize, sources: *mut Addr) -> Room {
        Room { buf: buf.cast(), sources, count, taken: 0, entry_bytes: self.entry_bytes }
    }

    /// Ours, up to the first error.
    #[inline]
    fn take_now(&mut self, room: &mut Room) -> isize {
        room.put_all(&mut self.ours.now);
        match room.taken {
            0 if self.ours.now.is_empty() => -(errno::EAGAIN as isize),
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }
}

unsafe extern "C" fn read<const IS_LOCKED: bool>(fid: *mut FidCq, buf: *mut c_void, count: usize) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe {
        let _guard = if IS_LOCKED { lock::wait((*fid).ops) } else { None };
        Queue::read(fid, buf, count, ptr::null_mut())
    }
}

unsafe extern "C" fn read_from<const IS_LOCKED: bool>(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe {
        let _guard = if IS_LOCKED { lock::wait((*fid).ops) } else { None };
        Queue::read(fid, buf, count, sources)
    }
}

unsafe extern "C" fn read_error(fid: *mut FidCq, to: *mut CqErrEntry, flags: u64) -> isize {
    // SAFETY: the application's call on an open queue.
    let (_guard, queue) = unsafe { (lock::wait((*fid).ops), Queue::of(fid)) };
    if queue.ours.now.front().is_some_and(|next| next.error != 0) {
        let Some(next) = queue.ours.now.pop_front() else { return -(errno::EAGAIN as isize) };
        // SAFETY: the application gave room for an entry. Fields of later versions are not written.
        unsafe {
            (*to).op_context = next.entry.op_context;
            (*to).flags = next.entry.flags;
            (*to).len = next.entry.len;
            (*to).buf = next.entry.buf;
            (*to).data = next.entry.data;
            (*to).tag = next.entry.tag;
            (*to).olen = next.left_out;
            (*to).err = next.error;
            (*to).prov_errno = -next.error;
            (*to).err_data_size = 0;
        }
        return 1;
    }
    // SAFETY: the application's arguments, passed on.
    let read = unsafe { queue.ops.core().readerr.expect("every core can read errors")(fid, to, flags) };
    if read == 1 && !queue.ours.truncated.is_empty() {
        // SAFETY: the core has written an entry.
        unsafe {
            if let Some(truncated) = queue.ours.take_truncated((*to).op_context) {
                (*to).op_context = truncated.context();
            }
        }
    }
    read
}
