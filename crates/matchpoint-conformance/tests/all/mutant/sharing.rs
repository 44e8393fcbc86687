//! Engines with shared state, which keep every law while no other engine exists.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use matchpoint::{
    ContextId, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Pair, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag,
};

use super::Mutant;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// All engines have the same queues, as in a shim around an MPI library's global queues.
    Everything,
    /// Hints set in one engine hold in every engine.
    Hints,
    /// The drop of one engine empties all others.
    End,
}

impl Shares {
    pub const ALL: [Shares; 3] = [Shares::Everything, Shares::Hints, Shares::End];

    pub fn library(self) -> impl Fn() -> Box<dyn Engine> {
        let engines = Engines::default();
        move || Box::new(Sharing::new(self, engines.clone()))
    }
}

type Engines = Arc<Mutex<Vec<Weak<Mutex<Mutant>>>>>;

struct Sharing {
    shares: Shares,
    own: Arc<Mutex<Mutant>>,
    engines: Engines,
}

impl Sharing {
    fn new(shares: Shares, engines: Engines) -> Self {
        let mut existing = engines.lock().unwrap();
        existing.retain(|engine| engine.strong_count() > 0);
        let common = existing.first().and_then(Weak::upgrade).filter(|_| shares == Shares::Everything);
        let own = common.unwrap_or_else(|| Arc::new(Mutex::new(Mutant::new(None))));
        existing.push(Arc::downgrade(&own));
        drop(existing);
        Sharing { shares, own, engines }
    }

    fn lock_own(&self) -> MutexGuard<'_, Mutant> {
        self.own.lock().unwrap()
    }

    fn other_engines(&self) -> Vec<Arc<Mutex<Mutant>>> {
        let engines = self.engines.lock().unwrap();
        let existing = engines.iter().filter_map(Weak::upgrade);
        existing.filter(|engine| !Arc::ptr_eq(engine, &self.own)).collect()
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        if self.shares == Shares::End {
            self.other_engines().iter().for_each(|other| *other.lock().unwrap() = Mutant::new(None));
        }
    }
}

impl Engine for Sharing {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.lock_own().post_selector(id, selector)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.lock_own().arrive(id, pair, tag)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.lock_own().probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.lock_own().matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.lock_own().cancel(receive)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.lock_own().retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.lock_own().readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.lock_own().set_hints(context, hints)?;
        if self.shares == Shares::Hints {
            for other in self.other_engines() {
                // An engine refuses hints that a queued entry breaks.
                let _ = other.lock().unwrap().set_hints(context, hints);
            }
        }
        Ok(())
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.lock_own().close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.lock_own().fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.lock_own().visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.lock_own().posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.lock_own().unexpected_len()
    }

    fn footprint(&self) -> Footprint {
        self.lock_own().footprint()
    }
}
