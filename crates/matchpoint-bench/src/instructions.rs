//! Workloads for an instruction simulator. All counted work is in [`counted_rounds`].

use std::error::Error;
use std::hint::black_box;

use matchpoint::engines;
use matchpoint::{ContextId, Drained, Engine, Message, Rank, Receive, RecvId, Selector, Tag, Wild};

use crate::player::{self, Engines};
use crate::rate::{self, Scenario};
use crate::script::Script;
use crate::workloads;

/// Minimum messages or receives of [`counted_rounds`], so that the work of a first call is negligible.
const MESSAGES: usize = 4096;

/// A warm engine and its work.
pub struct Counted {
    round: Round,
    rounds: usize,
    each: usize,
}

enum Round {
    Matched { engines: Engines, script: Script },
    Ended { engine: Box<dyn Engine>, end: End, receives: u64 },
    Delivered(Sequence),
}

/// A sequence of the message-rate benchmark. Posts are not counted, and deliveries are counted.
struct Sequence {
    engine: Box<dyn Engine>,
    scenario: Scenario,
    messages: Vec<Message>,
    outcomes: Vec<Option<RecvId>>,
}

/// As in the paper.
const WINDOW: usize = 128;

impl Sequence {
    fn new(engine: &str, scenario: Scenario, messages: usize) -> Result<Self, Box<dyn Error>> {
        let engine = engines::create(engine)?;
        let messages = scenario.messages(messages);
        let outcomes = Vec::with_capacity(messages.len());
        let mut sequence = Sequence { engine, scenario, messages, outcomes };
        for _ in 0..rate::WARM {
            sequence.post()?;
            sequence.deliver();
        }
        sequence.post()?;
        Ok(sequence)
    }

    fn post(&mut self) -> Result<(), &'static str> {
        self.outcomes.clear();
        let right = self.scenario.post(&mut *self.engine, self.messages.len()) == Ok(true);
        if right { Ok(()) } else { Err("a receive did not wait as it should") }
    }

    #[inline(always)]
    fn deliver(&mut self) -> bool {
        let deliver = |_: usize, receive: RecvId| {
            black_box(receive);
        };
        let Sequence { engine, messages, outcomes, .. } = self;
        messages.chunks(WINDOW).all(|window| engine.deliver_batch(window, outcomes, &deliver).is_ok())
    }
}

type End = fn(&mut dyn Engine, u64) -> bool;

/// Work that ends receives. `cancel` cancels receives, newest first. `close` closes a context while another context has
/// equally many receives.
const ENDS: [(&str, End); 2] = [("cancel", cancelled), ("close", closed)];

fn receive(context: u32, tag: u64) -> Receive {
    let selector = Selector::new(ContextId(context), Wild::Is(Rank(0)), Wild::Is(Tag(tag)));
    Receive::new(RecvId(u64::from(context) << 32 | tag), selector)
}

fn post(engine: &mut dyn Engine, context: u32, tag: u64) -> bool {
    engine.post(receive(context, tag)) == Ok(None)
}

fn cancelled(engine: &mut dyn Engine, receives: u64) -> bool {
    (0..receives).all(|tag| post(engine, 1, tag))
        && (0..receives).rev().all(|tag| engine.cancel(&receive(1, tag)))
}

fn closed(engine: &mut dyn Engine, receives: u64) -> bool {
    let are_posted = (0..receives).all(|tag| post(engine, 1, tag));
    let mut drained = Drained::default();
    engine.close(ContextId(1), &mut drained);
    are_posted && drained.receives.len() as u64 == receives
}

impl Counted {
    /// Creates a warm engine. `what` is a workload with its size, `cancel:N`, `close:N`, or a [scenario](Scenario) of
    /// the message-rate benchmark with its messages (`no_conflict:N`).
    pub fn new(engine: &str, what: &str) -> Result<Self, Box<dyn Error>> {
        let scenario = what.split_once(':').and_then(|(name, messages)| {
            let scenario = Scenario::ALL.into_iter().find(|scenario| scenario.name() == name)?;
            Some((scenario, messages))
        });
        if let Some((scenario, messages)) = scenario {
            let each = messages.parse()?;
            let sequence = Sequence::new(engine, scenario, each)?;
            return Ok(Counted { round: Round::Delivered(sequence), rounds: 1, each });
        }
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

    /// Not counted.
    pub fn is_right(&self) -> bool {
        match &self.round {
            Round::Delivered(sequence) => rate::is_in_order(&sequence.outcomes, sequence.messages.len()),
            Round::Matched { .. } | Round::Ended { .. } => true,
        }
    }

    pub fn messages(&self) -> usize {
        self.rounds * self.each
    }
}

impl Round {
    #[inline(always)]
    fn play(&mut self, rounds: usize) -> bool {
        match self {
            Round::Matched { engines, script } => {
                let (sum, _) = player::rounds(engines, script, rounds);
                sum == player::sum(script).wrapping_mul(rounds as u64)
            }
            Round::Ended { engine, end, receives } => (0..rounds).all(|_| end(&mut **engine, *receives)),
            Round::Delivered(sequence) => sequence.deliver(),
        }
    }
}

/// Returns whether the results of the engine are right.
#[inline(never)]
pub fn counted_rounds(counted: &mut Counted) -> bool {
    counted.round.play(counted.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_delivers_each_message_once() {
        for engine in ["list", "optimistic_parallel:threads=1"] {
            for scenario in Scenario::ALL {
                let what = format!("{}:300", scenario.name());
                let mut counted =
                    Counted::new(engine, &what).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(!counted.is_right(), "{what}: nothing is delivered yet");
                assert!(counted_rounds(&mut counted) && counted.is_right(), "{engine} on {what}");
                assert_eq!(counted.messages(), 300);
                let Round::Delivered(sequence) = &mut counted.round else { panic!("{what} is a sequence") };
                assert_eq!((sequence.engine.posted_len(), sequence.engine.unexpected_len()), (0, 0));
                sequence.outcomes.swap(7, 8);
                assert!(!counted.is_right(), "{what}: they are not in order");
            }
        }
    }

    #[test]
    fn unplayable_work_is_error() {
        for (engine, what) in [
            ("list", "no_conflict:many"),
            ("no such", "no_conflict:1"),
            ("list", "no_such:1"),
            ("optimistic:capacity=8", "no_conflict:9"),
        ] {
            assert!(Counted::new(engine, what).is_err(), "{engine} {what}");
        }
    }
}
