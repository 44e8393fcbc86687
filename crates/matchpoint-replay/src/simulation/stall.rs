//! End of calls in a stalled simulation, in which all processes wait.
//!
//! The traced program finished, so every awaited event happened or was not needed. A partial trace may not
//! contain the send; a wildcard receive may have taken another message; a send may have been buffered. The
//! simulation first ends the call that needs the fewest invented messages.

use crate::entries::Owner;
use crate::process::{BlockReason, Blocked, LaneState, Process};
use crate::recorded_arrivals::RecordedArrivals;
use crate::requests::{Request, RequestKind};
use crate::schedule::NEVER;
use crate::status_envelope::StatusEnvelope;
use crate::step::StepSink;

use super::Simulation;

/// Maximum number of messages invented for a receive, because an older receive may take an invented message.
const INVENTED_MAX: u8 = 64;

impl<S: StepSink> Simulation<'_, S> {
    /// Ends one blocked call, or skips one recorded arrival. Returns false if neither exists.
    pub(super) fn resolve_stall(&mut self) -> bool {
        if self.skip_unsent_arrival() {
            return true;
        }
        let mut blocked = self.blocked();
        blocked.sort_by_key(|&(index, lane, blocked)| (blocked.since_ns, index, lane));
        blocked.iter().any(|&(index, lane, _)| self.complete_sends(index, lane))
            || blocked.iter().any(|&(index, lane, state)| self.end_abandoned_collective(index, lane, state))
            || blocked.iter().any(|&(index, lane, state)| self.complete_receives(index, lane, state))
            || blocked.first().is_some_and(|&(index, lane, _)| self.end_blocked_call(index, lane))
    }

    fn blocked(&self) -> Vec<(usize, usize, Blocked)> {
        let mut blocked = Vec::new();
        for (index, process) in self.processes.iter().enumerate() {
            for (lane, state) in process.lanes.iter().enumerate() {
                if let LaneState::Blocked(state) = state.state {
                    blocked.push((index, lane, state));
                }
            }
        }
        blocked
    }

    fn skip_unsent_arrival(&mut self) -> bool {
        let kept = |process: &mut Process<'_>| {
            process.recorded_arrivals.as_mut().is_some_and(RecordedArrivals::skip_next)
        };
        let Some(index) = self.processes.iter_mut().position(kept) else { return false };
        self.tally.count_ended_call("arrivals without a sent message");
        self.launch_recorded(index);
        true
    }

    fn complete_sends(&mut self, index: usize, lane: usize) -> bool {
        // A stalled program ends many calls in this way, usually without a process that waits as sender.
        if self.processes[index].waited_sends == 0 {
            return false;
        }
        let rank = self.processes[index].rank;
        let waits = |owner: Owner| match owner {
            Owner::Lane(of) => usize::from(of) == lane,
            Owner::Request(id) => {
                let request = self.processes[index].requests.get(id);
                request.is_some_and(|request| request.waiter.map(usize::from) == Some(lane))
            }
            Owner::None => false,
        };
        let records = self.records.iter();
        let sends: Vec<u32> = records
            .filter(|(_, record)| record.from == rank && waits(record.sender))
            .map(|(at, _)| at)
            .collect();
        for &slot in &sends {
            let record = self.records.get_mut(slot).expect("the filter found it");
            let owner = std::mem::replace(&mut record.sender, Owner::None);
            self.processes[index].waited_sends -= 1;
            self.tally.count_ended_call("sends that wait for their receive");
            let latest_ns = self.latest_ns();
            self.end(index, owner, latest_ns, None);
        }
        !sends.is_empty()
    }

    fn end_abandoned_collective(&mut self, index: usize, lane: usize, state: Blocked) -> bool {
        if state.reason != BlockReason::Collective {
            return false;
        }
        let has_finished = self.processes.iter().any(|process| process.is_finished());
        has_finished && self.end_blocked_call(index, lane)
    }

    fn complete_receives(&mut self, index: usize, lane: usize, state: Blocked) -> bool {
        if state.reason == BlockReason::Probe {
            return self.end_blocked_call(index, lane);
        }
        let at_ns = state.since_ns.max(self.latest_ns());
        let mut slots = self.awaited_receives(index, lane);
        let waits_for_receives = !slots.is_empty();
        let receives = &mut self.processes[index].receives;
        slots.retain(|&(slot, _)| {
            let Some(receive) = receives.get_mut(slot) else { return false };
            receive.invented_count = receive.invented_count.saturating_add(1);
            receive.invented_count <= INVENTED_MAX
        });
        for &(slot, expected) in &slots {
            self.tally.count_ended_call("receives without a message");
            self.invent_message(index, slot, at_ns, expected);
        }
        let is_abandoned = waits_for_receives && slots.is_empty();
        !slots.is_empty() || (is_abandoned && self.end_unmatched_receives(index, lane))
    }

    fn end_unmatched_receives(&mut self, index: usize, lane: usize) -> bool {
        self.tally.count_ended_call("receives blocked by other receives");
        for (slot, _) in self.awaited_receives(index, lane) {
            if let Some(receive) = self.processes[index].receives.get_mut(slot) {
                receive.owner = Owner::None;
            }
        }
        self.unblock_lane(index, lane)
    }

    fn latest_ns(&self) -> i64 {
        self.processes.iter().map(|process| process.clock_ns).max().unwrap_or(0)
    }

    fn awaited_receives(&self, index: usize, lane: usize) -> Vec<(u32, Option<StatusEnvelope>)> {
        let process = &self.processes[index];
        let own = process.receives.iter().filter(|(_, receive)| receive.owner == Owner::Lane(lane as u16));
        let mut slots: Vec<_> = own.map(|(slot, receive)| (slot, receive.expected)).collect();
        for request in process.requests.values() {
            if request.waiter.map(usize::from) == Some(lane) {
                slots.extend(request.receive().map(|slot| (slot, request.expected)));
            }
        }
        slots.sort_unstable_by_key(|&(slot, _)| process.receives.get(slot).map(|receive| receive.number));
        slots
    }

    fn end_blocked_call(&mut self, index: usize, lane: usize) -> bool {
        let LaneState::Blocked(state) = self.processes[index].lanes[lane].state else { return false };
        self.tally.count_ended_call(match state.reason {
            BlockReason::Messages => "calls that wait for an unknown request",
            BlockReason::Probe => "probes without a message",
            BlockReason::Collective => "collectives that some members do not reach",
        });
        let is_let_go = self.unblock_lane(index, lane);
        self.remove_abandoned_collectives();
        is_let_go
    }

    /// Removes collectives with members that have no further calls. Other processes may continue after one
    /// has finished.
    fn remove_abandoned_collectives(&mut self) {
        let (processes, present) = (&self.processes, &self.present);
        self.pending_collectives.retain(|&(context, number), _| {
            let communicator = &self.setting.communicators.all[context as usize];
            let remote = communicator.remote.iter().flat_map(|remote| remote.iter());
            let of_rank = |&rank: &u32| Some(&processes[(*present.get(rank as usize)?)? as usize]);
            let mut members = communicator.members.iter().chain(remote).filter_map(of_rank);
            let has_come =
                |process: &Process<'_>| process.collectives.get(&context).is_some_and(|&made| made > number);
            members.any(|process| !has_come(process) && !process.is_finished())
        });
    }

    fn unblock_lane(&mut self, index: usize, lane: usize) -> bool {
        let LaneState::Blocked(state) = self.processes[index].lanes[lane].state else { return false };
        let owner = Owner::Lane(lane as u16);
        for collective in self.pending_collectives.values_mut() {
            collective.waiting.retain(|&waiting| waiting != (index as u32, owner));
        }
        let requests = &mut self.processes[index].requests;
        // Messages may still arrive for requests of other lanes.
        let waits = |request: &Request| request.waiter == Some(lane as u16);
        requests.remove_all(|request| waits(request) && matches!(request.kind, RequestKind::Collective));
        requests.values_mut().filter(|request| waits(request)).for_each(|request| request.waiter = None);
        let leave_ns = state.leave_ns.max(self.latest_ns()).min(NEVER - 1);
        let lane = &mut self.processes[index].lanes[lane];
        lane.now_ns = leave_ns;
        lane.state = LaneState::Ready;
        self.schedule(index, leave_ns);
        true
    }
}
