//! Entries that the owner and the core provider exchange: posted receives and unexpected messages.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use libc::iovec;

use crate::abi::peer::PeerRxEntry;
use crate::abi::{ADDR_UNSPEC, Addr, errno};
use crate::criteria::Criteria;
use crate::matching::EntryData;
use crate::pool::Slot;

/// Maximum number of buffers of a receive (`rx_attr.iov_limit`).
pub const IOV_LIMIT: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Free = 0,
    Posted,
    Unexpected,
    /// A message that a peek claimed.
    Claimed,
    /// An entry that the core provider uses, and frees later.
    Active,
    /// A full multi-receive buffer with unfinished messages.
    Full,
    /// A cancelled multi-receive buffer with unfinished messages.
    Cancelled,
}

/// A receive or a message. The address of an entry never changes, and is the id in the engine.
#[repr(C)]
pub struct Entry {
    /// Links for libfabric before 2.3.
    links: [*mut c_void; 2],
    /// The part of the entry that the core provider reads.
    pub peer: PeerRxEntry,
    pub ignore: u64,
    pub state: State,
    pub is_tagged: bool,
    /// The message is queued without source, but the source is known now.
    pub is_queued_without_source: bool,
    /// Number of unfinished messages in this multi-receive buffer.
    pub users: usize,
    /// The multi-receive buffer that contains this message.
    pub shared_buffer: *mut Entry,
    next_free: *mut Entry,
    iov: [iovec; IOV_LIMIT],
    desc: [*mut c_void; IOV_LIMIT],
}

impl Entry {
    /// Sets the buffers, and limits the message size to their sum.
    ///
    /// # Safety
    /// `iov` has `count` elements, at most [`IOV_LIMIT`]. `desc` is null or has `count` elements.
    #[inline]
    pub unsafe fn set_buffers(&mut self, iov: *const iovec, desc: *const *mut c_void, count: usize) {
        let mut bytes = 0;
        for at in 0..count {
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.iov[at] = *iov.add(at);
                self.desc[at] = if desc.is_null() { ptr::null_mut() } else { *desc.add(at) };
            }
            bytes += self.iov[at].iov_len;
        }
        self.peer.count = count;
        self.peer.msg_size = self.peer.msg_size.min(bytes);
    }

    pub fn capacity(&self) -> usize {
        self.buffers().iter().map(|part| part.iov_len).sum()
    }

    pub fn buffers(&self) -> &[iovec] {
        &self.iov[..self.peer.count]
    }

    pub fn is_registered(&self) -> bool {
        self.desc[..self.peer.count].iter().any(|desc| !desc.is_null())
    }

    pub fn first_buffer(&mut self) -> (&mut iovec, *mut c_void) {
        (&mut self.iov[0], self.desc[0])
    }

    #[inline]
    pub fn to_core(this: *mut Entry, links: bool) -> *mut c_void {
        let offset = if links { 0 } else { offset_of!(Entry, peer) };
        this.cast::<u8>().wrapping_add(offset).cast()
    }

    #[inline]
    pub fn from_core(pointer: *mut c_void, links: bool) -> *mut Entry {
        let offset = if links { 0 } else { offset_of!(Entry, peer) };
        pointer.cast::<u8>().wrapping_sub(offset).cast()
    }
}

// SAFETY: zeros are a valid entry: `State::Free`, null pointers, `false`, numbers.
unsafe impl Slot for Entry {
    #[inline]
    fn link(&mut self) -> &mut *mut Entry {
        self.state = State::Free;
        &mut self.next_free
    }

    fn init(&mut self) {
        self.peer.iov = self.iov.as_mut_ptr();
        self.peer.desc = self.desc.as_mut_ptr();
    }
}

/// Data of entries by id, which is the address of an entry.
pub struct ByAddress;

impl EntryData for ByAddress {
    fn criteria(&self, receive: u64) -> Criteria {
        // SAFETY: ids are addresses of entries. Queued entries are not freed.
        let entry = unsafe { &*(receive as *const Entry) };
        Criteria { addr: entry.peer.addr, tag: entry.peer.tag, ignore: entry.ignore }
    }

    fn tag(&self, message: u64) -> u64 {
        // SAFETY: ids are addresses of entries.
        unsafe { &*(message as *const Entry) }.peer.tag
    }

    fn source(&self, message: u64) -> Addr {
        // SAFETY: ids are addresses of entries.
        unsafe { &*(message as *const Entry) }.peer.addr
    }

    fn queued_source(&self, message: u64) -> Addr {
        // SAFETY: ids are addresses of entries.
        let is_queued_without_source = unsafe { &*(message as *const Entry) }.is_queued_without_source;
        if is_queued_without_source { ADDR_UNSPEC } else { self.source(message) }
    }
}

/// Messages claimed by peeks (`FI_PEEK` with `FI_CLAIM`), by the context of the peek. A receive with
/// `FI_CLAIM` names the message only by this context.
#[derive(Default)]
pub struct Claims(HashMap<usize, *mut Entry>);

impl Claims {
    pub fn add(&mut self, context: *mut c_void, message: *mut Entry) {
        self.0.insert(context as usize, message);
    }

    pub fn take(&mut self, context: *mut c_void) -> Result<*mut Entry, isize> {
        self.0.remove(&(context as usize)).ok_or(-(errno::ENOMSG as isize))
    }
}
