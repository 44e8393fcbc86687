//! A workload in a form that a simulator of instructions can count: everything that is to be counted happens in one
//! function, [`counted_rounds`], and everything else outside it.

use matchpoint::engines::{self, NameError};

use crate::player::{self, Engines};
use crate::script::Script;
use crate::workloads::Job;

/// Messages matched in a [`counted_rounds`], at least: what only a first call does vanishes in them.
const MESSAGES: usize = 4096;

/// An engine, warm, and what it is about to play.
pub struct Counted {
    engines: Engines,
    script: Script,
    rounds: usize,
}

impl Counted {
    /// The engine of this name after two rounds of `job`.
    ///
    /// # Errors
    /// The name cannot be understood.
    pub fn new(engine: &str, job: &Job) -> Result<Self, NameError> {
        let script = job.script();
        let mut engines: Engines =
            script.parts.iter().map(|_| engines::create(engine)).collect::<Result<_, _>>()?;
        player::set_up(&mut engines, &script);
        player::rounds(&mut engines, &script, 2);
        let rounds = MESSAGES.div_ceil(script.matched.max(1));
        Ok(Counted { engines, script, rounds })
    }

    /// Messages that [`counted_rounds`] matches.
    pub fn messages(&self) -> usize {
        self.rounds * self.script.matched
    }
}

/// Plays; whether the engine answered rightly.
#[inline(never)]
pub fn counted_rounds(counted: &mut Counted) -> bool {
    let (sum, _) = player::rounds(&mut counted.engines, &counted.script, counted.rounds);
    sum == player::sum(&counted.script).wrapping_mul(counted.rounds as u64)
}
