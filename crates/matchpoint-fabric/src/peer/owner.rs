//! The owner of a shared receive queue: what the core's messages and the application's receives are matched by.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;

use crate::abi::peer::{FidPeerSrx, Layout, OpsSrxPeer};
use crate::abi::{Addr, FidCq, errno, flags};
use crate::asked::{Asked, Terms};
use crate::completion::{Completion, Completions, Truncated};
use crate::dump::{self, Told};
use crate::matching::{Matching, Remember};
use crate::peer::entry::{ByAddress, Claims, Entry, State};
use crate::pool::Pool;

/// What one endpoint's receives and messages are kept in.
pub struct Owner {
    /// Which form the core knows entries in.
    pub layout: Layout,
    /// The queue that receives complete in.
    pub cq: *mut FidCq,
    /// Ours of that queue.
    pub completions: *mut Completions,
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

/// Untagged receives and messages, oldest first.
pub struct Untagged {
    pub(crate) posted: VecDeque<*mut Entry>,
    pub(crate) unexpected: VecDeque<*mut Entry>,
    /// A buffer with less room than this is used up (`FI_OPT_MIN_MULTI_RECV`).
    pub least_room: usize,
}

impl Untagged {
    /// Empty queues.
    pub fn new(least_room: usize) -> Self {
        Untagged { posted: VecDeque::new(), unexpected: VecDeque::new(), least_room }
    }

    /// What waits, oldest first.
    pub(crate) fn messages(&self) -> impl Iterator<Item = *mut Entry> + '_ {
        self.unexpected.iter().copied()
    }

    /// Withdraws a message.
    pub(crate) fn retract(&mut self, message: *mut Entry) {
        self.unexpected.retain(|&entry| entry != message);
    }

    /// Withdraws a receive.
    pub(crate) fn withdraw(&mut self, receive: *mut Entry) {
        self.posted.retain(|&entry| entry != receive);
    }

    /// The first entry of a queue with an address that fits.
    pub(crate) fn position(queue: &VecDeque<*mut Entry>, fits: impl Fn(Addr) -> bool) -> Option<usize> {
        // SAFETY: what is queued is an entry that lives.
        queue.iter().position(|&entry| fits(unsafe { (*entry).peer.addr }))
    }
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
        entry.is_unnamed = false;
        entry.within = ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = bytes;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = ptr::null_mut();
        entry.peer.count = 0;
        entry.peer.peer_context = ptr::null_mut();
        entry.peer.owner_context = ptr::null_mut();
    }

    /// Fills in what an entry for a receive has beside what it asks for and its buffers.
    pub(crate) fn becomes_receive(&mut self, receive: *mut Entry, context: *mut c_void, flags: u64) {
        // SAFETY: the entry was just taken from the pool.
        let entry = unsafe { &mut *receive };
        entry.state = State::Posted;
        entry.tagged = flags & flags::TAGGED != 0;
        entry.users = 0;
        entry.within = ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = usize::MAX;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = context;
        entry.peer.peer_context = ptr::null_mut();
        entry.peer.owner_context = ptr::null_mut();
    }

    /// The core is done with an entry, or gives up on a message that waits (its connection has gone).
    pub(crate) fn free(&mut self, entry: *mut Entry) {
        // SAFETY: the core frees entries that it was given, once.
        let (state, tagged, within) = unsafe { ((*entry).state, (*entry).tagged, (*entry).within) };
        if state == State::Unexpected {
            if tagged {
                self.matching.retract(entry as u64, &ByAddress);
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
            (*self.completions).late.push_back(done);
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
            self.matching.cancel(receive as u64, &ByAddress);
        } else {
            self.untagged.withdraw(receive);
        }
        if entry.users > 0 {
            entry.state = State::Withdrawn;
            return 0;
        }
        let (done, is_shared) = (withdrawn(entry), entry.peer.flags & flags::MULTI_RECV != 0);
        // SAFETY: it is in no queue any more; the endpoint is bound to this one.
        let ours = unsafe {
            self.pool.give_back(receive);
            &mut *self.completions
        };
        // Of what is in such a buffer the core may have more to tell.
        if is_shared {
            ours.late.push_back(done)
        } else {
            ours.now.push_back(done)
        }
        0
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

    /// The message of this entry has `bytes` bytes. If its receive holds fewer, the core delivers it to a separate buffer.
    ///
    /// A message of unknown length, or one for registered buffers, is left to the core; so is one for which there is no memory.
    #[inline]
    pub(crate) fn make_room(&mut self, entry: *mut Entry, bytes: usize) {
        // SAFETY: the entry was matched, so it is in no queue, and the core does not have it yet.
        let entry = unsafe { &mut *entry };
        if bytes > entry.room() && bytes != usize::MAX && !self.cq.is_null() {
            self.deliver_separately(entry, bytes);
        }
    }

    #[cold]
    fn deliver_separately(&mut self, entry: &mut Entry, bytes: usize) {
        if entry.is_registered() {
            return;
        }
        let Some(truncated) = Truncated::new(entry.peer.context, entry.parts(), bytes) else { return };
        let own = iovec { iov_base: truncated.buffer(), iov_len: bytes };
        // SAFETY: one buffer, without a registration.
        unsafe { entry.buffers(&raw const own, ptr::null(), 1) };
        entry.peer.msg_size = bytes;
        entry.peer.context = truncated.core_context();
        // An error is reported even where completions are selective.
        entry.peer.flags |= flags::COMPLETION;
        // SAFETY: the endpoint is bound to this queue.
        unsafe { (*self.completions).truncated.push(truncated) };
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
