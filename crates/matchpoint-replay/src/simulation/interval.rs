//! Arrivals within recorded intervals.
//!
//! A message arrived between the entry of its send and the end of the call that completed its receive or
//! probe. With one clock, these times are more reliable than a network model: a message still in flight at
//! that end arrives then. Earlier messages of its sender in the communicator arrive with it, because messages
//! are non-overtaking (MPI-4.1 §3.5).

use super::Simulation;
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{Blocked, LaneState, Reason};
use crate::schedule::NEVER;
use crate::step::Sink;

impl<S: Sink> Simulation<'_, S> {
    /// Earliest recorded end of the blocking calls of a process.
    pub(super) fn next_deadline(&self, index: usize) -> i64 {
        let lanes = self.processes[index].lanes.iter();
        let blocked = lanes.filter(|lane| matches!(lane.state, LaneState::Blocked(_)));
        blocked.map(|lane| lane.deadline_ns).min().unwrap_or(NEVER)
    }

    /// Lets the messages of calls with this recorded end arrive.
    pub(super) fn keep_deadline(&mut self, index: usize, at_ns: i64) {
        for lane in 0..self.processes[index].lanes.len() {
            let of = &mut self.processes[index].lanes[lane];
            let LaneState::Blocked(Blocked { reason, .. }) = of.state else { continue };
            if of.deadline_ns > at_ns {
                continue;
            }
            of.deadline_ns = NEVER;
            match reason {
                Reason::Messages => self.bring_awaited(index, lane as u16, at_ns),
                Reason::Probe => self.bring_probed(index, lane, at_ns),
                Reason::Collective => {}
            }
        }
    }

    fn bring_awaited(&mut self, index: usize, lane: u16, at_ns: i64) {
        let process = &self.processes[index];
        let waits = |owner: Owner| match owner {
            Owner::Lane(of) => of == lane,
            Owner::Request(id) => {
                process.requests.get(id).is_some_and(|request| request.waiter == Some(lane))
            }
            Owner::Nobody => false,
        };
        let awaited = process.receives.iter().filter(|(_, receive)| waits(receive.owner) && !receive.absent);
        let mut awaited: Vec<(u64, u32)> = awaited.map(|(place, receive)| (receive.number, place)).collect();
        awaited.sort_unstable();
        for (number, place) in awaited {
            let asked = |simulation: &Self| {
                let receive = simulation.processes[index].receives.get(place);
                receive.filter(|receive| receive.number == number).map(|receive| receive.asked)
            };
            // An older receive may take the message.
            while let Some(asked) = asked(self) {
                if !self.bring(index, asked, at_ns) {
                    self.tally.arrivals_outside += 1;
                    break;
                }
            }
        }
    }

    fn bring_probed(&mut self, index: usize, lane: usize, at_ns: i64) {
        let waits = |simulation: &Self| {
            let lane = &simulation.processes[index].lanes[lane];
            let is_blocked = matches!(lane.state, LaneState::Blocked(Blocked { reason: Reason::Probe, .. }));
            lane.probe.filter(|_| is_blocked).map(|probe| probe.asked)
        };
        while let Some(asked) = waits(self) {
            if !self.bring(index, asked, at_ns) {
                self.tally.arrivals_outside += 1;
                break;
            }
        }
    }

    /// Lets the next accepted message in flight arrive, after the earlier ones of its sender. Returns false
    /// without one.
    fn bring(&mut self, index: usize, asked: Label, at_ns: i64) -> bool {
        let flights = &self.flights;
        let inbox = &mut self.processes[index].inbox;
        // A process ahead in time may have sent later messages.
        let is_meant = |arrival_ns: i64, place: u32| {
            let flight = &flights[place];
            let is_sent = arrival_ns.saturating_sub(flight.newer.into()) <= at_ns;
            is_sent && !flight.withdrawn && asked.accepts(flight.label)
        };
        let Some(meant) = inbox.first(is_meant) else { return false };
        let (label, from) = (flights[meant].label, flights[meant].from);
        loop {
            let flights = &self.flights;
            let of_sender = |_, place: u32| {
                place == meant
                    || (flights[place].from == from && flights[place].label.context() == label.context())
            };
            let inbox = &mut self.processes[index].inbox;
            let Some(place) = inbox.first(of_sender) else { return true };
            inbox.take(place);
            self.tally.arrivals_moved += 1;
            self.arrive(index, at_ns, place);
            if place == meant {
                return true;
            }
        }
    }
}
