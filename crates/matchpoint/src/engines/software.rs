//! Fallback from an engine with a table of fixed size to matching in software.
//!
//! Beyond this capacity, "the application must fall back to software tag matching" (García et al. 2024,
//! §III-B). In Matchpoint, the engine falls back.
//!
//! * If the table is full, a post moves all entries, in order, to the engine `hybrid`. After a failed
//!   allocation, the receive is refused.
//! * After both queues are empty, the engine uses its table again. So entries move at most once.
//! * Both engines get each assertion, first the idle engine. Both engines keep their memory.

use crate::effort::Attempts;
use crate::engine::{Drained, Engine, MsgId, Receive, RecvId, Refused};
use crate::engines::{self, Arguments, Built, Parameter};
use crate::envelope::{ContextId, Selector};
use crate::footprint::Footprint;
use crate::forwarded;
use crate::hints::Hints;
use crate::migration::{migrate_entries, undo_migration};

const NAME: &str = "hybrid";

pub(super) const FULL: Parameter = Parameter {
    key: "full",
    default: "refuse",
    meaning: "what happens to a receive beyond the table: refuse (the caller uses another engine), software (hybrid matches all entries until both queues are empty)",
};

pub(super) trait Tables: Engine {
    fn hints_on(&self, context: ContextId) -> Hints;

    /// Assertions and memory stay.
    fn clear(&mut self);
}

pub(super) fn build(tables: impl Tables + 'static, arguments: &Arguments<'_>, is_counting: bool) -> Built {
    if arguments.word(FULL.key, &[("refuse", false), ("software", true)])? {
        Ok(Box::new(WithFallback::new(tables, engines::build(NAME, is_counting)?)))
    } else {
        Ok(Box::new(tables))
    }
}

struct WithFallback<E> {
    tables: E,
    /// The fallback engine, created with the tables because memory may be exhausted later.
    software: Box<dyn Engine>,
    /// True: all entries are in `software`. False: in `tables`.
    has_fallen_back: bool,
    fallbacks: u64,
    moved_entries: u64,
    /// Reported attempts exclude those of migrations.
    migration_attempts: Attempts,
    peaks: Peaks,
}

#[derive(Clone, Copy, Default)]
struct Peaks {
    both: u64,
    /// Peak bytes of the tables at the last update of `both`.
    tables: u64,
    software: u64,
}

impl<E: Tables> WithFallback<E> {
    fn new(tables: E, software: Box<dyn Engine>) -> Self {
        WithFallback {
            tables,
            software,
            has_fallen_back: false,
            fallbacks: 0,
            moved_entries: 0,
            migration_attempts: Attempts::default(),
            peaks: Peaks::default(),
        }
    }

    fn engine(&self) -> &dyn Engine {
        if self.has_fallen_back { &*self.software } else { &self.tables }
    }

    fn read<A>(&self, read: impl FnOnce(&dyn Engine) -> A) -> A {
        read(self.engine())
    }

    fn engines(&mut self) -> (&mut dyn Engine, &mut dyn Engine) {
        if self.has_fallen_back {
            (&mut *self.software, &mut self.tables)
        } else {
            (&mut self.tables, &mut *self.software)
        }
    }

    #[inline]
    fn call<A>(&mut self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        if !self.has_fallen_back {
            return call(&mut self.tables);
        }
        let answer = call(&mut *self.software);
        self.leave_fallback_if_empty();
        answer
    }

    #[inline]
    fn leave_fallback_if_empty(&mut self) {
        if self.has_fallen_back && self.software.posted_len() + self.software.unexpected_len() == 0 {
            self.peaks = self.peaks();
            self.has_fallen_back = false;
        }
    }

    #[cold]
    fn fall_back(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.peaks = self.peaks();
        let before = self.software.attempts();
        let moved = migrate_entries(&mut *self.software, &self.tables);
        let after = self.software.attempts();
        self.migration_attempts.posted += after.posted - before.posted;
        self.migration_attempts.unexpected += after.unexpected - before.unexpected;
        let moved = moved?;
        let posted = self.software.post(receive);
        if posted.is_err() {
            undo_migration(&mut *self.software, &self.tables, moved);
            return posted;
        }
        self.peaks = self.peaks();
        self.tables.clear();
        self.has_fallen_back = true;
        self.fallbacks += 1;
        self.moved_entries += moved;
        posted
    }

    fn own_bytes() -> u64 {
        (size_of::<Self>() - size_of::<E>()) as u64
    }

    /// Only [`Engine::close`] and [`Engine::set_hints`] change the size of the idle engine. So a new peak of
    /// one engine coincided with the current size of the other.
    fn peaks(&self) -> Peaks {
        let (tables, software) = (self.tables.footprint(), self.software.footprint());
        let reached = |engine: Footprint, before: u64, other: Footprint| {
            let own = if engine.peak_bytes > before { engine.peak_bytes } else { engine.now_bytes() };
            own + other.now_bytes()
        };
        let both = reached(tables, self.peaks.tables, software)
            .max(reached(software, self.peaks.software, tables))
            .max(self.peaks.both);
        Peaks { both, tables: tables.peak_bytes, software: software.peak_bytes }
    }
}

impl<E: Tables> Engine for WithFallback<E> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        if self.has_fallen_back {
            return self.call(|engine| engine.post(receive));
        }
        match self.tables.post_selector(id, selector) {
            Err(Refused::Full) => self.fall_back(receive),
            outcome => outcome,
        }
    }

    forwarded!(inside: arrive arrive_batch deliver_batch probe matched_probe cancel retract readdress fail_source);
    forwarded!(inside: visit queued_in posted_len unexpected_len order demands);

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.peaks = self.peaks();
        let before = self.tables.hints_on(context);
        let (in_use, idle) = self.engines();
        idle.set_hints(context, hints)?;
        let set = in_use.set_hints(context, hints);
        if set.is_err() {
            // Cannot fail: the table has the context.
            idle.set_hints(context, before)?;
        }
        set
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.peaks = self.peaks();
        let (in_use, idle) = self.engines();
        in_use.close(context, drained);
        idle.close(context, drained);
        self.leave_fallback_if_empty();
    }

    fn substitute(&self) -> Option<&str> {
        self.has_fallen_back.then_some(NAME)
    }

    fn footprint(&self) -> Footprint {
        let (tables, software) = (self.tables.footprint(), self.software.footprint());
        Footprint {
            fixed_bytes: tables.fixed_bytes + software.fixed_bytes + Self::own_bytes(),
            peers_bytes: tables.peers_bytes + software.peers_bytes,
            entries_bytes: tables.entries_bytes + software.entries_bytes,
            peak_bytes: self.peaks().both + Self::own_bytes(),
        }
    }

    fn attempts(&self) -> Attempts {
        let (tables, software) = (self.tables.attempts(), self.software.attempts());
        Attempts {
            posted: tables.posted + software.posted - self.migration_attempts.posted,
            unexpected: tables.unexpected + software.unexpected - self.migration_attempts.unexpected,
        }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut all = self.tables.statistics();
        all.extend([("fell_back", self.fallbacks as f64), ("fell_back_moved", self.moved_entries as f64)]);
        all
    }
}
