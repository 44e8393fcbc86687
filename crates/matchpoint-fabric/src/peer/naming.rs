//! Senders of messages that become known while their messages wait.

use std::ffi::c_void;

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::peer::entry::{ByAddress, Entry};
use crate::peer::owner::{Next, Owner, Untagged};
use crate::peer::untagged::is_shared;

impl Owner {
    /// Some peers have become known: messages that wait from nobody in particular may be theirs.
    ///
    /// # Safety
    /// `this` is an owner that lives, and nobody refers to it; `address` is the core's function.
    pub unsafe fn name_sources(this: *mut Owner, address: unsafe extern "C" fn(*mut c_void) -> Addr) {
        // SAFETY: the caller's.
        let owner = unsafe { &mut *this };
        let mut nameless = Vec::new();
        owner.matching.visit(matchpoint::Queue::Unexpected, |id| nameless.push(id as *mut Entry));
        nameless.extend(owner.untagged.messages());
        // SAFETY: what waits is an entry that lives.
        nameless.retain(|&entry| unsafe { (*entry).peer.addr } == ADDR_UNSPEC);
        for entry in nameless {
            // SAFETY: as above; the core asks only for what it has put there.
            let addr = unsafe { address(Entry::to_core(entry, (*this).layout.links)) };
            if addr != ADDR_UNSPEC {
                // SAFETY: the caller's.
                let next = unsafe { (*this).name_source(entry, addr) };
                // SAFETY: as above; nothing is borrowed.
                unsafe { Owner::proceed(this, next) };
            }
        }
        // SAFETY: the caller's.
        unsafe { (*this).ask_for_progress() };
    }

    fn name_source(&mut self, message: *mut Entry, addr: Addr) -> Next {
        // SAFETY: it waits, so it lives.
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

    /// Gives messages the names that there was no memory for.
    ///
    /// # Safety
    /// As [`Owner::name_sources`].
    pub unsafe fn name_owed(this: *mut Owner) {
        // SAFETY: the caller's; what is borrowed is done with before the core is called.
        unsafe {
            while let Some((message, receive)) = (*this).matching.name_owed(&ByAddress) {
                let next = (*this).hand_over(receive as *mut Entry, message as *mut Entry);
                Owner::proceed(this, next);
            }
            (*this).ask_for_progress();
        }
    }

    /// Names that are owed are tried again when the application next looks for completions.
    fn ask_for_progress(&self) {
        if self.matching.owes_names() && !self.cq.is_null() {
            // SAFETY: the endpoint is bound to this queue.
            unsafe { (*self.completions).owes_names = true };
        }
    }

    /// The sender of a message that waits is known now: a receive that names it may be posted already.
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
