//! Sources that become known while their messages are in the unexpected queue.

use std::ffi::c_void;

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::peer::entry::{ByAddress, Entry};
use crate::peer::owner::{CoreAction, SrxOwner, UntaggedQueues};
use crate::peer::untagged::is_multi_receive;

impl SrxOwner {
    /// Sets the sources of unexpected messages after peers were added to an address vector.
    ///
    /// # Safety
    /// `this` is a live owner without other references. `address` is the core provider's function.
    pub unsafe fn set_sources(this: *mut SrxOwner, address: unsafe extern "C" fn(*mut c_void) -> Addr) {
        // SAFETY: guaranteed by the caller.
        let owner = unsafe { &mut *this };
        let mut without_source = Vec::new();
        owner.matching.visit(matchpoint::Queue::Unexpected, |id| without_source.push(id as *mut Entry));
        without_source.extend(owner.untagged.messages());
        // SAFETY: unexpected messages are live entries.
        without_source.retain(|&entry| unsafe { (*entry).peer.addr } == ADDR_UNSPEC);
        for entry in without_source {
            // SAFETY: unexpected messages are live entries, which the core provider's function accepts.
            let addr = unsafe { address(Entry::to_core(entry, (*this).layout.links)) };
            if addr != ADDR_UNSPEC {
                // SAFETY: guaranteed by the caller.
                let next = unsafe { (*this).set_source(entry, addr) };
                // SAFETY: guaranteed by the caller. No borrow is live.
                unsafe { SrxOwner::perform(this, next) };
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { (*this).request_retry() };
    }

    fn set_source(&mut self, message: *mut Entry, addr: Addr) -> CoreAction {
        // SAFETY: an unexpected message is a live entry.
        let entry = unsafe { &mut *message };
        entry.peer.addr = addr;
        let is_directed =
            if entry.is_tagged { self.options.is_directed } else { self.options.is_untagged_directed };
        if !is_directed {
            entry.is_queued_without_source = true;
            return CoreAction::Done;
        }
        if !entry.is_tagged {
            return self.match_untagged(message, addr);
        }
        match self.matching.readdress(message as u64, addr, &ByAddress) {
            Some(receive) => self.take_posted_receive(receive as *mut Entry, message),
            None => CoreAction::Done,
        }
    }

    /// # Safety
    /// The conditions of [`SrxOwner::set_sources`].
    pub unsafe fn set_pending_sources(this: *mut SrxOwner) {
        // SAFETY: guaranteed by the caller. Borrows end before the core provider is called.
        unsafe {
            while let Some((message, receive)) = (*this).matching.set_next_pending_source(&ByAddress) {
                let next = (*this).take_posted_receive(receive as *mut Entry, message as *mut Entry);
                SrxOwner::perform(this, next);
            }
            (*this).request_retry();
        }
    }

    /// Requests another attempt at the next read of completions.
    fn request_retry(&self) {
        if self.matching.has_pending_sources() && !self.cq.is_null() {
            // SAFETY: the endpoint is bound to this queue.
            unsafe { (*self.completions).has_pending_sources = true };
        }
    }

    /// Sets the source of an untagged message, which a posted receive may now match.
    pub(crate) fn match_untagged(&mut self, message: *mut Entry, addr: Addr) -> CoreAction {
        let at = UntaggedQueues::find_position(&self.untagged.posted, |source| {
            source == ADDR_UNSPEC || source == addr
        });
        let Some((at, receive)) = at.and_then(|at| Some((at, *self.untagged.posted.get(at)?))) else {
            return CoreAction::Done;
        };
        self.untagged.remove_message(message);
        if !is_multi_receive(receive) {
            self.untagged.posted.remove(at);
            return self.take_posted_receive(receive, message);
        }
        if self.take_part(receive, message) {
            self.untagged.posted.remove(at);
        }
        CoreAction::Start(message)
    }
}
