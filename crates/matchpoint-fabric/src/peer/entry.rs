//! The entries that owner and core pass to each other: a receive that is posted, or a message that waits.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use libc::iovec;

use crate::abi::peer::PeerRxEntry;
use crate::abi::{ADDR_UNSPEC, Addr, errno};
use crate::asked::Asked;
use crate::matching::Remember;
use crate::pool::Slot;

/// Buffers that one receive may consist of; what `rx_attr.iov_limit` is cut to.
pub const IOV_LIMIT: usize = 4;

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
    /// The same, withdrawn.
    Withdrawn,
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
    /// A message whose source became known while it waited, and that is queued without it.
    pub is_unnamed: bool,
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

    /// Bytes that its buffers hold.
    pub fn room(&self) -> usize {
        self.parts().iter().map(|part| part.iov_len).sum()
    }

    /// Its buffers.
    pub fn parts(&self) -> &[iovec] {
        &self.iov[..self.peer.count]
    }

    /// One of its buffers has a registration.
    pub fn is_registered(&self) -> bool {
        self.desc[..self.peer.count].iter().any(|desc| !desc.is_null())
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

// SAFETY: zeros are an entry: `State::Free`, null pointers, `false`, numbers.
unsafe impl Slot for Entry {
    #[inline]
    fn link(&mut self) -> &mut *mut Entry {
        self.state = State::Free;
        &mut self.next_free
    }

    fn settle(&mut self) {
        self.peer.iov = self.iov.as_mut_ptr();
        self.peer.desc = self.desc.as_mut_ptr();
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

    fn source(&self, message: u64) -> Addr {
        // SAFETY: as above.
        unsafe { &*(message as *const Entry) }.peer.addr
    }

    fn queued_source(&self, message: u64) -> Addr {
        // SAFETY: as above.
        let is_unnamed = unsafe { &*(message as *const Entry) }.is_unnamed;
        if is_unnamed { ADDR_UNSPEC } else { self.source(message) }
    }
}

/// Messages that peeks have claimed (`FI_PEEK` with `FI_CLAIM`), by the contexts of those: a receive with `FI_CLAIM` says
/// no more, and may say one that has claimed nothing, or whose message was received.
#[derive(Default)]
pub struct Claims(HashMap<usize, *mut Entry>);

impl Claims {
    /// The peek with this context has claimed a message.
    pub fn add(&mut self, context: *mut c_void, message: *mut Entry) {
        self.0.insert(context as usize, message);
    }

    /// The message that it has claimed, once. `Err`: what the application is told if it has none.
    pub fn take(&mut self, context: *mut c_void) -> Result<*mut Entry, isize> {
        self.0.remove(&(context as usize)).ok_or(-(errno::ENOMSG as isize))
    }
}
