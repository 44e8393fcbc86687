//! `trace:PATH`: the calls of a traced program at each rank.

use std::collections::HashMap;

use matchpoint::{Envelope, Event, MsgId, Outcome, RecvId, Selector};

use crate::script::{EngineCall, NONE, Part, Phase, Script};

/// Each rank becomes a part. Hints, closed contexts and batches are left out.
pub fn script(ranks: &[Vec<(Event, Outcome)>]) -> Script {
    let mut script = Script { parts: Vec::new(), is_job: true, expected: Vec::new(), matched: 0 };
    for events in ranks {
        let mut numbers = Numbers::default();
        let (mut calls, mut expected) = (Vec::new(), Vec::new());
        for (event, outcome) in events {
            if let Some((call, result)) = numbers.call(event, outcome) {
                script.matched += usize::from(result != NONE && is_match(&call));
                calls.push(call);
                expected.push(result);
            }
        }
        script.parts.push(numbers.part(vec![Phase::EngineCalls(calls)]));
        script.expected.push(expected);
    }
    script
}

fn is_match(call: &EngineCall) -> bool {
    matches!(call, EngineCall::Post(..) | EngineCall::Arrive(..) | EngineCall::MatchedProbe(_))
}

#[derive(Default)]
struct Numbers {
    receives: HashMap<RecvId, (u32, Selector)>,
    messages: HashMap<MsgId, (u32, Envelope)>,
    posted: u32,
    arrived: u32,
}

impl Numbers {
    fn call(&mut self, event: &Event, outcome: &Outcome) -> Option<(EngineCall, u32)> {
        Some(match (event, outcome) {
            (Event::Post(receive), Outcome::Posted(Ok(took))) => {
                self.posted += 1;
                if took.is_none() {
                    self.receives.insert(receive.id, (self.posted - 1, receive.selector));
                }
                (EngineCall::Post(self.posted - 1, receive.selector), self.take_message(*took))
            }
            (Event::Arrive(message), Outcome::Arrived(Ok(took))) => {
                self.arrived += 1;
                if took.is_none() {
                    self.messages.insert(message.id, (self.arrived - 1, message.envelope));
                }
                let taken = took.and_then(|id| self.receives.remove(&id));
                let result = taken.map_or(NONE, |(number, _)| number);
                (EngineCall::Arrive(self.arrived - 1, message.envelope), result)
            }
            (Event::Probe(selector), Outcome::Found(found)) => {
                let result = found.and_then(|id| self.messages.get(&id)).map_or(NONE, |(number, _)| *number);
                (EngineCall::Probe(*selector), result)
            }
            (Event::MatchedProbe(selector), Outcome::Found(took)) => {
                (EngineCall::MatchedProbe(*selector), self.take_message(*took))
            }
            (Event::Cancel(receive), Outcome::Done(was_posted)) => {
                // A receive that is not posted gets an unused number.
                let posted = self.receives.remove(&receive.id).filter(|_| *was_posted);
                let number = posted.map_or(NONE - 1, |(number, _)| number);
                (EngineCall::Cancel(number, receive.selector), if *was_posted { 0 } else { NONE })
            }
            (Event::Retract(message), Outcome::Done(was_queued)) => {
                let queued = self.messages.remove(&message.id).filter(|_| *was_queued);
                let number = queued.map_or(NONE - 1, |(number, _)| number);
                (EngineCall::Retract(number, message.envelope), if *was_queued { 0 } else { NONE })
            }
            _ => return None,
        })
    }

    fn take_message(&mut self, id: Option<MsgId>) -> u32 {
        id.and_then(|id| self.messages.remove(&id)).map_or(NONE, |(number, _)| number)
    }

    fn part(self, round: Vec<Phase>) -> Part {
        let mut receives_left: Vec<_> = self.receives.into_values().collect();
        let mut messages_left: Vec<_> = self.messages.into_values().collect();
        receives_left.sort_unstable_by_key(|&(number, _)| number);
        messages_left.sort_unstable_by_key(|&(number, _)| number);
        Part { setup: Vec::new(), round, receives_left, messages_left }
    }
}
