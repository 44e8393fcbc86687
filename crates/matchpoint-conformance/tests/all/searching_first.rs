//! Each engine keeps the laws if a caller searches first and queues later, as network libraries do.

#[path = "../alone/forwarded.rs"]
mod forwarded;

use forwarded::forwarded;
use matchpoint::engines::{self, Variant};
use matchpoint::{Attempts, Engine, Hints, MsgId, Order, Pair, RecvId, Refused, Selector, Tag};
use matchpoint_conformance::{Options, check};

/// Posts by a matched probe and then by queueing, and lets messages arrive in the same way.
struct SearchingFirst(Box<dyn Engine>);

impl Engine for SearchingFirst {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        match self.0.matched_probe(selector) {
            None => {
                let place = self.0.place(selector.pair(), Tag(selector.tag_and_ignored().0));
                self.0.queue_receive(id, selector, place).map(|()| None)
            }
            found => Ok(found),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        match self.0.take_receive(pair, tag) {
            None => {
                let place = self.0.place(pair, tag);
                self.0.queue_message(id, pair, tag, place).map(|()| None)
            }
            found => Ok(found),
        }
    }

    forwarded!();

    fn order(&self) -> Order {
        self.0.order()
    }

    fn demands(&self) -> Hints {
        self.0.demands()
    }

    fn attempts(&self) -> Attempts {
        self.0.attempts()
    }
}

#[test]
fn engines_search_first_and_queue_later() {
    for Variant { name, tight } in engines::variants() {
        let options = Options { streams: 3, fixed_table: tight, ..Options::quick() };
        let make = || -> Box<dyn Engine> { Box::new(SearchingFirst(engines::create(&name).unwrap())) };
        let report = check(&make, &options).unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 450, "{name}: {report:?}");
    }
}
