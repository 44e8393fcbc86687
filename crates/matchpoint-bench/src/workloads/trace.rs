//! `trace:PATH`: what a real program did, at each of its ranks.

use std::collections::HashMap;

use matchpoint::{Event, MsgId, Outcome, RecvId};

use crate::script::{Call, NONE, Part, Phase, Script};

/// The events of each rank become a part. Calls that neither a trace nor a workload has (hints, closing, batches) are
/// left out.
pub fn script(ranks: &[Vec<(Event, Outcome)>]) -> Script {
    let mut script = Script { parts: Vec::new(), is_job: true, answers: Vec::new(), matched: 0 };
    for events in ranks {
        let mut numbers = Numbers::default();
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        for (event, outcome) in events {
            if let Some((call, answer)) = numbers.call(event, outcome) {
                script.matched += usize::from(answer != NONE && is_match(&call));
                calls.push(call);
                answers.push(answer);
            }
        }
        let (receives_left, messages_left) = numbers.left();
        let round = vec![Phase::Calls(calls)];
        script.parts.push(Part { standing: Vec::new(), round, receives_left, messages_left });
        script.answers.push(answers);
    }
    script
}

fn is_match(call: &Call) -> bool {
    matches!(call, Call::Post(..) | Call::Arrive(..) | Call::MatchedProbe(_))
}

/// Receives and messages are numbered as they come: ids of a trace may be those of others before.
#[derive(Default)]
struct Numbers {
    receives: HashMap<RecvId, u32>,
    messages: HashMap<MsgId, u32>,
    posted: u32,
    arrived: u32,
}

impl Numbers {
    fn call(&mut self, event: &Event, outcome: &Outcome) -> Option<(Call, u32)> {
        Some(match (event, outcome) {
            (Event::Post(receive), Outcome::Posted(Ok(took))) => {
                self.posted += 1;
                if took.is_none() {
                    self.receives.insert(receive.id, self.posted - 1);
                }
                (Call::Post(self.posted - 1, receive.selector), self.take_message(*took))
            }
            (Event::Arrive(message), Outcome::Arrived(Ok(took))) => {
                self.arrived += 1;
                if took.is_none() {
                    self.messages.insert(message.id, self.arrived - 1);
                }
                let answer = took.and_then(|id| self.receives.remove(&id)).unwrap_or(NONE);
                (Call::Arrive(self.arrived - 1, message.envelope), answer)
            }
            (Event::Probe(selector), Outcome::Found(found)) => {
                let answer = found.and_then(|id| self.messages.get(&id).copied()).unwrap_or(NONE);
                (Call::Probe(*selector), answer)
            }
            (Event::MatchedProbe(selector), Outcome::Found(took)) => {
                (Call::MatchedProbe(*selector), self.take_message(*took))
            }
            (Event::Cancel(id), Outcome::Done(was_posted)) => {
                // A receive that is no longer posted has no number: one that nobody has stands for it.
                let number = self.receives.remove(id).filter(|_| *was_posted).unwrap_or(NONE - 1);
                (Call::Cancel(number), if *was_posted { 0 } else { NONE })
            }
            (Event::Retract(id), Outcome::Done(was_queued)) => {
                let number = self.messages.remove(id).filter(|_| *was_queued).unwrap_or(NONE - 1);
                (Call::Retract(number), if *was_queued { 0 } else { NONE })
            }
            _ => return None,
        })
    }

    fn take_message(&mut self, id: Option<MsgId>) -> u32 {
        id.and_then(|id| self.messages.remove(&id)).unwrap_or(NONE)
    }

    fn left(self) -> (Vec<u32>, Vec<u32>) {
        let mut left: (Vec<u32>, Vec<u32>) =
            (self.receives.into_values().collect(), self.messages.into_values().collect());
        left.0.sort_unstable();
        left.1.sort_unstable();
        left
    }
}
