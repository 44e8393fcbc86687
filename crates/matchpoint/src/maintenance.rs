//! Rare calls of the contract (cancel, close, …) for every engine, as scans of entries and ages. An engine
//! with a faster algorithm implements the call itself.

use crate::engine::{Drained, Entry, Message, MsgId, Queue, Readdressed, Receive, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Wild};
use crate::hints::{HintTable, Hints};

pub(crate) trait Queues {
    /// Position of an entry, valid while other entries are added or removed.
    type Posted: Copy;
    type Unexpected: Copy;

    /// Ages and positions in any order. Ages are unique; the oldest entry has the smallest.
    fn posted_positions(&self) -> impl Iterator<Item = (u64, Self::Posted)>;
    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, Self::Unexpected)>;
    fn posted_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Self::Posted)> {
        self.posted_positions().filter(move |&(_, at)| self.receive(at).selector.context() == context)
    }
    fn unexpected_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Self::Unexpected)> {
        self.unexpected_positions().filter(move |&(_, at)| self.message(at).envelope.context == context)
    }
    fn receive(&self, at: Self::Posted) -> Receive;
    fn message(&self, at: Self::Unexpected) -> Message;
    #[inline]
    fn message_id(&self, at: Self::Unexpected) -> MsgId {
        self.message(at).id
    }
    fn take_posted(&mut self, at: Self::Posted);
    fn take_unexpected(&mut self, at: Self::Unexpected);
    #[inline]
    fn take_message(&mut self, at: Self::Unexpected) -> MsgId {
        let id = self.message_id(at);
        self.take_unexpected(at);
        id
    }
    /// Sets the envelope of a message, which keeps its age. An error changes nothing.
    fn set_envelope(&mut self, at: Self::Unexpected, with_source: Envelope) -> Result<(), Refused>;
    /// Restores the invariants of a queue after removals.
    fn compact(&mut self, _: Queue) {}
    fn hints(&mut self) -> &mut HintTable;
}

/// Implements the listed methods of an `impl Engine`. Methods outside this table require [`Queues`]; `visit`
/// includes `queued_in`.
///
/// | method | required members of the engine |
/// |---|---|
/// | `post_selector`, `probe`, `matched_probe` | `hints`; `find_unexpected`; `message_id` and `take_message` of the result |
/// | `post_selector` | `queue_receive` |
/// | `arrive` | `take_matching_receive`, `queue_message` |
/// | `posted_len`, `unexpected_len`, `attempts` | `posted`, `unexpected`, `effort` |
macro_rules! provided {
    ($($method:ident)*) => { $($crate::maintenance::provided!(@ $method);)* };
    (@ post_selector) => {
        // Inlined into `post_exact`, so that the selector stays in registers: saves 5 ns.
        #[inline(always)]
        fn post_selector(
            &mut self,
            id: $crate::RecvId,
            selector: &$crate::Selector,
        ) -> Result<Option<$crate::MsgId>, $crate::Refused> {
            let receive = $crate::Receive::new(id, *selector);
            self.hints.admit(&receive.selector)?;
            if let Some(found) = self.find_unexpected(&receive.selector) {
                return Ok(Some(self.take_message(found)));
            }
            self.queue_receive(receive)?;
            Ok(None)
        }
    };
    (@ arrive) => {
        fn arrive(
            &mut self,
            id: $crate::MsgId,
            pair: $crate::Pair,
            tag: $crate::Tag,
        ) -> Result<Option<$crate::RecvId>, $crate::Refused> {
            let message = $crate::Message::new(id, $crate::Envelope::of(pair, tag));
            if let Some(receive) = self.take_matching_receive(&message.envelope) {
                return Ok(Some(receive));
            }
            self.hints.admit_unexpected(message.envelope.context)?;
            self.queue_message(message)?;
            Ok(None)
        }
    };
    (@ probe) => {
        fn probe(&mut self, selector: &$crate::Selector) -> Option<$crate::MsgId> {
            self.hints.admit(selector).ok()?;
            self.find_unexpected(selector).map(|found| self.message_id(found))
        }
    };
    (@ matched_probe) => {
        fn matched_probe(&mut self, selector: &$crate::Selector) -> Option<$crate::MsgId> {
            self.hints.admit(selector).ok()?;
            let found = self.find_unexpected(selector)?;
            Some(self.take_message(found))
        }
    };
    (@ posted_len) => {
        fn posted_len(&self) -> usize {
            self.posted.len()
        }
    };
    (@ unexpected_len) => {
        fn unexpected_len(&self) -> usize {
            self.unexpected.len()
        }
    };
    (@ attempts) => {
        fn attempts(&self) -> $crate::Attempts {
            self.effort.attempts()
        }
    };
    (@ visit) => {
        $crate::forwarded!(functions [$crate::maintenance]: visit queued_in);
    };
    (@ $method:ident) => {
        $crate::forwarded!(functions [$crate::maintenance]: $method);
    };
}
pub(crate) use provided;

/// Entries in the order of age. Without memory for a list, each entry needs a search, O(entries²) in total.
pub(crate) enum EntriesByAge<P> {
    Sorted(std::vec::IntoIter<(u64, P)>),
    Searched { after: Option<u64> },
}

impl<P: Copy> EntriesByAge<P> {
    pub(crate) fn of(mut entries: impl Iterator<Item = (u64, P)>) -> Self {
        let mut listed = Vec::new();
        let are_listed = entries.try_for_each(|entry| {
            listed.try_reserve(1)?;
            listed.push(entry);
            Ok::<_, std::collections::TryReserveError>(())
        });
        if are_listed.is_err() {
            return EntriesByAge::Searched { after: None };
        }
        listed.sort_unstable_by_key(|&(age, _)| age);
        EntriesByAge::Sorted(listed.into_iter())
    }

    /// `entries` are those passed to [`of`](Self::of), with or without returned entries.
    pub(crate) fn next(&mut self, entries: impl Iterator<Item = (u64, P)>) -> Option<P> {
        match self {
            EntriesByAge::Sorted(listed) => listed.next().map(|(_, at)| at),
            EntriesByAge::Searched { after } => {
                let younger = entries.filter(|&(age, _)| after.is_none_or(|after| age > after));
                let (age, at) = younger.min_by_key(|&(age, _)| age)?;
                *after = Some(age);
                Some(at)
            }
        }
    }
}

/// O(receives posted).
pub(crate) fn cancel<Q: Queues>(queues: &mut Q, receive: &Receive) -> bool {
    let Some((_, at)) = queues.posted_positions().find(|&(_, at)| queues.receive(at).id == receive.id) else {
        return false;
    };
    queues.take_posted(at);
    queues.compact(Queue::Posted);
    true
}

/// O(messages queued).
pub(crate) fn retract<Q: Queues>(queues: &mut Q, message: &Message) -> bool {
    let Some((_, at)) = queues.unexpected_positions().find(|&(_, at)| queues.message(at).id == message.id)
    else {
        return false;
    };
    queues.take_unexpected(at);
    queues.compact(Queue::Unexpected);
    true
}

/// O(entries queued), and the cost of `set_envelope`.
pub(crate) fn readdress<Q: Queues>(
    queues: &mut Q,
    message: &Message,
    source: Rank,
) -> Result<Readdressed, Refused> {
    if message.envelope.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
        return Ok(Readdressed::Unchanged);
    }
    let found =
        queues.unexpected_positions().map(|(_, at)| at).find(|&at| queues.message(at).id == message.id);
    let Some(at) = found else { return Ok(Readdressed::Unchanged) };
    let old = queues.message(at).envelope;
    if old.source != Rank::UNKNOWN {
        return Ok(Readdressed::Unchanged);
    }
    let with_source = Envelope { source, ..old };
    let accepts = |&(_, at): &(_, Q::Posted)| queues.receive(at).selector.matches(&with_source);
    let Some((_, oldest)) = queues.posted_positions().filter(accepts).min_by_key(|&(age, _)| age) else {
        return queues.set_envelope(at, with_source).map(|()| Readdressed::SourceSet);
    };
    let id = queues.receive(oldest).id;
    queues.take_posted(oldest);
    queues.take_unexpected(at);
    queues.compact(Queue::Posted);
    queues.compact(Queue::Unexpected);
    Ok(Readdressed::Matched(id))
}

/// O(entries queued).
pub(crate) fn set_hints<Q: Queues>(queues: &mut Q, context: ContextId, hints: Hints) -> Result<(), Refused> {
    queues.posted_in(context).try_for_each(|(_, at)| hints.admit(&queues.receive(at).selector))?;
    if hints.no_unexpected && queues.unexpected_in(context).next().is_some() {
        return Err(Refused::Hint);
    }
    queues.hints().set(context, hints)
}

/// O(entries queued), and a sort.
pub(crate) fn close<Q: Queues>(queues: &mut Q, context: ContextId, drained: &mut Drained) {
    let mut oldest = EntriesByAge::of(queues.posted_in(context));
    while let Some(at) = oldest.next(queues.posted_in(context)) {
        drained.receives.push(queues.receive(at).id);
        queues.take_posted(at);
    }
    let mut oldest = EntriesByAge::of(queues.unexpected_in(context));
    while let Some(at) = oldest.next(queues.unexpected_in(context)) {
        drained.messages.push(queues.message(at).id);
        queues.take_unexpected(at);
    }
    queues.compact(Queue::Posted);
    queues.compact(Queue::Unexpected);
    queues.hints().forget(context);
}

/// O(entries queued), and a sort of the context's entries.
pub(crate) fn fail_source<Q: Queues>(
    queues: &mut Q,
    context: ContextId,
    source: Rank,
    drained: &mut Drained,
) {
    let mut oldest = EntriesByAge::of(queues.posted_in(context));
    while let Some(at) = oldest.next(queues.posted_in(context)) {
        let receive = queues.receive(at);
        match receive.selector.source() {
            Wild::Is(with_source) if with_source == source => {
                drained.receives.push(receive.id);
                queues.take_posted(at);
            }
            Wild::Any => drained.pending.push(receive.id),
            _ => {}
        }
    }
    queues.compact(Queue::Posted);
}

/// O(entries queued), without sorting.
pub(crate) fn queued_in<Q: Queues>(queues: &Q, context: ContextId) -> (usize, usize) {
    (queues.posted_in(context).count(), queues.unexpected_in(context).count())
}

pub(crate) fn visit<Q: Queues>(queues: &Q, queue: Queue, each: &mut dyn FnMut(Entry)) {
    match queue {
        Queue::Posted => {
            let mut oldest = EntriesByAge::of(queues.posted_positions());
            while let Some(at) = oldest.next(queues.posted_positions()) {
                each(Entry::Receive(queues.receive(at)));
            }
        }
        Queue::Unexpected => {
            let mut oldest = EntriesByAge::of(queues.unexpected_positions());
            while let Some(at) = oldest.next(queues.unexpected_positions()) {
                each(Entry::Message(queues.message(at)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_ordered_without_memory() {
        let entries = || [(5, 'c'), (0, 'a'), (9, 'd'), (3, 'b')].into_iter();
        for mut oldest in [EntriesByAge::of(entries()), EntriesByAge::Searched { after: None }] {
            let all: String = std::iter::from_fn(|| oldest.next(entries())).collect();
            assert_eq!(all, "abcd");
        }
    }
}
