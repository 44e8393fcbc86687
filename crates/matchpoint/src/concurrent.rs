//! Engines for concurrent calls of several threads, as under `MPI_THREAD_MULTIPLE` (MPI-4.1 §11.6).
//!
//! Calls are linearizable: each call takes effect at one moment between its start and its return, as the
//! [contract](crate::engine) of one thread requires.
//!
//! One rule is weaker: in a context without any-source receives, entries of different sources have no order,
//! which no match needs. [`Concurrent::visit`] and [`Drained`] list such entries by source, then by age.
//!
//! Some calls cannot return an error and abort the process if an allocation fails:
//!
//! | call | allocation |
//! |---|---|
//! | [`Concurrent::close`], [`Concurrent::fail_source`] | the lists of [`Drained`], with lengths unknown before the call holds the lock |
//! | `set_hints`, `close`, `visit`, `substitute`, `footprint` of `sharded` | a list of its locks |
//! | an arrival with unknown source, in `sharded`, if the context's sources are spread over shards | a list of its locks, and an engine |
//! | `substitute` | a string |
//!
//! The messages of a batch arrive in order. Calls of other threads may take effect between two messages.
//!
//! Engine names are `locked:engine=NAME` and `sharded:shards=16,engine=NAME`. All text after `engine=` is the
//! name of the inner engine.

mod locked;
mod sharded;

pub use self::locked::Locked;
pub use self::sharded::Sharded;
use crate::engine::{
    Deliver, Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused,
    arrive_each,
};
use crate::engines::{self, NameError};
use crate::envelope::{ContextId, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::Hints;

/// An engine for concurrent calls. The methods have the meanings of [`Engine`].
pub trait Concurrent: Send + Sync {
    /// As [`Engine::post_exact`].
    fn post_exact(&self, id: RecvId, pair: Pair, tag: Tag) -> Result<Option<MsgId>, Refused> {
        self.post_selector(id, &Selector::of(pair, tag.0, 0))
    }

    /// As [`Engine::post_selector`].
    fn post_selector(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused>;

    /// As [`Engine::arrive`].
    fn arrive(&self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// Calls [`post_selector`](Concurrent::post_selector).
    #[inline]
    fn post(&self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.post_selector(receive.id, &receive.selector)
    }

    /// Calls [`arrive`](Concurrent::arrive).
    #[inline]
    fn arrive_message(&self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.arrive(message.id, message.envelope.pair(), message.envelope.tag)
    }

    /// As [`Engine::arrive_batch`].
    fn arrive_batch(&self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        arrive_each(messages, out, |_, _| (), |message| self.arrive_message(message))
    }

    /// As [`Engine::deliver_batch`]. `deliver` must neither call this engine nor wait for a thread that calls
    /// this engine. After a panic in `deliver`, `deliver_batch` panics, and other threads can still use the
    /// engine. The inner engine determines which messages after the panic have arrived.
    fn deliver_batch(
        &self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        arrive_each(messages, out, deliver, |message| self.arrive_message(message))
    }

    /// As [`Engine::probe`]. Another thread may take the message before this call returns.
    fn probe(&self, selector: &Selector) -> Option<MsgId>;

    /// As [`Engine::matched_probe`]. Only one thread gets the message.
    fn matched_probe(&self, selector: &Selector) -> Option<MsgId>;

    /// As [`Engine::cancel`].
    fn cancel(&self, receive: &Receive) -> bool;

    /// As [`Engine::retract`].
    fn retract(&self, message: &Message) -> bool;

    /// As [`Engine::readdress`]. Another thread may take the message first. Then the call returns
    /// [`Unchanged`](Readdressed::Unchanged), possibly before that thread's call returns.
    fn readdress(&self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// As [`Engine::set_hints`].
    fn set_hints(&self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// As [`Engine::close`].
    fn close(&self, context: ContextId, drained: &mut Drained);

    /// As [`Engine::fail_source`].
    fn fail_source(&self, context: ContextId, source: Rank, drained: &mut Drained);

    /// As [`Engine::visit`], of one state of the queues. `each` must not call this engine.
    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry));

    /// Exact without concurrent calls.
    fn posted_len(&self) -> usize;

    /// Exact without concurrent calls.
    fn unexpected_len(&self) -> usize;

    /// [`Engine::substitute`] of the first inner engine with a fallback in use.
    fn substitute(&self) -> Option<String>;

    /// Memory in use, in bytes, locks included.
    fn footprint(&self) -> Footprint;
}

/// Forms of the names for [`create`].
pub const KINDS: [(&str, &str); 2] = [
    ("locked:engine=NAME", "one engine, one lock"),
    (
        "sharded:shards=16,engine=NAME",
        "1 to 1024 engines, each with a lock; selected by source where hints allow, else by context",
    ),
];

/// Creates the concurrent engine called `name`.
///
/// # Errors
/// The name has none of the forms in [`KINDS`], or the name after `engine=` is unknown.
pub fn create(name: &str) -> Result<Box<dyn Concurrent>, NameError> {
    let (bare, rest) = name.split_once(':').unwrap_or((name, ""));
    let (own, inside) = match rest.split_once("engine=") {
        Some((own, inside)) => (own.trim_end_matches(','), inside),
        None => (rest, "hybrid"),
    };
    match bare {
        "locked" if own.is_empty() => Ok(Box::new(Locked::new(engines::create(inside)?))),
        "sharded" => {
            let shards = shards(own)?;
            let made: Result<Vec<Box<dyn Engine>>, NameError> =
                (0..shards).map(|_| engines::create(inside)).collect();
            Ok(Box::new(Sharded::new(made?, inside)))
        }
        _ => {
            let kinds = KINDS.map(|(kind, _)| kind).join(", ");
            Err(NameError::new(
                format!("there is no concurrent engine `{name}`"),
                format!("use one of {kinds}"),
            ))
        }
    }
}

fn shards(own: &str) -> Result<usize, NameError> {
    let shards = match own.strip_prefix("shards=") {
        None if own.is_empty() => Some(16),
        None => None,
        Some(number) => number.parse().ok().filter(|number| (1..=1024).contains(number)),
    };
    shards.ok_or_else(|| {
        NameError::new(
            format!("engine `sharded` has no parameter `{own}`"),
            "give `shards=N` with N from 1 to 1024 (default 16)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_engine_is_inner_name() {
        for name in [
            "locked",
            "locked:engine=bins:n=3",
            "sharded:shards=3,engine=optimistic:bins=3,capacity=0",
            "sharded",
        ] {
            assert!(create(name).is_ok(), "{name}");
        }
        for name in ["list", "locked:shards=3", "sharded:shards=0", "sharded:bins=3", "locked:engine=nothing"]
        {
            assert!(create(name).is_err(), "{name}");
        }
    }
}
