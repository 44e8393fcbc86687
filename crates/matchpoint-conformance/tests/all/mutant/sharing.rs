//! Engines with shared state, which keep every law while no other engine exists.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use matchpoint::{ContextId, Engine, Hints, Refused, forwarded};

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
    forwarded!(through [lock_own()]: post_selector arrive probe matched_probe cancel retract readdress close);
    forwarded!(through [lock_own()]: fail_source visit posted_len unexpected_len footprint);

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
}
