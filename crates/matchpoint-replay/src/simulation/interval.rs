//! Arrivals within recorded intervals.
//!
//! A message arrived between the entry of its send and the end of the call that completed its receive or
//! probe. With one clock, these times are more reliable than a network model: a message still in flight at
//! that end arrives then. Earlier messages from the same sender in the communicator arrive at the same time,
//! because messages are non-overtaking (MPI-4.1 §3.5).

use super::Simulation;
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{BlockReason, Blocked, LaneState};
use crate::schedule::NEVER;
use crate::step::StepSink;

impl<S: StepSink> Simulation<'_, S> {
    pub(super) fn next_deadline(&self, index: usize) -> i64 {
        let lanes = self.processes[index].lanes.iter();
        let blocked = lanes.filter(|lane| matches!(lane.state, LaneState::Blocked(_)));
        blocked.map(|lane| lane.deadline_ns).min().unwrap_or(NEVER)
    }

    pub(super) fn apply_deadline(&mut self, index: usize, at_ns: i64) {
        for lane in 0..self.processes[index].lanes.len() {
            let of = &mut self.processes[index].lanes[lane];
            let LaneState::Blocked(Blocked { reason, .. }) = of.state else { continue };
            if of.deadline_ns > at_ns {
                continue;
            }
            of.deadline_ns = NEVER;
            match reason {
                BlockReason::Messages => self.deliver_awaited(index, lane as u16, at_ns),
                BlockReason::Probe => self.deliver_probed(index, lane, at_ns),
                BlockReason::Collective => {}
            }
        }
    }

    fn deliver_awaited(&mut self, index: usize, lane: u16, at_ns: i64) {
        let process = &self.processes[index];
        let waits = |owner: Owner| match owner {
            Owner::Lane(of) => of == lane,
            Owner::Request(id) => {
                process.requests.get(id).is_some_and(|request| request.waiter == Some(lane))
            }
            Owner::None => false,
        };
        let awaited =
            process.receives.iter().filter(|(_, receive)| waits(receive.owner) && !receive.is_sender_missing);
        let mut awaited: Vec<(u64, u32)> = awaited.map(|(slot, receive)| (receive.number, slot)).collect();
        awaited.sort_unstable();
        for (number, slot) in awaited {
            let selector = |simulation: &Self| {
                let receive = simulation.processes[index].receives.get(slot);
                receive.filter(|receive| receive.number == number).map(|receive| receive.selector)
            };
            // An older receive may take the message.
            while let Some(selector) = selector(self) {
                if !self.deliver_early(index, selector, at_ns) {
                    self.tally.arrivals_outside += 1;
                    break;
                }
            }
        }
    }

    fn deliver_probed(&mut self, index: usize, lane: usize, at_ns: i64) {
        let waits = |simulation: &Self| {
            let lane = &simulation.processes[index].lanes[lane];
            let is_blocked =
                matches!(lane.state, LaneState::Blocked(Blocked { reason: BlockReason::Probe, .. }));
            lane.probe.filter(|_| is_blocked).map(|probe| probe.selector)
        };
        while let Some(selector) = waits(self) {
            if !self.deliver_early(index, selector, at_ns) {
                self.tally.arrivals_outside += 1;
                break;
            }
        }
    }

    /// Delivers a message early, after the earlier messages of its sender. Returns false if no message is in
    /// flight.
    fn deliver_early(&mut self, index: usize, selector: Label, at_ns: i64) -> bool {
        let records = &self.records;
        let inbox = &mut self.processes[index].inbox;
        // A process that is ahead in simulated time may have sent later messages.
        let is_wanted = |arrival_ns: i64, slot: u32| {
            let record = &records[slot];
            let is_sent = arrival_ns.saturating_sub(record.newer.into()) <= at_ns;
            is_sent && !record.is_cancelled && selector.accepts(record.label)
        };
        let Some(wanted) = inbox.first(is_wanted) else { return false };
        let (label, from) = (records[wanted].label, records[wanted].from);
        loop {
            let records = &self.records;
            let of_sender = |_, slot: u32| {
                slot == wanted
                    || (records[slot].from == from && records[slot].label.context() == label.context())
            };
            let inbox = &mut self.processes[index].inbox;
            let Some(slot) = inbox.first(of_sender) else { return true };
            inbox.take(slot);
            self.tally.arrivals_moved += 1;
            self.arrive(index, at_ns, slot);
            if slot == wanted {
                return true;
            }
        }
    }
}
