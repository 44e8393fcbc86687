//! The entries that owner and core pass to each other: a receive that is posted, or a message that waits.

use std::alloc::Layout;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use libc::iovec;

use crate::abi::peer::PeerRxEntry;
use crate::matching::{Asked, Remember};

/// Buffers that one receive may consist of; what `rx_attr.iov_limit` is cut to.
pub const IOV_LIMIT: usize = 4;

/// Entries that are allocated together.
const CHUNK: usize = 64;
const CHUNK_LAYOUT: Layout = Layout::new::<[Entry; CHUNK]>();

/// What an entry is at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// On the free list.
    Free = 0,
    /// A receive that waits for a message.
    Posted,
    /// A message that waits for a receive.
    Unexpected,
    /// A message that a matched probe took.
    Claimed,
    /// With the core, which will free it.
    Active,
    /// A buffer for several messages, full, while some of them are still with the core.
    Full,
}

/// One entry. Its address is its name in the engine, and never changes.
#[repr(C)]
pub struct Entry {
    /// For libfabric before 2.3, where the core may link entries.
    links: [*mut c_void; 2],
    /// What the core sees.
    pub peer: PeerRxEntry,
    /// What does not count of the tag of a receive.
    pub ignore: u64,
    /// What it is.
    pub state: State,
    /// It is for tagged messages.
    pub tagged: bool,
    /// Messages in this buffer that the core has not finished.
    pub users: usize,
    /// The buffer for several messages that this message is in.
    pub within: *mut Entry,
    next_free: *mut Entry,
    iov: [iovec; IOV_LIMIT],
    desc: [*mut c_void; IOV_LIMIT],
}

impl Entry {
    /// Its buffers are these, and it waits for no more than they hold.
    ///
    /// # Safety
    /// `iov` has `count` elements, at most [`IOV_LIMIT`]; so has `desc`, unless null.
    #[inline]
    pub unsafe fn buffers(&mut self, iov: *const iovec, desc: *const *mut c_void, count: usize) {
        let mut bytes = 0;
        for at in 0..count {
            // SAFETY: the caller's.
            unsafe {
                self.iov[at] = *iov.add(at);
                self.desc[at] = if desc.is_null() { ptr::null_mut() } else { *desc.add(at) };
            }
            bytes += self.iov[at].iov_len;
        }
        self.peer.count = count;
        self.peer.msg_size = self.peer.msg_size.min(bytes);
    }

    /// The first of its buffers.
    pub fn buffer(&mut self) -> (&mut iovec, *mut c_void) {
        (&mut self.iov[0], self.desc[0])
    }

    /// What the core is given for it.
    #[inline]
    pub fn to_core(this: *mut Entry, links: bool) -> *mut c_void {
        let offset = if links { 0 } else { offset_of!(Entry, peer) };
        this.cast::<u8>().wrapping_add(offset).cast()
    }

    /// The entry that the core was given this for.
    #[inline]
    pub fn from_core(given: *mut c_void, links: bool) -> *mut Entry {
        let offset = if links { 0 } else { offset_of!(Entry, peer) };
        given.cast::<u8>().wrapping_sub(offset).cast()
    }
}

/// All entries of an endpoint.
pub struct Pool {
    chunks: Vec<*mut Entry>,
    free: *mut Entry,
}

impl Pool {
    /// Without any.
    pub fn new() -> Self {
        Pool { chunks: Vec::new(), free: ptr::null_mut() }
    }

    /// The entry that is taken next, still free. `None`: no memory.
    #[inline]
    pub fn next(&mut self) -> Option<*mut Entry> {
        if self.free.is_null() {
            self.grow()?;
        }
        Some(self.free)
    }

    /// Takes the entry that [`next`](Pool::next) gave.
    #[inline]
    pub fn take(&mut self, entry: *mut Entry) {
        debug_assert_eq!(self.free, entry);
        // SAFETY: entries live as long as the pool, and a free one is nobody else's.
        self.free = unsafe { (*entry).next_free };
    }

    /// Gives an entry back.
    ///
    /// # Safety
    /// It is of this pool, and nobody refers to it any more.
    #[inline]
    pub unsafe fn give_back(&mut self, entry: *mut Entry) {
        // SAFETY: the caller's.
        unsafe {
            (*entry).state = State::Free;
            (*entry).next_free = self.free;
        }
        self.free = entry;
    }

    #[cold]
    fn grow(&mut self) -> Option<()> {
        self.chunks.try_reserve(1).ok()?;
        // SAFETY: the layout is not empty, and zeros are an entry: `State::Free`, null pointers, `false`, numbers.
        let chunk = unsafe { std::alloc::alloc_zeroed(CHUNK_LAYOUT) }.cast::<Entry>();
        if chunk.is_null() {
            return None;
        }
        for at in (0..CHUNK).rev() {
            let entry = chunk.wrapping_add(at);
            // SAFETY: within what was allocated, and nobody else's yet.
            unsafe {
                (*entry).peer.iov = (&raw mut (*entry).iov).cast();
                (*entry).peer.desc = (&raw mut (*entry).desc).cast();
                (*entry).next_free = self.free;
            }
            self.free = entry;
        }
        self.chunks.push(chunk);
        Some(())
    }

    /// The entries in this state, in no order. O(all that there ever were at once).
    pub fn in_state(&self, state: State) -> impl Iterator<Item = *mut Entry> + '_ {
        let entries = self.chunks.iter().flat_map(|&chunk| (0..CHUNK).map(move |at| chunk.wrapping_add(at)));
        // SAFETY: entries live as long as the pool.
        entries.filter(move |&entry| unsafe { (*entry).state } == state)
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK_LAYOUT.size()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for &chunk in &self.chunks {
            // SAFETY: allocated so in `grow`; with the pool, its entries end.
            unsafe { std::alloc::dealloc(chunk.cast(), CHUNK_LAYOUT) };
        }
    }
}

/// Entries know what they ask for; their names are their addresses.
pub struct ByAddress;

impl Remember for ByAddress {
    fn asked(&self, receive: u64) -> Asked {
        // SAFETY: what is in the engine is an entry's address, and entries that are queued are not freed.
        let entry = unsafe { &*(receive as *const Entry) };
        Asked { addr: entry.peer.addr, tag: entry.peer.tag, ignore: entry.ignore }
    }

    fn tag(&self, message: u64) -> u64 {
        // SAFETY: as above.
        unsafe { &*(message as *const Entry) }.peer.tag
    }
}
