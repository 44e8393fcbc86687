//! Sources that become known while their messages are unexpected.

use std::ffi::c_void;

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::peer::entry::{ByAddress, Entry};
use crate::peer::owner::{Next, Owner, Untagged};
use crate::peer::untagged::is_shared;

impl Owner {
    /// Sets the sources of unexpected messages after peers were added to an address vector.
    ///
    /// # Safety
    /// `this` is a live owner without other references. `address` is the core provider's function.
    pub unsafe fn name_sources(this: *mut Owner, address: unsafe extern "C" fn(*mut c_void) -> Addr) {
        // SAFETY: guaranteed by the caller.
        let owner = unsafe { &mut *this };
        let mut nameless = Vec::new();
        owner.matching.visit(matchpoint::Queue::Unexpected, |id| nameless.push(id as *mut Entry));
        nameless.extend(owner.untagged.messages());
        // SAFETY: unexpected messages are live entries.
        nameless.retain(|&entry| unsafe { (*entry).peer.addr } == ADDR_UNSPEC);
        for entry in nameless {
            // SAFETY: as above. The core provider's function accepts the core provider's entries.
            let addr = unsafe { address(Entry::to_core(entry, (*this).layout.links)) };
            if addr != ADDR_UNSPEC {
                // SAFETY: guaranteed by the caller.
                let next = unsafe { (*this).name_source(entry, addr) };
                // SAFETY: as above. No borrow is live.
                unsafe { Owner::proceed(this, next) };
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { (*this).ask_for_progress() };
    }

    fn name_source(&mut self, message: *mut Entry, addr: Addr) -> Next {
        // SAFETY: an unexpected message is a live entry.
        let entry = unsafe { &mut *message };
        entry.peer.addr = addr;
        let is_directed = if entry.tagged { self.terms.directed } else { self.terms.untagged_directed };
        if !is_directed {
            entry.is_unnamed = true;
            return Next::Done;
        }
        if !entry.tagged {
            return self.name_untagged(message, addr);
        }
        match self.matching.readdress(message as u64, addr, &ByAddress) {
            Some(receive) => self.hand_over(receive as *mut Entry, message),
            None => Next::Done,
        }
    }

    /// Sets pending sources.
    ///
    /// # Safety
    /// As for [`SrxOwner::set_sources`].
    pub unsafe fn name_owed(this: *mut Owner) {
        // SAFETY: guaranteed by the caller. Borrows end before the core provider is called.
        unsafe {
            while let Some((message, receive)) = (*this).matching.name_owed(&ByAddress) {
                let next = (*this).hand_over(receive as *mut Entry, message as *mut Entry);
                Owner::proceed(this, next);
            }
            (*this).ask_for_progress();
        }
    }

    /// Requests another attempt at pending sources when the application next reads completions.
    fn ask_for_progress(&self) {
        if self.matching.owes_names() && !self.cq.is_null() {
            // SAFETY: the endpoint is bound to this queue.
            unsafe { (*self.completions).owes_names = true };
        }
    }

    /// Handles a newly known source of an untagged message. A posted receive may match it now.
    pub(crate) fn name_untagged(&mut self, message: *mut Entry, addr: Addr) -> Next {
        let at = Untagged::position(&self.untagged.posted, |named| named == ADDR_UNSPEC || named == addr);
        let Some((at, receive)) = at.and_then(|at| Some((at, *self.untagged.posted.get(at)?))) else {
            return Next::Done;
        };
        self.untagged.retract(message);
        if !is_shared(receive) {
            self.untagged.posted.remove(at);
            return self.hand_over(receive, message);
        }
        if self.carve(receive, message) {
            self.untagged.posted.remove(at);
        }
        Next::Start(message)
    }
}
