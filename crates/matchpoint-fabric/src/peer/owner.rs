//! The owner of a shared receive queue: what the core's messages and the application's receives are matched by.

use std::ffi::{c_int, c_void};

use crate::abi::peer::{FidPeerSrx, Layout, OpsSrxPeer};
use crate::abi::{ADDR_UNSPEC, Addr, FidCq, errno, flags};
use crate::asked::Asked;
use crate::completion::Completion;
use crate::dump::{self, Told};
use crate::matching::{Matching, Remember};
use crate::peer::calls::{Claims, Terms};
use crate::peer::entry::{ByAddress, Entry, State};
use crate::peer::untagged::Untagged;
use crate::pool::Pool;
use crate::queue::Queue;

/// What one endpoint's receives and messages are kept in.
pub struct Owner {
    /// Which form the core knows entries in.
    pub layout: Layout,
    /// The queue that receives complete in.
    pub cq: *mut FidCq,
    /// What the application asked of completions, and of receives.
    pub terms: Terms,
    /// The queue as the core knows it.
    pub srx: *mut FidPeerSrx,
    /// Entries of both kinds.
    pub pool: Pool<Entry>,
    /// Tagged ones, in the engine.
    pub matching: Matching,
    /// Those of them that peeks have claimed.
    pub claims: Claims,
    /// Untagged ones.
    pub untagged: Untagged,
}

/// What the core is to do with an entry, once nothing of ours is borrowed.
pub enum Next {
    /// Nothing.
    Done,
    /// Receive the message, tagged or not.
    Start(*mut Entry),
    /// Forget it.
    Discard(*mut Entry),
}

impl Owner {
    /// The functions of the core. Set by it when it was given the queue.
    fn core(&self) -> &OpsSrxPeer {
        // SAFETY: `PeerEndpoint::open` has made sure that the core set it, and the core outlives the endpoint.
        unsafe { &*(*self.srx).peer_ops }
    }

    /// Has the core do what is next. It calls back, so the owner is a pointer here, borrowed only in between.
    ///
    /// # Safety
    /// `this` is an owner that lives, and nobody refers to it.
    pub unsafe fn proceed(this: *mut Owner, next: Next) -> isize {
        let (Next::Start(entry) | Next::Discard(entry)) = next else { return 0 };
        // SAFETY: the caller's; the entry is the core's from here on, or ours to free.
        unsafe {
            let (core, links) = ((*this).core(), (*this).layout.links);
            let (tagged, given) = ((*entry).tagged, Entry::to_core(entry, links));
            (*entry).state = State::Active;
            match next {
                Next::Start(_) if tagged => (core.start_tag)(given) as isize,
                Next::Start(_) => (core.start_msg)(given) as isize,
                _ => {
                    let rc = if tagged { (core.discard_tag)(given) } else { (core.discard_msg)(given) };
                    (*this).pool.give_back(entry);
                    rc as isize
                }
            }
        }
    }

    /// A tagged message: the receive that it takes and `FI_SUCCESS`, or an entry for itself and `-FI_ENOENT`.
    #[inline]
    pub(crate) fn tagged_message(
        &mut self,
        addr: Addr,
        bytes: usize,
        tag: u64,
    ) -> Result<(*mut Entry, c_int), c_int> {
        let message = self.pool.next().ok_or(-errno::ENOMEM)?;
        // SAFETY: entries live as long as the pool, and this one is nobody else's yet.
        let entry = unsafe { &mut *message };
        // Before the engine sees it: it may ask for all tags while it takes this message in.
        (entry.peer.addr, entry.peer.tag) = (addr, tag);
        let taken = self.matching.arrive(message as u64, addr, tag, &ByAddress);
        match taken.map_err(|_| -errno::ENOMEM)? {
            Some(receive) => {
                let receive = receive as *mut Entry;
                // SAFETY: what the engine gives back is the address of an entry that was posted.
                let entry = unsafe { &mut *receive };
                entry.state = State::Active;
                entry.peer.msg_size = entry.peer.msg_size.min(bytes);
                self.make_room(receive, bytes);
                Ok((receive, errno::SUCCESS))
            }
            None => {
                self.pool.take(message);
                self.becomes_message(message, bytes, flags::TAGGED | flags::RECV);
                Ok((message, -errno::ENOENT))
            }
        }
    }

    /// Fills in what an entry for a message that waits has beside address and tag.
    pub(crate) fn becomes_message(&mut self, message: *mut Entry, bytes: usize, flags: u64) {
        // SAFETY: the entry was just taken from the pool.
        let entry = unsafe { &mut *message };
        entry.state = State::Unexpected;
        entry.tagged = flags & flags::TAGGED != 0;
        entry.within = std::ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = bytes;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = std::ptr::null_mut();
        entry.peer.count = 0;
        entry.peer.peer_context = std::ptr::null_mut();
        entry.peer.owner_context = std::ptr::null_mut();
    }

    /// Fills in what an entry for a receive has beside what it asks for and its buffers.
    pub(crate) fn becomes_receive(&mut self, receive: *mut Entry, context: *mut c_void, flags: u64) {
        // SAFETY: the entry was just taken from the pool.
        let entry = unsafe { &mut *receive };
        entry.state = State::Posted;
        entry.tagged = flags & flags::TAGGED != 0;
        entry.users = 0;
        entry.within = std::ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = usize::MAX;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = context;
        entry.peer.peer_context = std::ptr::null_mut();
        entry.peer.owner_context = std::ptr::null_mut();
    }

    /// The core is done with an entry, or gives up on a message that waits (its connection has gone).
    pub(crate) fn free(&mut self, entry: *mut Entry) {
        // SAFETY: the core frees entries that it was given, once.
        let (state, tagged, within) = unsafe { ((*entry).state, (*entry).tagged, (*entry).within) };
        if state == State::Unexpected {
            if tagged {
                self.matching.retract(entry as u64);
            } else {
                self.untagged.retract(entry);
            }
        }
        if !within.is_null() {
            self.leave(within);
        }
        // SAFETY: as above.
        unsafe { self.pool.give_back(entry) };
    }

    /// The core has finished one message in a buffer for several.
    pub(crate) fn leave(&mut self, buffer: *mut Entry) {
        // SAFETY: a buffer lives while it has users.
        let entry = unsafe { &mut *buffer };
        entry.users -= 1;
        let done = match entry.state {
            _ if entry.users > 0 => return,
            State::Full => Completion::new(entry.peer.context, flags::MULTI_RECV),
            State::Withdrawn => withdrawn(entry),
            _ => return,
        };
        // SAFETY: it has no users any more, and is not posted.
        unsafe {
            self.pool.give_back(buffer);
            Queue::of(self.cq).push_late(done);
        }
    }

    /// Withdraws the receive with this context (`fi_cancel`); does nothing if there is none. A buffer for several messages
    /// is withdrawn from those that come; that it is, is told after those that are in it.
    pub(crate) fn cancel(&mut self, context: *mut c_void) -> isize {
        // SAFETY: entries live as long as the pool.
        let is_it = |&entry: &*mut Entry| unsafe { (*entry).peer.context } == context;
        let Some(receive) = self.in_state(State::Posted).find(is_it) else { return 0 };
        // SAFETY: as above, and nobody else refers to it.
        let entry = unsafe { &mut *receive };
        if entry.tagged {
            self.matching.cancel(receive as u64);
        } else {
            self.untagged.withdraw(receive);
        }
        if entry.users > 0 {
            entry.state = State::Withdrawn;
            return 0;
        }
        let (done, is_shared) = (withdrawn(entry), entry.peer.flags & flags::MULTI_RECV != 0);
        // SAFETY: it is in no queue any more; the endpoint is bound to this one.
        let cq = unsafe {
            self.pool.give_back(receive);
            Queue::of(self.cq)
        };
        // Of what is in such a buffer the core may have more to tell.
        if is_shared {
            cq.push_late(done)
        } else {
            cq.push(done)
        }
        0
    }

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
            return Next::Done;
        }
        if !entry.tagged {
            return self.name_untagged(message, addr);
        }
        match self.matching.readdress(message as u64, addr) {
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
            unsafe { Queue::of(self.cq) }.owe_names();
        }
    }

    /// A message that waited takes a posted receive: its entry gets the receive's buffers.
    pub(crate) fn hand_over(&mut self, receive: *mut Entry, message: *mut Entry) -> Next {
        // SAFETY: both are in no queue any more, and differ.
        unsafe {
            let (from, bytes) = (&mut (*receive).peer, (*message).peer.msg_size);
            (*message).peer.context = from.context;
            (*message).peer.flags |= from.flags;
            (*message).buffers(from.iov, from.desc, from.count);
            self.make_room(message, bytes);
            self.pool.give_back(receive);
        }
        Next::Start(message)
    }

    /// What waits or was claimed, taken out: the core forgets it before the endpoint closes.
    pub(crate) fn leftovers(&mut self) -> Vec<*mut Entry> {
        self.in_state(State::Unexpected).chain(self.in_state(State::Claimed)).collect()
    }

    /// Appends a list of both queues' entries.
    pub(crate) fn describe_queues(&self, text: &mut String) {
        dump::queues(text, &self.matching, |id| {
            // SAFETY: what is queued is an entry that lives.
            let entry = unsafe { &*(id as *const Entry) };
            let (asked, bytes) = match entry.state {
                State::Posted => (ByAddress.asked(id), entry.room()),
                _ => (Asked { addr: entry.peer.addr, tag: entry.peer.tag, ignore: 0 }, entry.peer.msg_size),
            };
            Told { asked, bytes }
        });
    }

    /// The entries in this state, in no order. O(all that there ever were at once).
    fn in_state(&self, state: State) -> impl Iterator<Item = *mut Entry> + '_ {
        // SAFETY: entries live as long as the pool.
        self.pool.all().filter(move |&entry| unsafe { (*entry).state } == state)
    }
}

/// What is told of a receive that is withdrawn.
fn withdrawn(receive: &Entry) -> Completion {
    let kind = receive.peer.flags & (flags::TAGGED | flags::MSG | flags::RECV | flags::MULTI_RECV);
    let mut done = Completion::new(receive.peer.context, kind);
    (done.entry.tag, done.error) = (receive.peer.tag, errno::ECANCELED);
    done
}
