//! The owner of a shared receive queue: matches messages of the core provider with receives of the
//! application.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;

use crate::abi::peer::{FidPeerSrx, Layout, OpsSrxPeer};
use crate::abi::{Addr, FidCq, errno, flags};
use crate::completion::{Completion, CompletionList, TruncatedReceive};
use crate::criteria::{Criteria, EndpointOptions};
use crate::dump::{self, EntryDescription};
use crate::matching::{EntryData, Matching};
use crate::peer::entry::{ByAddress, Claims, Entry, State};
use crate::pool::Pool;

pub struct SrxOwner {
    pub layout: Layout,
    pub cq: *mut FidCq,
    /// Completions that the provider adds to `cq`.
    pub completions: *mut CompletionList,
    pub options: EndpointOptions,
    /// The queue as the core provider sees it.
    pub srx: *mut FidPeerSrx,
    pub pool: Pool<Entry>,
    /// Tagged entries, matched by the engine.
    pub matching: Matching,
    /// Tagged messages claimed by peeks.
    pub claims: Claims,
    pub untagged: UntaggedQueues,
}

/// Untagged receives and messages, oldest first.
pub struct UntaggedQueues {
    pub(crate) posted: VecDeque<*mut Entry>,
    pub(crate) unexpected: VecDeque<*mut Entry>,
    /// A multi-receive buffer with fewer free bytes is released (`FI_OPT_MIN_MULTI_RECV`).
    pub min_multi_recv: usize,
}

impl UntaggedQueues {
    pub fn new(min_multi_recv: usize) -> Self {
        UntaggedQueues { posted: VecDeque::new(), unexpected: VecDeque::new(), min_multi_recv }
    }

    pub(crate) fn messages(&self) -> impl Iterator<Item = *mut Entry> + '_ {
        self.unexpected.iter().copied()
    }

    pub(crate) fn remove_message(&mut self, message: *mut Entry) {
        self.unexpected.retain(|&entry| entry != message);
    }

    pub(crate) fn remove_receive(&mut self, receive: *mut Entry) {
        self.posted.retain(|&entry| entry != receive);
    }

    pub(crate) fn find_position(
        queue: &VecDeque<*mut Entry>,
        is_match: impl Fn(Addr) -> bool,
    ) -> Option<usize> {
        // SAFETY: queued entries are live.
        queue.iter().position(|&entry| is_match(unsafe { (*entry).peer.addr }))
    }
}

/// The next call of the core provider, made after all borrows of the owner end.
pub enum CoreAction {
    Done,
    Start(*mut Entry),
    Discard(*mut Entry),
}

impl SrxOwner {
    fn core_ops(&self) -> &OpsSrxPeer {
        // SAFETY: `PeerEndpoint::open` checks these functions. The core provider outlives the endpoint.
        unsafe { &*(*self.srx).peer_ops }
    }

    /// Calls the core provider, which calls back: the owner is therefore a pointer, borrowed only between
    /// calls.
    ///
    /// # Safety
    /// `this` is a live owner without other references.
    pub unsafe fn perform(this: *mut SrxOwner, next: CoreAction) -> isize {
        let (CoreAction::Start(entry) | CoreAction::Discard(entry)) = next else { return 0 };
        // SAFETY: guaranteed by the caller. The entry now belongs to the core provider, or is freed here.
        unsafe {
            let (core, links) = ((*this).core_ops(), (*this).layout.links);
            let (is_tagged, pointer) = ((*entry).is_tagged, Entry::to_core(entry, links));
            (*entry).state = State::Active;
            match next {
                CoreAction::Start(_) if is_tagged => (core.start_tag)(pointer) as isize,
                CoreAction::Start(_) => (core.start_msg)(pointer) as isize,
                _ => {
                    let rc =
                        if is_tagged { (core.discard_tag)(pointer) } else { (core.discard_msg)(pointer) };
                    (*this).pool.release(entry);
                    rc as isize
                }
            }
        }
    }

    /// Matches a tagged message. Returns its receive and `FI_SUCCESS`, or a new entry for the message and
    /// `-FI_ENOENT`.
    #[inline]
    pub(crate) fn tagged_message(
        &mut self,
        addr: Addr,
        bytes: usize,
        tag: u64,
    ) -> Result<(*mut Entry, c_int), c_int> {
        let message = self.pool.next().ok_or(-errno::ENOMEM)?;
        // SAFETY: entries live as long as the pool. A free entry has no other users.
        let entry = unsafe { &mut *message };
        // Set before the engine runs, because the engine may read the tags of all messages.
        (entry.peer.addr, entry.peer.tag) = (addr, tag);
        let taken = self.matching.arrive(message as u64, addr, tag, &ByAddress);
        match taken.map_err(|_| -errno::ENOMEM)? {
            Some(receive) => Ok(self.activate_receive(receive as *mut Entry, bytes)),
            None => {
                self.pool.take(message);
                self.init_message(message, bytes, flags::TAGGED | flags::RECV);
                Ok((message, -errno::ENOENT))
            }
        }
    }

    /// Passes a posted receive to the core provider, which asked for the receive of a message.
    #[inline]
    pub(crate) fn activate_receive(&mut self, receive: *mut Entry, bytes: usize) -> (*mut Entry, c_int) {
        // SAFETY: a posted entry is live.
        let entry = unsafe { &mut *receive };
        entry.state = State::Active;
        entry.peer.msg_size = entry.peer.msg_size.min(bytes);
        self.provide_buffer(receive, bytes);
        (receive, errno::SUCCESS)
    }

    /// Initializes a message. The caller sets address and tag.
    pub(crate) fn init_message(&mut self, message: *mut Entry, bytes: usize, flags: u64) {
        // SAFETY: the entry was just taken from the pool.
        let entry = unsafe { &mut *message };
        entry.state = State::Unexpected;
        entry.is_tagged = flags & flags::TAGGED != 0;
        entry.is_queued_without_source = false;
        entry.shared_buffer = ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = bytes;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = ptr::null_mut();
        entry.peer.count = 0;
        entry.peer.peer_context = ptr::null_mut();
        entry.peer.owner_context = ptr::null_mut();
    }

    /// Initializes a receive. The caller sets criteria and buffers.
    pub(crate) fn init_receive(&mut self, receive: *mut Entry, context: *mut c_void, flags: u64) {
        // SAFETY: the entry was just taken from the pool.
        let entry = unsafe { &mut *receive };
        entry.state = State::Posted;
        entry.is_tagged = flags & flags::TAGGED != 0;
        entry.users = 0;
        entry.shared_buffer = ptr::null_mut();
        entry.peer.srx = self.srx;
        entry.peer.msg_size = usize::MAX;
        entry.peer.cq_data = 0;
        entry.peer.flags = flags;
        entry.peer.context = context;
        entry.peer.peer_context = ptr::null_mut();
        entry.peer.owner_context = ptr::null_mut();
    }

    /// Frees an entry that the core provider has finished, or an unexpected message after its connection closed.
    pub(crate) fn free(&mut self, entry: *mut Entry) {
        // SAFETY: the core provider frees its entries once.
        let (state, is_tagged, shared_buffer) =
            unsafe { ((*entry).state, (*entry).is_tagged, (*entry).shared_buffer) };
        if state == State::Unexpected {
            if is_tagged {
                self.matching.retract(entry as u64, &ByAddress);
            } else {
                self.untagged.remove_message(entry);
            }
        }
        if !shared_buffer.is_null() {
            self.end_part(shared_buffer);
        }
        // SAFETY: the core provider frees its entries once.
        unsafe { self.pool.release(entry) };
    }

    pub(crate) fn end_part(&mut self, buffer: *mut Entry) {
        // SAFETY: a buffer lives while it has users.
        let entry = unsafe { &mut *buffer };
        entry.users -= 1;
        let done = match entry.state {
            _ if entry.users > 0 => return,
            State::Full => Completion::new(entry.peer.context, flags::MULTI_RECV),
            State::Cancelled => cancelled_completion(entry),
            _ => return,
        };
        // SAFETY: the buffer has no users and is not posted.
        unsafe {
            self.pool.release(buffer);
            (*self.completions).deferred.push_back(done);
        }
    }

    /// Cancels the receive with this context, if any (`fi_cancel`).
    ///
    /// A multi-receive buffer takes no more messages. Its cancellation completes after its messages.
    pub(crate) fn cancel(&mut self, context: *mut c_void) -> isize {
        // SAFETY: entries live as long as the pool.
        let is_it = |&entry: &*mut Entry| unsafe { (*entry).peer.context } == context;
        let Some(receive) = self.entries_in_state(State::Posted).find(is_it) else { return 0 };
        // SAFETY: entries live as long as the pool, without other references.
        let entry = unsafe { &mut *receive };
        if entry.is_tagged {
            self.matching.cancel(receive as u64, &ByAddress);
        } else {
            self.untagged.remove_receive(receive);
        }
        if entry.users > 0 {
            entry.state = State::Cancelled;
            return 0;
        }
        let (done, is_multi_receive) =
            (cancelled_completion(entry), entry.peer.flags & flags::MULTI_RECV != 0);
        // SAFETY: the receive is not queued. The endpoint is bound to this completion queue.
        let list = unsafe {
            self.pool.release(receive);
            &mut *self.completions
        };
        // The core provider may have completions of messages in the buffer.
        if is_multi_receive {
            list.deferred.push_back(done)
        } else {
            list.ready.push_back(done)
        }
        0
    }

    /// An unexpected message takes a posted receive: the message's entry gets the receive's buffers.
    pub(crate) fn take_posted_receive(&mut self, receive: *mut Entry, message: *mut Entry) -> CoreAction {
        // SAFETY: both entries are not queued, and differ.
        unsafe {
            let (from, bytes) = (&mut (*receive).peer, (*message).peer.msg_size);
            (*message).peer.context = from.context;
            (*message).peer.flags |= from.flags;
            (*message).set_buffers(from.iov, from.desc, from.count);
            self.provide_buffer(message, bytes);
            self.pool.release(receive);
        }
        CoreAction::Start(message)
    }

    /// Provides a separate buffer for a message that is longer than the entry's buffers.
    ///
    /// The core provider handles messages of unknown length, messages for registered buffers, and messages
    /// without memory for a separate buffer.
    #[inline]
    pub(crate) fn provide_buffer(&mut self, entry: *mut Entry, bytes: usize) {
        // SAFETY: a matched entry is not queued, and not yet the core provider's.
        let entry = unsafe { &mut *entry };
        if bytes > entry.capacity() && bytes != usize::MAX && !self.cq.is_null() {
            self.deliver_separately(entry, bytes);
        }
    }

    #[cold]
    fn deliver_separately(&mut self, entry: &mut Entry, bytes: usize) {
        if entry.is_registered() {
            return;
        }
        let Some(truncated) = TruncatedReceive::new(entry.peer.context, entry.buffers(), bytes) else {
            return;
        };
        let own = iovec { iov_base: truncated.buffer(), iov_len: bytes };
        // SAFETY: one buffer, without a memory descriptor.
        unsafe { entry.set_buffers(&raw const own, ptr::null(), 1) };
        entry.peer.msg_size = bytes;
        entry.peer.context = truncated.core_context();
        // Errors complete even with selective completion.
        entry.peer.flags |= flags::COMPLETION;
        // SAFETY: the endpoint is bound to this queue.
        unsafe { (*self.completions).truncated.push(truncated) };
    }

    /// Unexpected and claimed messages, which the core provider discards before the endpoint closes.
    pub(crate) fn remaining_messages(&mut self) -> Vec<*mut Entry> {
        self.entries_in_state(State::Unexpected).chain(self.entries_in_state(State::Claimed)).collect()
    }

    pub(crate) fn describe_queues(&self, text: &mut String) {
        dump::append_queues(text, &self.matching, |id| {
            // SAFETY: queued entries are live.
            let entry = unsafe { &*(id as *const Entry) };
            let (criteria, bytes) = match entry.state {
                State::Posted => (ByAddress.criteria(id), entry.capacity()),
                _ => {
                    (Criteria { addr: entry.peer.addr, tag: entry.peer.tag, ignore: 0 }, entry.peer.msg_size)
                }
            };
            EntryDescription { criteria, bytes }
        });
    }

    /// O(entries in the pool).
    fn entries_in_state(&self, state: State) -> impl Iterator<Item = *mut Entry> + '_ {
        // SAFETY: entries live as long as the pool.
        self.pool.objects().filter(move |&entry| unsafe { (*entry).state } == state)
    }
}

fn cancelled_completion(receive: &Entry) -> Completion {
    let kind = receive.peer.flags & (flags::TAGGED | flags::MSG | flags::RECV | flags::MULTI_RECV);
    let mut done = Completion::new(receive.peer.context, kind);
    (done.entry.tag, done.error) = (receive.peer.tag, errno::ECANCELED);
    done
}
