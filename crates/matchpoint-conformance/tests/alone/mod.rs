//! Adapter of a concurrent engine to the trait `Engine`, for one thread. The adapter does not allocate.

mod forwarded;

use forwarded::forwarded;
use matchpoint::concurrent::Concurrent;
use matchpoint::{Engine, Message, MsgId, Pair, RecvId, Refused, Selector, Tag};

pub struct Alone(pub Box<dyn Concurrent>);

impl Engine for Alone {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.0.post_selector(id, selector)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.0.arrive(id, pair, tag)
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        self.0.arrive_batch(messages, out)
    }

    forwarded!();
}
