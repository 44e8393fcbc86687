//! The calls of the contract that nobody waits for, the same in every engine: all of them follow from what is queued,
//! how old it is, and how to take it out. An engine that can do better does so in its own file.

use crate::engine::{Drained, Entry, Message, MsgId, Queue, Readdressed, Receive, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Wild};
use crate::hints::{HintTable, Hints};

/// What an engine tells of its queues.
pub(crate) trait Queues {
    /// Where a receive lies. Taking or renaming another entry does not move it.
    type Posted: Copy;
    /// Where a message lies. Taking or renaming another entry does not move it.
    type Unexpected: Copy;

    /// The age (smaller is older, no two are equal) and the place of every receive, in any order.
    fn posted(&self) -> impl Iterator<Item = (u64, Self::Posted)>;
    /// The age and the place of every message, in any order.
    fn unexpected(&self) -> impl Iterator<Item = (u64, Self::Unexpected)>;
    /// The same of a context.
    fn posted_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Self::Posted)> {
        self.posted().filter(move |&(_, at)| self.receive(at).selector.context() == context)
    }
    /// The same of a context.
    fn unexpected_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Self::Unexpected)> {
        self.unexpected().filter(move |&(_, at)| self.message(at).envelope.context == context)
    }
    /// The receive at a place.
    fn receive(&self, at: Self::Posted) -> Receive;
    /// The message at a place.
    fn message(&self, at: Self::Unexpected) -> Message;
    /// Its name.
    #[inline]
    fn message_id(&self, at: Self::Unexpected) -> MsgId {
        self.message(at).id
    }
    /// Takes a receive out.
    fn take_posted(&mut self, at: Self::Posted);
    /// Takes a message out.
    fn take_unexpected(&mut self, at: Self::Unexpected);
    /// The same; what it is called.
    #[inline]
    fn take_message(&mut self, at: Self::Unexpected) -> MsgId {
        let id = self.message_id(at);
        self.take_unexpected(at);
        id
    }
    /// Gives a message another source. It keeps its age. Refused, nothing has changed.
    fn rename(&mut self, at: Self::Unexpected, named: Envelope) -> Result<(), Refused>;
    /// Puts a queue in order after entries were taken out or renamed, before it is searched again.
    fn settle(&mut self, _: Queue) {}
    /// The assertions.
    fn hints(&mut self) -> &mut HintTable;
}

/// The named methods of an `impl Engine`. They are the functions of this file, and need a [`Queues`]. `visit` includes
/// `queued_in`.
///
/// | method | needs of the engine |
/// |---|---|
/// | `post_open`, `probe`, `matched_probe` | the field `hints`; `find_unexpected`, which finds the message of a selector; `message_id` and `take_message` of the found message |
/// | `post_open` | `queue_receive` |
/// | `arrive` | `take_accepting`, which takes the receive of an envelope; `queue_message` |
/// | `posted_len`, `unexpected_len`, `attempts` | the fields `posted`, `unexpected`, `effort` |
macro_rules! provided {
    ($($method:ident)*) => { $($crate::upkeep::provided!(@ $method);)* };
    (@ post_open) => {
        // Inlined into `post_exact`, so that the selector does not pass through memory: 5 ns.
        #[inline(always)]
        fn post_open(
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
            if let Some(receive) = self.take_accepting(&message.envelope) {
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
        $crate::forward::forwarded!(functions [$crate::upkeep]: visit queued_in);
    };
    (@ $method:ident) => {
        $crate::forward::forwarded!(functions [$crate::upkeep]: $method);
    };
}
pub(crate) use provided;

/// Entries by age. Without memory for a list of them, the next is sought among all, again and again: O(entries²), but
/// done.
pub(crate) enum Oldest<P> {
    Listed(std::vec::IntoIter<(u64, P)>),
    Sought { after: Option<u64> },
}

impl<P: Copy> Oldest<P> {
    /// Those of `entries`, the oldest first.
    pub(crate) fn of(mut entries: impl Iterator<Item = (u64, P)>) -> Self {
        let mut listed = Vec::new();
        let are_listed = entries.try_for_each(|entry| {
            listed.try_reserve(1)?;
            listed.push(entry);
            Ok::<_, std::collections::TryReserveError>(())
        });
        if are_listed.is_err() {
            return Oldest::Sought { after: None };
        }
        listed.sort_unstable_by_key(|&(age, _)| age);
        Oldest::Listed(listed.into_iter())
    }

    /// The next of `entries`, which are those it was made of, but for some that it gave already.
    pub(crate) fn next(&mut self, entries: impl Iterator<Item = (u64, P)>) -> Option<P> {
        match self {
            Oldest::Listed(listed) => listed.next().map(|(_, at)| at),
            Oldest::Sought { after } => {
                let younger = entries.filter(|&(age, _)| after.is_none_or(|after| age > after));
                let (age, at) = younger.min_by_key(|&(age, _)| age)?;
                *after = Some(age);
                Some(at)
            }
        }
    }
}

/// [`Engine::cancel`](crate::Engine::cancel). O(receives posted).
pub(crate) fn cancel<Q: Queues>(queues: &mut Q, receive: &Receive) -> bool {
    let Some((_, at)) = queues.posted().find(|&(_, at)| queues.receive(at).id == receive.id) else {
        return false;
    };
    queues.take_posted(at);
    queues.settle(Queue::Posted);
    true
}

/// [`Engine::retract`](crate::Engine::retract). O(messages queued).
pub(crate) fn retract<Q: Queues>(queues: &mut Q, message: &Message) -> bool {
    let Some((_, at)) = queues.unexpected().find(|&(_, at)| queues.message(at).id == message.id) else {
        return false;
    };
    queues.take_unexpected(at);
    queues.settle(Queue::Unexpected);
    true
}

/// [`Engine::readdress`](crate::Engine::readdress). O(entries queued), and what renaming costs.
pub(crate) fn readdress<Q: Queues>(
    queues: &mut Q,
    message: &Message,
    source: Rank,
) -> Result<Readdressed, Refused> {
    if message.envelope.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
        return Ok(Readdressed::NotNameless);
    }
    let found = queues.unexpected().map(|(_, at)| at).find(|&at| queues.message(at).id == message.id);
    let Some(at) = found else { return Ok(Readdressed::NotNameless) };
    let nameless = queues.message(at).envelope;
    if nameless.source != Rank::UNKNOWN {
        return Ok(Readdressed::NotNameless);
    }
    let named = Envelope { source, ..nameless };
    let accepts = |&(_, at): &(_, Q::Posted)| queues.receive(at).selector.matches(&named);
    let Some((_, earliest)) = queues.posted().filter(accepts).min_by_key(|&(age, _)| age) else {
        return queues.rename(at, named).map(|()| Readdressed::Named);
    };
    let id = queues.receive(earliest).id;
    queues.take_posted(earliest);
    queues.take_unexpected(at);
    queues.settle(Queue::Posted);
    queues.settle(Queue::Unexpected);
    Ok(Readdressed::Matched(id))
}

/// [`Engine::set_hints`](crate::Engine::set_hints). O(entries queued).
pub(crate) fn set_hints<Q: Queues>(queues: &mut Q, context: ContextId, hints: Hints) -> Result<(), Refused> {
    queues.posted_in(context).try_for_each(|(_, at)| hints.admit(&queues.receive(at).selector))?;
    if hints.no_unexpected && queues.unexpected_in(context).next().is_some() {
        return Err(Refused::Hint);
    }
    queues.hints().set(context, hints)
}

/// [`Engine::close`](crate::Engine::close). O(entries queued), and sorting those of the context.
pub(crate) fn close<Q: Queues>(queues: &mut Q, context: ContextId, drained: &mut Drained) {
    let mut oldest = Oldest::of(queues.posted_in(context));
    while let Some(at) = oldest.next(queues.posted_in(context)) {
        drained.receives.push(queues.receive(at).id);
        queues.take_posted(at);
    }
    let mut oldest = Oldest::of(queues.unexpected_in(context));
    while let Some(at) = oldest.next(queues.unexpected_in(context)) {
        drained.messages.push(queues.message(at).id);
        queues.take_unexpected(at);
    }
    queues.settle(Queue::Posted);
    queues.settle(Queue::Unexpected);
    queues.hints().forget(context);
}

/// [`Engine::fail_source`](crate::Engine::fail_source). O(entries queued), and sorting those of the context.
pub(crate) fn fail_source<Q: Queues>(
    queues: &mut Q,
    context: ContextId,
    source: Rank,
    drained: &mut Drained,
) {
    let mut oldest = Oldest::of(queues.posted_in(context));
    while let Some(at) = oldest.next(queues.posted_in(context)) {
        let receive = queues.receive(at);
        match receive.selector.source() {
            Wild::Is(named) if named == source => {
                drained.receives.push(receive.id);
                queues.take_posted(at);
            }
            Wild::Any => drained.pending.push(receive.id),
            _ => {}
        }
    }
    queues.settle(Queue::Posted);
}

/// [`Engine::queued_in`](crate::Engine::queued_in). O(entries queued); unlike a visit it sorts nothing.
pub(crate) fn queued_in<Q: Queues>(queues: &Q, context: ContextId) -> (usize, usize) {
    (queues.posted_in(context).count(), queues.unexpected_in(context).count())
}

/// [`Engine::visit`](crate::Engine::visit). Sorts the queue.
pub(crate) fn visit<Q: Queues>(queues: &Q, queue: Queue, each: &mut dyn FnMut(Entry)) {
    match queue {
        Queue::Posted => {
            let mut oldest = Oldest::of(queues.posted());
            while let Some(at) = oldest.next(queues.posted()) {
                each(Entry::Receive(queues.receive(at)));
            }
        }
        Queue::Unexpected => {
            let mut oldest = Oldest::of(queues.unexpected());
            while let Some(at) = oldest.next(queues.unexpected()) {
                each(Entry::Message(queues.message(at)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_are_found_with_and_without_list() {
        let entries = || [(5, 'c'), (0, 'a'), (9, 'd'), (3, 'b')].into_iter();
        for mut oldest in [Oldest::of(entries()), Oldest::Sought { after: None }] {
            let all: String = std::iter::from_fn(|| oldest.next(entries())).collect();
            assert_eq!(all, "abcd");
        }
    }
}
