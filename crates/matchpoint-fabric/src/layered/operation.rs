//! Operations of ours on the core provider: buffers that wait for messages, control messages, and the data of long ones.
//!
//! Their contexts come back through the application's completion queue, among its own, which may be anything. So they
//! lie in one range of addresses.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use libc::iovec;

use crate::layered::entry::Entry;
use crate::tagged::IOV_LIMIT;

/// Operations that an endpoint can have under way. Address space only (256 MiB), until they are used. Where there are no
/// more, a send is refused with `FI_EAGAIN`, and MPI libraries try it again within `MPI_Isend`, which may be for ever.
const MOST: usize = 1 << 20;
/// Under a limit of address space (`ulimit -v`) there may be half of that, or half again, but no fewer than these.
const FEWEST: usize = 1 << 15;
/// Of them, those that sends leave for buffers, control messages and data: what lets sends come to their end.
const KEPT_FREE: usize = 1 << 14;

/// Of a control message: it goes through the private endpoint.
pub const PRIVATE: u64 = 1;
/// Of a control message: the application's message is in it, so its send is complete when this is.
pub const WHOLE: u64 = 2;

/// Of a control message: it is sent to find out whether it can be.
pub const INQUIRY: u64 = 4;

/// What an operation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Nothing: on the free list.
    Free = 0,
    /// A buffer that takes any tagged message.
    Bounce,
    /// A buffer on the private endpoint that takes a request for data.
    Request,
    /// A control message being sent.
    Control,
    /// A long message of the application's: announced, or its data being sent.
    Send,
    /// The data of a long message being received.
    Data,
}

/// How far a send has come, or data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stage {
    /// The core has its announcement, or will have.
    Announcing = 0,
    /// The peer has its announcement, and owes an answer.
    Awaiting,
    /// The core has its data, or will have.
    Sending,
    /// Nobody is asked after it any more: data that will not come, whose buffers the core is to give back; or a send to somebody
    /// whom the application has taken out of its vector.
    GivenUp,
}

/// One operation.
#[repr(C)]
pub struct Operation {
    /// `struct fi_context2`, for the core: its address is the operation's context.
    core: [*mut c_void; 8],
    /// What it is for.
    pub kind: Kind,
    /// A send or data: how far it has come.
    pub stage: Stage,
    /// How often this place was used: tells a late answer from one for the present owner.
    pub generation: u32,
    /// The generation that was last seen to owe an answer: if it is this one, it does so for long.
    seen_owed: u32,
    /// The memory of a bounce or request buffer, or of a control message or an injected one.
    pub buffer: *mut u8,
    /// Bytes there.
    pub bytes: usize,
    /// A send: the application's context.
    pub context: *mut c_void,
    /// A control message: the name of the send or of the data that it is of, if it is; else 0. That may have come to its
    /// end, and its place be another's, before the core says what became of the control message.
    pub of: u64,
    /// A send: when it is complete, and with `FI_COMPLETION`, that the application's queue tells. A control message:
    /// [`PRIVATE`], [`WHOLE`], [`INQUIRY`].
    pub flags: u64,
    /// A control message: whom to. A send: likewise; when its data is asked for, by whom.
    pub addr: u64,
    /// A control message: its tag.
    pub tag: u64,
    /// Data received: what for.
    pub entry: *mut Entry,
    /// A send: the application's buffers. Of others, the first is their own: a core may look there until they complete
    /// (`FI_ASYNC_IOV`); an announcement may have the application's behind it.
    pub iov: [iovec; IOV_LIMIT],
    /// Their registrations.
    pub desc: [*mut c_void; IOV_LIMIT],
    /// How many.
    pub count: usize,
    next_free: *mut Operation,
}

/// Where an operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    /// From the private endpoint.
    pub is_private: bool,
    /// To this peer.
    pub addr: u64,
}

impl Operation {
    /// A control message is followed by what lies in these buffers of the application's, which are hers again when the message
    /// has arrived.
    ///
    /// # Safety
    /// Fewer than [`IOV_LIMIT`]; registrations are null or as many.
    pub unsafe fn append(&mut self, iov: &[iovec], desc: *const *mut c_void) {
        for (at, part) in iov.iter().enumerate() {
            self.iov[1 + at] = *part;
            // SAFETY: the caller's.
            self.desc[1 + at] = if desc.is_null() { ptr::null_mut() } else { unsafe { *desc.add(at) } };
        }
        self.count = 1 + iov.len();
    }

    /// Of one that sends.
    pub fn destination(&self) -> Destination {
        let is_private = self.kind != Kind::Control || self.flags & PRIVATE != 0;
        Destination { is_private, addr: self.addr }
    }
}

/// All operations of an endpoint.
pub struct Arena {
    base: *mut Operation,
    /// Of which there are so many.
    most: usize,
    used: Cell<usize>,
    under_way: Cell<usize>,
    free: Cell<*mut Operation>,
}

impl Arena {
    /// Reserves the addresses. `None`: there are none.
    pub fn new() -> Option<Self> {
        let (mut most, protection) = (MOST, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        loop {
            // SAFETY: new memory, of no file.
            let base = unsafe { libc::mmap(ptr::null_mut(), bytes_of(most), protection, flags, -1, 0) };
            if base != libc::MAP_FAILED {
                let (used, under_way) = (Cell::new(0), Cell::new(0));
                return Some(Arena {
                    base: base.cast(),
                    most,
                    used,
                    under_way,
                    free: Cell::new(ptr::null_mut()),
                });
            }
            most /= 2;
            if most < FEWEST {
                return None;
            }
        }
    }

    /// The addresses of all operations that there may be.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.base as usize..self.base as usize + bytes_of(self.most)
    }

    /// An operation of this kind. `None`: too many are under way.
    pub fn get(&self, kind: Kind) -> Option<*mut Operation> {
        if kind == Kind::Send && self.under_way.get() >= self.most - KEPT_FREE {
            return None;
        }
        let (free, used) = (self.free.get(), self.used.get());
        let operation = if !free.is_null() {
            // SAFETY: a free operation of this arena.
            self.free.set(unsafe { (*free).next_free });
            free
        } else if used < self.most {
            self.used.set(used + 1);
            self.base.wrapping_add(used)
        } else {
            return None;
        };
        self.under_way.set(self.under_way.get() + 1);
        // SAFETY: within the arena, where zeros are an operation, and nobody else's.
        unsafe {
            (*operation).kind = kind;
            (*operation).stage = Stage::Announcing;
            (*operation).generation = (*operation).generation.wrapping_add(1);
        }
        Some(operation)
    }

    /// Gives one back, and the memory of a message with it.
    ///
    /// # Safety
    /// It is of this arena, and the core is done with it.
    pub unsafe fn give_back(&self, operation: *mut Operation) {
        // SAFETY: the caller's.
        unsafe {
            let done = &mut *operation;
            if !done.buffer.is_null() {
                drop_bytes(done.buffer, done.bytes);
                done.buffer = ptr::null_mut();
            }
            done.kind = Kind::Free;
            done.next_free = self.free.get();
        }
        self.free.set(operation);
        self.under_way.set(self.under_way.get() - 1);
    }

    /// The number of an operation, with its generation: what the other side knows it by.
    pub(crate) fn name(&self, operation: *mut Operation) -> u64 {
        let at = (operation as usize - self.base as usize) / size_of::<Operation>();
        // SAFETY: an operation of this arena.
        u64::from(unsafe { (*operation).generation }) << 32 | at as u64
    }

    /// The operation with that name, if it is still this one.
    pub fn find(&self, name: u64) -> Option<(Kind, *mut Operation)> {
        let at = (name & u64::from(u32::MAX)) as usize;
        if at >= self.used.get() {
            return None;
        }
        let operation = self.base.wrapping_add(at);
        // SAFETY: within what was used.
        let (is, generation) = unsafe { ((*operation).kind, (*operation).generation) };
        (is != Kind::Free && u64::from(generation) == name >> 32).then_some((is, operation))
    }
}

impl Operation {
    /// Who owes an answer for it, if somebody does.
    fn owed_by(&self) -> Option<Destination> {
        match self.kind {
            Kind::Send if self.stage == Stage::Awaiting => {
                Some(Destination { is_private: false, addr: self.addr })
            }
            // SAFETY: an entry that waits for data lives.
            Kind::Data if self.stage != Stage::GivenUp => unsafe { self.entry.as_ref() }
                .map(|entry| Destination { is_private: true, addr: entry.private }),
            _ => None,
        }
    }
}

impl Arena {
    /// Operations that are not free.
    #[inline]
    pub fn under_way(&self) -> usize {
        self.under_way.get()
    }

    fn all(&self) -> impl Iterator<Item = *mut Operation> + use<'_> {
        (0..self.used.get()).map(|at| self.base.wrapping_add(at))
    }

    /// Who owes an answer that was owed at the last call already; some of them more than once.
    pub fn owing(&self) -> Vec<Destination> {
        let mut owing = Vec::new();
        for (by, operation) in self.owed() {
            // SAFETY: within what was used.
            let operation = unsafe { &mut *operation };
            if std::mem::replace(&mut operation.seen_owed, operation.generation) == operation.generation
                && owing.last() != Some(&by)
            {
                owing.push(by);
            }
        }
        owing
    }

    /// Operations for which somebody owes an answer, and who.
    pub fn owed(&self) -> impl Iterator<Item = (Destination, *mut Operation)> + use<'_> {
        // SAFETY: within what was used.
        self.all().filter_map(|operation| Some((unsafe { (*operation).owed_by() }?, operation)))
    }

    /// The core has closed the endpoints: nothing of this is used any more, but the addresses stay taken.
    pub fn empty(&self) {
        for at in 0..self.used.replace(0) {
            // SAFETY: within what was used.
            let operation = unsafe { &mut *self.base.wrapping_add(at) };
            if !operation.buffer.is_null() {
                // SAFETY: allocated by `new_bytes` with that length.
                unsafe { drop_bytes(operation.buffer, operation.bytes) };
            }
        }
        self.free.set(ptr::null_mut());
        // SAFETY: mapped in `new`, and of no file: what is read there from now on is zeros, which are operations.
        unsafe { libc::madvise(self.base.cast(), bytes_of(self.most), libc::MADV_DONTNEED) };
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.empty();
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.base.cast(), bytes_of(self.most)) };
    }
}

const fn bytes_of(operations: usize) -> usize {
    operations * size_of::<Operation>()
}

/// Memory for a message of that many bytes. `None`: there is none.
pub fn new_bytes(bytes: usize) -> Option<*mut u8> {
    // SAFETY: `malloc` may be asked for anything.
    let memory = unsafe { libc::malloc(bytes.max(1)) }.cast::<u8>();
    (!memory.is_null()).then_some(memory)
}

/// Frees it.
///
/// # Safety
/// From [`new_bytes`], with that length, and not freed yet.
pub unsafe fn drop_bytes(memory: *mut u8, _bytes: usize) {
    // SAFETY: the caller's.
    unsafe { libc::free(memory.cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_that_is_emptied_has_nothing_but_its_addresses() {
        let arena = Arena::new().expect("there are addresses");
        let operation = arena.get(Kind::Bounce).expect("nothing is under way");
        // SAFETY: just taken.
        unsafe { ((*operation).buffer, (*operation).bytes) = (new_bytes(8).expect("memory"), 8) };
        let (name, range) = (arena.name(operation), arena.range());
        assert!(arena.find(name).is_some());
        arena.empty();
        assert!(arena.find(name).is_none() && arena.range() == range);
        // SAFETY: the arena's, and zeros are an operation.
        assert!(unsafe { (*operation).kind == Kind::Free && (*operation).buffer.is_null() });
    }
}
