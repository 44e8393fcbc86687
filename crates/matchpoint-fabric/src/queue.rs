//! Completion queues: the core's, and before it what only we have to say.
//!
//! Where the core delivers messages itself ([`peer`](crate::peer)) it also reports them; ours are the answers to a peek,
//! receives withdrawn, and buffers for several messages that are used up. Where we match above it
//! ([`layered`](crate::layered)) what it reports is either the application's own, or an operation of ours, which may
//! complete one of the application's.

mod room;
mod sleep;

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use self::room::Room;
use crate::abi::{
    ADDR_UNSPEC, Addr, CQ_FORMAT_CONTEXT, CQ_FORMAT_DATA, CQ_FORMAT_MSG, CqErrEntry, CqTaggedEntry, FidCq,
    Ops, OpsCq, errno,
};
use crate::completion::Completion;
use crate::dump::{self, Tell};
use crate::layered::{Arena, FrontEnd};
use crate::lock::{self, Lock};
use crate::object::{self, Object};
use crate::patch::{Patch, owner_at};
use crate::peer::owner::Owner;

/// Entries that are taken from the core at once, where they are looked at one by one.
const AT_ONCE: usize = 16;

/// A front end above the core, whose operations complete in this queue.
struct Above {
    /// Null once it is closed.
    front: *mut FrontEnd,
    /// Where the contexts of its operations are.
    contexts: Range<usize>,
    /// The queue that they complete in beside this one, if there is one.
    other: Option<*mut FidCq>,
    /// Kept so that late completions are still known for what they are: its addresses, nothing else.
    _retired: Option<Rc<Arena>>,
}

/// A completion queue of the core, and ours before it.
pub struct Queue {
    /// Of the application's entries; the core's are the longest.
    entry_bytes: usize,
    now: VecDeque<Completion>,
    /// To be read after all that the core has now: a buffer for several messages is released after the last of them.
    late: VecDeque<Completion>,
    above: Vec<Above>,
    /// Whether operations of one of them complete in another queue as well.
    has_others: bool,
    /// Where the application wants entries, while what the core has delivered is sorted out; else null.
    room: *mut Room,
    /// Whose receives complete here, and how often they have told of themselves.
    endpoints: Vec<*const dyn Tell>,
    told: u32,
    /// The owners among them, and whether one owes messages their names.
    owners: Vec<*mut Owner>,
    owes_names: bool,
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
    fn new() -> Self {
        // A core may say nothing of sources.
        Entries(
            [const { MaybeUninit::uninit() }; AT_ONCE],
            [const { MaybeUninit::new(ADDR_UNSPEC) }; AT_ONCE],
        )
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
                now: VecDeque::new(),
                late: VecDeque::new(),
                above: Vec::new(),
                has_others: false,
                room: ptr::null_mut(),
                endpoints: Vec::new(),
                owners: Vec::new(),
                owes_names: false,
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

    /// To be read next.
    #[inline]
    pub fn push(&mut self, completion: Completion) {
        if completion.error == 0 && self.now.is_empty() && !self.room.is_null() {
            // SAFETY: the room is that of a call that is under way, and nobody refers to it meanwhile.
            if unsafe { (*self.room).put(&completion.entry, completion.source) } {
                return;
            }
        }
        self.now.push_back(completion);
    }

    /// To be read after what the core has to say by now.
    pub fn push_late(&mut self, completion: Completion) {
        self.late.push_back(completion);
    }

    /// The receives of this endpoint complete here.
    pub fn add_endpoint(&mut self, endpoint: *const dyn Tell) {
        self.endpoints.push(endpoint);
    }

    /// Not any more.
    pub fn remove_endpoint(&mut self, endpoint: *const dyn Tell) {
        self.endpoints.retain(|&other| !ptr::addr_eq(other, endpoint));
    }

    /// The receives of this owner complete here.
    pub fn add_owner(&mut self, owner: *mut Owner) {
        self.owners.push(owner);
    }

    /// Not any more.
    pub fn remove_owner(&mut self, owner: *mut Owner) {
        self.owners.retain(|&other| other != owner);
    }

    /// One of these owners has messages that it owes their names.
    pub fn owe_names(&mut self) {
        self.owes_names = true;
    }

    /// Operations with contexts in this range are this front end's, and complete here or in `other`. Once, if both directions
    /// complete here.
    pub fn add_front_end(&mut self, front: *mut FrontEnd, contexts: Range<usize>, other: Option<*mut FidCq>) {
        if !self.above.iter().any(|above| above.front == front) {
            self.above.push(Above { front, contexts, other, _retired: None });
            self.has_others |= other.is_some();
        }
    }

    /// It is closed: what completes of its operations from now on is dropped.
    pub fn remove_front_end(&mut self, front: *mut FrontEnd, arena: &Rc<Arena>) {
        for above in self.above.iter_mut().filter(|above| above.front == front) {
            above.front = ptr::null_mut();
            above._retired = Some(arena.clone());
        }
    }

    /// Lets the core work without taking anything.
    ///
    /// # Safety
    /// The queue is open. The core may call back into the endpoints bound to it: nobody refers to one meanwhile.
    pub unsafe fn progress(fid: *mut FidCq) {
        // SAFETY: the caller's; reading no entry is allowed.
        unsafe { Queue::read(fid, ptr::null_mut(), 0, ptr::null_mut()) };
    }

    /// The core will tell of all that there is to be read here: nothing of ours waits to be read, to be tried again, or to be
    /// completed in another queue.
    ///
    /// # Safety
    /// The queue is open.
    pub unsafe fn may_sleep(fid: *mut FidCq) -> bool {
        // SAFETY: the caller's.
        let (_guard, queue) = unsafe { (lock::wait((*fid).ops), Queue::of(fid)) };
        queue.is_idle() && !queue.has_others
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
        if dump::asked() != queue.told || !queue.now.is_empty() || queue.owes_names {
            // SAFETY: as above.
            if let Some(read) = unsafe { Queue::read_ours(fid, buf, count, sources) } {
                return read;
            }
        }
        if queue.is_sorted_out() {
            // SAFETY: as above.
            return unsafe { Queue::read_sorted_out(fid, buf, count, sources) };
        }
        let core = queue.ops.core().readfrom.expect("every core can read");
        // SAFETY: the application's arguments, passed on.
        let read = unsafe { core(fid, buf, count, sources) };
        // SAFETY: as above; the core is done.
        let queue = unsafe { Queue::of(fid) };
        if queue.late.is_empty() { read } else { queue.read_late(read, buf, count, sources) }
    }

    /// Whether what the core delivers has to be looked at.
    #[inline(always)]
    fn is_sorted_out(&self) -> bool {
        !self.above.is_empty() || self.entry_bytes != size_of::<CqTaggedEntry>()
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
            dump::write(&queue.endpoints);
        }
        if std::mem::take(&mut queue.owes_names) {
            for at in 0..queue.owners.len() {
                // SAFETY: an owner takes itself off before it goes. It may push here, and the core call back: nothing is borrowed.
                unsafe { Owner::name_owed(Queue::of(fid).owners[at]) };
            }
        }
        // SAFETY: as above.
        let queue = unsafe { Queue::of(fid) };
        let mut room = queue.room(buf, count, sources);
        (count > 0 && !queue.now.is_empty()).then(|| queue.take_now(&mut room))
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
            0 if self.now.is_empty() => read,
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }

    /// It is time for what comes late; an error is next, then, for whom there is nothing else.
    fn put_late(&mut self, room: &mut Room) {
        room.put_all(&mut self.late);
        if room.taken == 0 && room.count > 0 {
            self.now.extend(self.late.pop_front());
        }
    }

    #[inline(never)]
    unsafe fn read_sorted_out(fid: *mut FidCq, buf: *mut c_void, count: usize, sources: *mut Addr) -> isize {
        // SAFETY: an open queue.
        let mut room = unsafe { Queue::of(fid) }.room(buf, count, sources);
        // SAFETY: as above.
        let read = unsafe { Queue::read_one_by_one(fid, &mut room) };
        // SAFETY: as above.
        if count > 0 && read == -(errno::EAGAIN as isize) && unsafe { Queue::progress_others(fid) } {
            // SAFETY: as above.
            unsafe { Queue::of(fid) }.take_now(&mut room)
        } else {
            read
        }
    }

    fn room(&self, buf: *mut c_void, count: usize, sources: *mut Addr) -> Room {
        Room { buf: buf.cast(), sources, count, taken: 0, entry_bytes: self.entry_bytes }
    }

    /// Ours, up to the first error.
    #[inline]
    fn take_now(&mut self, room: &mut Room) -> isize {
        room.put_all(&mut self.now);
        match room.taken {
            0 if self.now.is_empty() => -(errno::EAGAIN as isize),
            0 => -(errno::EAVAIL as isize),
            taken => taken as isize,
        }
    }

    /// Lets the core work on the other queues of the front ends above this one: what completes there may complete an
    /// operation of the application's here, which need not look there meanwhile. False: there are none.
    #[inline]
    unsafe fn progress_others(fid: *mut FidCq) -> bool {
        // SAFETY: an open queue.
        let has_others = unsafe { Queue::of(fid) }.has_others;
        if has_others {
            // SAFETY: as above.
            unsafe { Queue::progress_each(fid) };
        }
        has_others
    }

    #[cold]
    unsafe fn progress_each(fid: *mut FidCq) {
        // SAFETY: an open queue.
        for at in 0..unsafe { Queue::of(fid) }.above.len() {
            // SAFETY: as above.
            let above = unsafe { &Queue::of(fid).above[at] };
            if let Some(other) = above.other.filter(|_| !above.front.is_null()) {
                // SAFETY: a queue that a front end is bound to which is open.
                unsafe { Queue::progress(other) };
            }
        }
    }

    /// Nobody here has anything to say or to do.
    #[inline]
    fn is_idle(&self) -> bool {
        self.now.is_empty()
            && self.late.is_empty()
            && !self.owes_names
            && !self.has_front_end_that(FrontEnd::is_due)
    }

    #[inline]
    fn has_front_end_that(&self, is_so: impl Fn(&FrontEnd) -> bool) -> bool {
        // SAFETY: what is not null is a front end that is open.
        self.above.iter().any(|above| unsafe { above.front.as_ref() }.is_some_and(&is_so))
    }

    /// The same where entries are of another format, or may be ours.
    unsafe fn read_one_by_one(fid: *mut FidCq, room: &mut Room) -> isize {
        loop {
            // SAFETY: an open queue.
            let core = unsafe { Queue::of(fid) }.ops.core().readfrom.expect("every core can read");
            let mut entries = Entries::new();
            let (to, sources) = (entries.0.as_mut_ptr(), entries.1.as_mut_ptr());
            // SAFETY: room for as many as are asked for.
            let read = unsafe { core(fid, to.cast(), AT_ONCE, sources.cast()) };
            // SAFETY: an open queue.
            if read == -(errno::EAGAIN as isize) && unsafe { Queue::of(fid) }.is_idle() {
                return if room.count == 0 { 0 } else { read };
            }
            // SAFETY: as the core says.
            let rc = unsafe { Queue::sort_out(fid, read, &entries, room) };
            if room.taken > 0 || rc != 0 || read < AT_ONCE as isize {
                return match rc {
                    0 if room.taken > 0 || room.count == 0 => room.taken as isize,
                    0 => -(errno::EAGAIN as isize),
                    rc => rc,
                };
            }
        }
    }

    /// What the core has delivered goes to whom it concerns: into the application's room, or to one of ours, and what
    /// ours complete by that into the room as well. An error, or 0.
    unsafe fn sort_out(fid: *mut FidCq, read: isize, entries: &Entries, room: &mut Room) -> isize {
        let room: *mut Room = room;
        // SAFETY: the queue is open, and what it borrows ends before one of ours is called.
        unsafe { Queue::of(fid) }.room = room;
        for at in 0..read.max(0) as usize {
            // SAFETY: the core has delivered so many.
            let (entry, source) = unsafe { (entries.0[at].assume_init_ref(), entries.1[at].assume_init()) };
            // SAFETY: as above.
            match unsafe { Queue::of(fid) }.whose(entry.op_context) {
                Whose::Closed => {}
                // SAFETY: a front end that is open, and whose operation this is.
                Whose::Ours(front) => unsafe { (*front).completed(entry, source) },
                // SAFETY: as above.
                Whose::Application => {
                    // SAFETY: as above.
                    unsafe { Queue::of(fid) }.push(Completion {
                        entry: *entry,
                        source,
                        error: 0,
                        core_error: 0,
                        missing: 0,
                    })
                }
            }
        }
        let mut rc = 0;
        if read == -(errno::EAVAIL as isize) {
            // SAFETY: the core has an error to tell.
            rc = unsafe { Queue::take_error(fid) };
        } else if read < 0 && read != -(errno::EAGAIN as isize) {
            rc = read;
        }
        // SAFETY: as above.
        for at in 0..unsafe { Queue::of(fid) }.above.len() {
            // SAFETY: as above.
            let front = unsafe { Queue::of(fid) }.above[at].front;
            if !front.is_null() {
                // SAFETY: a front end that is open.
                unsafe { (*front).progress() };
            }
        }
        // SAFETY: as above; and the room is the caller's, which waits.
        let (queue, room) = unsafe { (Queue::of(fid), &mut *room) };
        queue.room = ptr::null_mut();
        if !queue.now.is_empty() {
            room.put_all(&mut queue.now);
        }
        if !queue.late.is_empty() && queue.now.is_empty() && read < AT_ONCE as isize {
            queue.put_late(room);
        }
        let error_is_next = rc == 0 && room.taken == 0 && room.count > 0 && !queue.now.is_empty();
        if error_is_next { -(errno::EAVAIL as isize) } else { rc }
    }

    #[inline]
    fn whose(&self, context: *mut c_void) -> Whose {
        match self.above.iter().find(|above| above.contexts.contains(&(context as usize))) {
            None => Whose::Application,
            Some(above) if above.front.is_null() => Whose::Closed,
            Some(above) => Whose::Ours(above.front),
        }
    }

    /// Takes an error from the core: ours to deal with, or the application's, which reads it from us.
    unsafe fn take_error(fid: *mut FidCq) -> isize {
        // SAFETY: an open queue.
        let core = unsafe { Queue::of(fid) }.ops.core().readerr.expect("every core can read errors");
        // SAFETY: zeros are an entry, without room for more.
        let mut error: CqErrEntry = unsafe { zeroed() };
        // SAFETY: the core's function.
        let read = unsafe { core(fid, &raw mut error, 0) };
        if read != 1 {
            return if read == -(errno::EAGAIN as isize) { 0 } else { read };
        }
        // SAFETY: an open queue.
        match unsafe { Queue::of(fid) }.whose(error.op_context) {
            Whose::Closed => {}
            // SAFETY: a front end that is open, and whose operation this is.
            Whose::Ours(front) => unsafe { (*front).failed(&error) },
            Whose::Application => {
                let CqErrEntry { op_context, flags, len, buf, data, tag, .. } = error;
                let entry = CqTaggedEntry { op_context, flags, len, buf, data, tag };
                let completion = Completion {
                    entry,
                    source: ADDR_UNSPEC,
                    error: error.err,
                    core_error: error.prov_errno,
                    missing: error.olen,
                };
                // SAFETY: an open queue.
                unsafe { Queue::of(fid) }.push(completion);
            }
        }
        0
    }
}

/// Whose operation has completed.
enum Whose {
    Application,
    Ours(*mut FrontEnd),
    Closed,
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
    let is_sorted_out = queue.is_sorted_out();
    if is_sorted_out && queue.now.is_empty() {
        // Of the core's errors, some are of our operations.
        // SAFETY: as above; nothing is borrowed.
        unsafe { Queue::take_error(fid) };
    }
    // SAFETY: as above.
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
            (*to).prov_errno = if next.core_error == 0 { -next.error } else { next.core_error };
            (*to).err_data_size = 0;
        }
        return 1;
    }
    if is_sorted_out {
        return -(errno::EAGAIN as isize);
    }
    // SAFETY: the application's arguments, passed on.
    unsafe { queue.ops.core().readerr.expect("every core can read errors")(fid, to, flags) }
}
