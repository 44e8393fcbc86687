//! What is queued: a receive that waits for its message, or a message that waits for its receive.

use std::ffi::c_void;
use std::ptr;

use libc::iovec;

use crate::abi::Addr;
use crate::matching::{Asked, Remember};
use crate::pool::Slot;
use crate::tagged::{Call, IOV_LIMIT};

/// Bytes of a message that are kept in its entry.
pub const INLINE: usize = 64;

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
    /// A receive whose message's data is under way.
    Receiving,
}

/// One entry. Its address is its name in the engine.
pub struct Entry {
    /// What it is.
    pub state: State,
    /// Who is asked for, or has sent.
    pub addr: Addr,
    /// Which tag.
    pub tag: u64,
    /// What does not count of the tag of a receive.
    pub ignore: u64,
    /// A receive: the operation's context.
    pub context: *mut c_void,
    /// A receive: `FI_COMPLETION`; a message: `FI_REMOTE_CQ_DATA`.
    pub flags: u64,
    /// A message: what came with it.
    pub data: u64,
    /// A message: its length.
    pub bytes: usize,
    /// A message that is only announced: the sender's operation; else 0.
    pub announced: u64,
    /// A message: its sender's private endpoint, as our private address vector numbers it, if it was told.
    pub private: Addr,
    iov: [iovec; IOV_LIMIT],
    desc: [*mut c_void; IOV_LIMIT],
    count: usize,
    room: usize,
    inline: [u8; INLINE],
    long: *mut u8,
    next_free: *mut Entry,
}

// SAFETY: zeros are an entry: `State::Free`, null pointers, numbers.
unsafe impl Slot for Entry {
    #[inline]
    fn link(&mut self) -> &mut *mut Entry {
        self.state = State::Free;
        &mut self.next_free
    }
}

impl Entry {
    /// Becomes a receive, or the receive of the message that it is.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    #[inline]
    pub unsafe fn buffers(&mut self, call: &Call, flags: u64) {
        self.context = call.context;
        self.flags |= flags;
        self.count = call.count;
        self.room = 0;
        for at in 0..call.count {
            // SAFETY: the caller's.
            unsafe {
                self.iov[at] = *call.iov.add(at);
                self.desc[at] = if call.desc.is_null() { ptr::null_mut() } else { *call.desc.add(at) };
            }
            self.room += self.iov[at].iov_len;
        }
    }

    /// Takes over the buffers of a receive.
    pub fn buffers_of(&mut self, receive: &Entry) {
        self.context = receive.context;
        self.flags |= receive.flags;
        (self.iov, self.desc) = (receive.iov, receive.desc);
        (self.count, self.room) = (receive.count, receive.room);
    }

    /// Bytes that its buffers hold.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The first of its buffers.
    pub fn first(&self) -> *mut c_void {
        if self.count == 0 { ptr::null_mut() } else { self.iov[0].iov_base }
    }

    /// Its buffers, cut to `bytes` in all, and their registrations.
    pub fn cut(&mut self, bytes: usize) -> (&[iovec], *mut *mut c_void) {
        let count = cut(&mut self.iov[..self.count], bytes);
        self.count = count;
        (&self.iov[..count], self.desc.as_mut_ptr())
    }

    /// Puts a message into the buffers, as much of it as there is room for.
    ///
    /// # Safety
    /// `from` has `bytes` bytes; the application's buffers are as it said.
    #[inline]
    pub unsafe fn fill(&self, from: *const u8, bytes: usize) {
        let mut done = 0;
        for part in &self.iov[..self.count] {
            let some = part.iov_len.min(bytes - done);
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(from.add(done), part.iov_base.cast(), some) };
            done += some;
            if done == bytes {
                break;
            }
        }
    }

    /// Keeps a message until it is received. False: there is no memory.
    ///
    /// # Safety
    /// `from` has `bytes` bytes.
    pub unsafe fn keep(&mut self, from: *const u8, bytes: usize) -> bool {
        let to = if bytes <= INLINE {
            self.long = ptr::null_mut();
            self.inline.as_mut_ptr()
        } else {
            let Some(memory) = super::operation::new_bytes(bytes) else { return false };
            self.long = memory;
            memory
        };
        // SAFETY: the caller's, and as much room.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        true
    }

    /// What was kept.
    pub fn kept(&self) -> *const u8 {
        if self.long.is_null() { self.inline.as_ptr() } else { self.long }
    }

    /// Forgets it.
    pub fn forget(&mut self) {
        if !self.long.is_null() {
            // SAFETY: from `keep`.
            unsafe { super::operation::drop_bytes(self.long, self.bytes) };
            self.long = ptr::null_mut();
        }
    }
}

/// Cuts buffers to `bytes` in all; the number that is left.
pub fn cut(iov: &mut [iovec], mut bytes: usize) -> usize {
    for (at, part) in iov.iter_mut().enumerate() {
        if part.iov_len >= bytes {
            part.iov_len = bytes;
            return at + 1;
        }
        bytes -= part.iov_len;
    }
    iov.len()
}

/// Entries know what they ask for; their names are their addresses.
pub struct ByAddress;

impl Remember for ByAddress {
    fn asked(&self, receive: u64) -> Asked {
        // SAFETY: what is in the engine is an entry's address, and entries that are queued are not freed.
        let entry = unsafe { &*(receive as *const Entry) };
        Asked { addr: entry.addr, tag: entry.tag, ignore: entry.ignore }
    }

    fn tag(&self, message: u64) -> u64 {
        // SAFETY: as above.
        unsafe { &*(message as *const Entry) }.tag
    }

    fn source(&self, message: u64) -> Addr {
        // SAFETY: as above.
        unsafe { &*(message as *const Entry) }.addr
    }
}
