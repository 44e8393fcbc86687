//! `adaptive`: a list that becomes hash bins when searches examine many entries.
//!
//! After Bayatpour, Subramoni, Chakraborty & Panda, "Adaptive and dynamic design for MPI tag matching"
//! (2016), as summarized in the partner paper (§1, §3).
//!
//! A window is `window` searches. If these examine more than `threshold` entries on average, the engine moves
//! all entries at once: from the [`list`](super::list) to [`bins`](super::bins), and with `ranks=yes` to a
//! [`rank_array`](super::rank_array). With `back=N`, entries move back to the list after a window with at
//! most N queued entries.
//!
//! Entries move in queue order without searches, because no queued receive matches a queued message. A move
//! is O(entries · log entries). After a failed allocation, the engine tries again after the next window.

mod structure;

use self::structure::Structure;
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::{Engine, MsgId, RecvId, Refused};
use crate::envelope::{Pair, Selector, Tag};
use crate::footprint::Footprint;
use crate::forwarded;

pub(super) const SPEC: Spec = Spec {
    name: "adaptive",
    summary: "a list, then bins when searches are deep, then an array of ranks if asked (Bayatpour et al. 2016)",
    parameters: &[
        Parameter {
            key: "threshold",
            default: "4",
            meaning: "entries that searches examine on the average, above which it moves on",
        },
        Parameter { key: "window", default: "256", meaning: "searches that the average is of, at least 1" },
        Parameter { key: "n", default: "256", meaning: "number of bins, 1 to 16777216" },
        Parameter {
            key: "ranks",
            default: "no",
            meaning: "whether it moves on from bins to an array of ranks: no, yes",
        },
        Parameter {
            key: "back",
            default: "0",
            meaning: "entries queued at most during a window that sends it back to the list; 0: never",
        },
    ],
    variants: &[
        "threshold=1,window=4,n=3",
        "threshold=1,window=3,n=3,ranks=yes",
        "threshold=1,window=5,n=3,ranks=yes,back=6",
    ],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let ranks = arguments.word("ranks", &[("no", false), ("yes", true)])?;
    let n: u32 = arguments.within("n", 1..=1 << 24)?;
    let window: u32 = arguments.within("window", 1..=u32::MAX)?;
    let threshold: u32 = arguments.get("threshold")?;
    let back: u32 = arguments.get("back")?;
    let policy = Policy {
        limit: u64::from(threshold) * u64::from(window),
        window,
        n,
        has_ranks: ranks,
        back: back as usize,
    };
    Ok(Box::new(Adaptive::new(policy, is_counting)))
}

#[derive(Clone, Copy)]
struct Policy {
    /// Examined entries in a window above which entries move.
    limit: u64,
    window: u32,
    n: u32,
    has_ranks: bool,
    back: usize,
}

#[derive(Default)]
struct Window {
    searches: u32,
    examined_before: u64,
    longest: usize,
}

pub struct Adaptive {
    structure: Structure,
    policy: Policy,
    window: Window,
    moves: u64,
    /// True: attempts are reported. The engine always counts attempts, because the policy needs counts.
    is_counting: bool,
    attempts: Attempts,
    peak_bytes: u64,
}

impl Adaptive {
    fn new(policy: Policy, is_counting: bool) -> Self {
        Adaptive {
            structure: Structure::list(),
            policy,
            window: Window::default(),
            moves: 0,
            is_counting,
            attempts: Attempts::default(),
            peak_bytes: 0,
        }
    }

    fn call<A>(&mut self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        call(self.structure.engine_mut())
    }

    fn read<A>(&self, read: impl FnOnce(&dyn Engine) -> A) -> A {
        read(self.structure.engine())
    }

    #[inline]
    fn count_search(&mut self) {
        if self.policy.back > 0 {
            self.window.longest = self.window.longest.max(self.posted_len() + self.unexpected_len());
        }
        self.window.searches += 1;
        // A call through the vtable took 1.5 ns more per post and arrival.
        let examined = self.structure.examined() - self.window.examined_before;
        if examined > self.policy.limit || self.window.searches >= self.policy.window {
            self.choose_structure(examined);
        }
    }

    #[cold]
    fn choose_structure(&mut self, examined: u64) {
        let is_deep = examined > self.policy.limit;
        let next = match self.structure {
            Structure::List(_) if is_deep => Some(Structure::bins(self.policy.n)),
            Structure::Bins(_) if is_deep && self.policy.has_ranks => Some(Structure::ranks()),
            Structure::Bins(_) | Structure::Ranks(_)
                if !is_deep && self.window.longest <= self.policy.back =>
            {
                (self.policy.back > 0).then(Structure::list)
            }
            _ => None,
        };
        next.into_iter().for_each(|next| self.move_to(next));
        let examined_before = self.structure.examined();
        self.window = Window { searches: 0, examined_before, longest: 0 };
    }

    fn move_to(&mut self, mut next: Structure) {
        let moved = next.copy_entries(&mut self.structure);
        let (old, new) = (self.structure.engine().footprint(), next.engine().footprint());
        self.peak_bytes = self.peak_bytes.max(old.peak_bytes).max(old.now_bytes() + new.now_bytes());
        if moved.is_ok() {
            let left = std::mem::replace(&mut self.structure, next).engine().attempts();
            self.attempts.posted += left.posted;
            self.attempts.unexpected += left.unexpected;
            self.moves += 1;
        }
    }
}

impl Engine for Adaptive {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let result = match &mut self.structure {
            Structure::List(list) => list.post_selector(id, selector),
            Structure::Bins(bins) => bins.post_selector(id, selector),
            Structure::Ranks(ranks) => ranks.post_selector(id, selector),
        };
        self.count_search();
        result
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let result = match &mut self.structure {
            Structure::List(list) => list.arrive(id, pair, tag),
            Structure::Bins(bins) => bins.arrive(id, pair, tag),
            Structure::Ranks(ranks) => ranks.arrive(id, pair, tag),
        };
        self.count_search();
        result
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.structure.engine_mut().probe(selector);
        self.count_search();
        found
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.structure.engine_mut().matched_probe(selector);
        self.count_search();
        found
    }

    forwarded!(inside: cancel retract readdress set_hints close fail_source visit queued_in posted_len unexpected_len);

    fn footprint(&self) -> Footprint {
        let inner = self.structure.engine().footprint();
        let own_bytes = size_of::<Self>() as u64 - self.structure.own_bytes();
        Footprint {
            fixed_bytes: inner.fixed_bytes + own_bytes,
            peak_bytes: inner.peak_bytes.max(self.peak_bytes) + own_bytes,
            ..inner
        }
    }

    fn attempts(&self) -> Attempts {
        if !self.is_counting {
            return Attempts::default();
        }
        let now = self.structure.engine().attempts();
        Attempts {
            posted: self.attempts.posted + now.posted,
            unexpected: self.attempts.unexpected + now.unexpected,
        }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        vec![("moves", self.moves as f64), ("structure", f64::from(self.structure.level()))]
    }
}
