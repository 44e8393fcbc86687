//! Cost of the engine contract: an engine that returns a wrong result at once. No engine behind `dyn Engine` is faster.

use std::time::Instant;

use matchpoint::{
    ContextId, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Pair, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag,
};

use crate::player;
use crate::script::{Key, Phase};
use crate::statistics::median;

#[derive(Default)]
pub(crate) struct Floor {
    last: u64,
}

impl Engine for Floor {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.last = receive.id.0;
        Ok(None)
    }

    fn arrive(&mut self, _: MsgId, _: Pair, _: Tag) -> Result<Option<RecvId>, Refused> {
        Ok(Some(RecvId(self.last)))
    }

    fn probe(&mut self, _: &Selector) -> Option<MsgId> {
        None
    }

    fn matched_probe(&mut self, _: &Selector) -> Option<MsgId> {
        None
    }

    fn cancel(&mut self, _: &Receive) -> bool {
        false
    }

    fn retract(&mut self, _: &Message) -> bool {
        false
    }

    fn readdress(&mut self, _: &Message, _: Rank) -> Result<Readdressed, Refused> {
        Ok(Readdressed::Unchanged)
    }

    fn set_hints(&mut self, _: ContextId, _: Hints) -> Result<(), Refused> {
        Ok(())
    }

    fn close(&mut self, _: ContextId, _: &mut Drained) {}

    fn fail_source(&mut self, _: ContextId, _: Rank, _: &mut Drained) {}

    fn visit(&self, _: Queue, _: &mut dyn FnMut(Entry)) {}

    fn posted_len(&self) -> usize {
        0
    }

    fn unexpected_len(&self) -> usize {
        0
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Posts and arrivals of a sample, which takes about 100 µs.
const PAIRS: usize = 25_000;

/// Nanoseconds per post and arrival, the median of `samples`.
pub fn floor_ns(samples: usize) -> f64 {
    let phase = Phase::pairs(vec![Key::new(1, 7); PAIRS], 0);
    let mut engine: Box<dyn Engine> = std::hint::black_box(Box::new(Floor::default()));
    let mut each: Vec<f64> = (0..samples)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(player::play(&mut *engine, &phase));
            started.elapsed().as_nanos() as f64 / PAIRS as f64
        })
        .collect();
    median(&mut each)
}
