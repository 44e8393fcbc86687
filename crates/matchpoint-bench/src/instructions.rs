//! A workload in a form that a simulator of instructions can count: everything that is to be counted happens in one
//! function, [`counted_rounds`], and everything else outside it.

use std::error::Error;

use matchpoint::engines;
use matchpoint::{ContextId, Drained, Engine, Rank, Receive, RecvId, Selector, Tag, Wild};

use crate::player::{self, Engines};
use crate::script::Script;
use crate::workloads;

/// Messages matched in a [`counted_rounds`], or receives that end otherwise, at least: what only a first call does
/// vanishes in them.
const MESSAGES: usize = 4096;

/// An engine, warm, and what it is about to play.
pub struct Counted {
    round: Round,
    rounds: usize,
    each: usize,
}

enum Round {
    /// Messages are matched.
    Matched { engines: Engines, script: Script },
    /// So many receives end otherwise.
    Ended { engine: Box<dyn Engine>, end: End, receives: u64 },
}

/// Posts so many receives and ends them; whether the engine answered rightly.
type End = fn(&mut dyn Engine, u64) -> bool;

/// What no workload has, since nobody waits for it: receives that are cancelled, from the youngest to the oldest, and those
/// whose context is closed while as many stand in another.
const ENDS: [(&str, End); 2] = [("cancel", cancelled), ("close", closed)];

fn post(engine: &mut dyn Engine, context: u32, tag: u64) -> bool {
    let selector = Selector::new(ContextId(context), Wild::Is(Rank(0)), Wild::Is(Tag(tag)));
    engine.post(Receive::new(RecvId(u64::from(context) << 32 | tag), selector)) == Ok(None)
}

fn cancelled(engine: &mut dyn Engine, receives: u64) -> bool {
    (0..receives).all(|tag| post(engine, 1, tag))
        && (0..receives).rev().all(|tag| engine.cancel(RecvId(1 << 32 | tag)))
}

fn closed(engine: &mut dyn Engine, receives: u64) -> bool {
    let are_posted = (0..receives).all(|tag| post(engine, 1, tag));
    let mut drained = Drained::default();
    engine.close(ContextId(1), &mut drained);
    are_posted && drained.receives.len() as u64 == receives
}

impl Counted {
    /// The engine of this name after two rounds of `what`: a workload and its size, `cancel:N` or `close:N`.
    ///
    /// # Errors
    /// A name cannot be understood.
    pub fn new(engine: &str, what: &str) -> Result<Self, Box<dyn Error>> {
        let end = what.split_once(':').and_then(|(name, receives)| {
            let (_, end) = ENDS.into_iter().find(|&(end, _)| end == name)?;
            Some((end, receives))
        });
        let (mut round, each) = match end {
            Some((end, receives)) => {
                let receives: u64 = receives.parse()?;
                let mut engine = engines::create(engine)?;
                (0..receives).for_each(|tag| _ = post(&mut *engine, 0, tag));
                (Round::Ended { engine, end, receives }, receives as usize)
            }
            None => {
                let job = workloads::parse(what)?.pop().ok_or("no such workload")?;
                let script = job.script();
                let mut engines: Engines =
                    script.parts.iter().map(|_| engines::create(engine)).collect::<Result<_, _>>()?;
                player::set_up(&mut engines, &script);
                let matched = script.matched;
                (Round::Matched { engines, script }, matched)
            }
        };
        round.play(2);
        Ok(Counted { round, rounds: MESSAGES.div_ceil(each.max(1)), each })
    }

    /// Messages that [`counted_rounds`] matches, or receives that end otherwise.
    pub fn messages(&self) -> usize {
        self.rounds * self.each
    }
}

impl Round {
    /// Plays it so often; whether the engine answered rightly.
    #[inline(always)]
    fn play(&mut self, rounds: usize) -> bool {
        match self {
            Round::Matched { engines, script } => {
                let (sum, _) = player::rounds(engines, script, rounds);
                sum == player::sum(script).wrapping_mul(rounds as u64)
            }
            Round::Ended { engine, end, receives } => (0..rounds).all(|_| end(&mut **engine, *receives)),
        }
    }
}

/// Plays; whether the engine answered rightly.
#[inline(never)]
pub fn counted_rounds(counted: &mut Counted) -> bool {
    counted.round.play(counted.rounds)
}
