//! Completion of operations, and of the calls that wait for them.

use matchpoint_trace::call::RequestId;

use super::Simulation;
use super::message::Got;
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{Blocked, LaneState, Probe, Process, ReadCall, Reason};
use crate::requests::{Request, RequestKind, RequestState, RequestTable, Sent};
use crate::status_envelope::StatusEnvelope;
use crate::step::{Point, Sink};
use crate::tally::Tally;

impl<S: Sink> Simulation<'_, S> {
    /// Completes an operation. `got` is the matched message.
    pub(super) fn end(&mut self, index: usize, owner: Owner, at_ns: i64, got: Got) {
        match owner {
            Owner::Nobody => {}
            Owner::Lane(lane) => self.unblock(index, lane, at_ns),
            Owner::Request(id) => self.end_request(index, id, at_ns, got),
        }
    }

    fn end_request(&mut self, index: usize, id: RequestId, at_ns: i64, got: Got) {
        let requests = &mut self.processes[index].requests;
        let Some(place) = requests.place(id) else { return };
        let request = requests.at(place);
        request.got = got.map(StatusEnvelope::from_envelope).or(request.got);
        match request.state() {
            RequestState::Pending(ends) if ends > 1 => request.set_state(RequestState::Pending(ends - 1)),
            RequestState::Pending(_) => {
                request.set_state(RequestState::Done(at_ns));
                if let Some(lane) = request.waiter.take() {
                    retire(requests, &mut self.tally, id, place);
                    self.unblock(index, lane, at_ns);
                }
            }
            RequestState::Inactive | RequestState::Done(_) => {}
        }
    }

    /// One awaited event happened.
    pub(super) fn unblock(&mut self, index: usize, lane: u16, at_ns: i64) {
        let lane = &mut self.processes[index].lanes[usize::from(lane)];
        let LaneState::Blocked(blocked) = &mut lane.state else { return };
        blocked.leave_ns = blocked.leave_ns.max(at_ns);
        blocked.remaining = blocked.remaining.saturating_sub(1);
        if blocked.remaining == 0 {
            lane.now_ns = blocked.leave_ns;
            lane.state = LaneState::Ready;
            let now_ns = lane.now_ns;
            self.schedule(index, now_ns);
        }
    }

    /// Waits for the requests that the traced call completed.
    pub(super) fn await_requests(
        &mut self,
        index: usize,
        lane: usize,
        (now_ns, waited_ns): (i64, i64),
        read: &ReadCall,
    ) -> Blocked {
        let mut blocked =
            Blocked { reason: Reason::Messages, remaining: 0, leave_ns: now_ns, since_ns: now_ns };
        let mut completes_receive = false;
        for completed in read.completed() {
            let Some(&id) = read.call.requests.get(completed.index as usize) else { continue };
            if completed.cancelled {
                self.withdraw_request(index, id, now_ns);
            }
            let requests = &mut self.processes[index].requests;
            let Some(place) = requests.place(id) else { continue };
            let request = requests.at(place);
            request.expected = completed.reported;
            completes_receive |= request.is_receive();
            match request.state() {
                RequestState::Inactive => {}
                RequestState::Done(at_ns) => {
                    blocked.leave_ns = blocked.leave_ns.max(at_ns);
                    retire(requests, &mut self.tally, id, place);
                }
                RequestState::Pending(_) if request.waiter.is_some() => {}
                RequestState::Pending(_) => {
                    request.waiter = Some(lane as u16);
                    blocked.remaining += 1;
                    if self.some_absent {
                        self.make_up_if_absent(index, id, now_ns + waited_ns);
                    }
                }
            }
        }
        self.processes[index].completes_receive = completes_receive;
        blocked
    }

    /// Completes a send that the traced run cancelled.
    fn withdraw_request(&mut self, index: usize, id: RequestId, now_ns: i64) {
        let Some(request) = self.processes[index].requests.get_mut(id) else { return };
        if let RequestKind::Send(sent) = request.what {
            request.set_state(RequestState::Done(now_ns));
            self.withdraw(now_ns, sent);
        }
    }

    /// Invents the message of a pending request if its sender has no stream. It arrives at the recorded end
    /// of the call.
    fn make_up_if_absent(&mut self, index: usize, id: RequestId, at_ns: i64) {
        let process = &self.processes[index];
        let Some(request) = process.requests.get(id) else { return };
        let Some(place) = request.receive() else { return };
        let is_absent = process.receives.get(place).is_some_and(|posted| posted.absent);
        let expected = request.expected;
        if is_absent || expected.is_some_and(|status| self.is_from_absent(index, place, status)) {
            self.make_up(index, place, at_ns, expected);
        }
    }

    pub(super) fn begin_request(&mut self, index: usize, id: RequestId, request: Request) {
        if id == RequestId::NULL {
            return;
        }
        if self.processes[index].requests.is_crowded() {
            self.give_up_requests(index);
        }
        self.processes[index].requests.insert(id, request);
    }

    /// A request with an unmatched message remains, because the traced run may cancel the send. A message in
    /// the backlog has no record, so its request is removed.
    #[cold]
    fn give_up_requests(&mut self, index: usize) {
        let Process { requests, clock_ns, .. } = &mut self.processes[index];
        let is_under_way =
            |sent: &Sent| self.flights.get(sent.place).is_some_and(|flight| flight.number == sent.number);
        requests.give_up(|request| {
            let may_be_cancelled = matches!(&request.what, RequestKind::Send(sent) if is_under_way(sent));
            request.is_spent(*clock_ns) && !may_be_cancelled
        });
    }

    /// Removes the old request of a reused id. A thread may still wait for it: the library freed the id
    /// before the call returned. Its operation then belongs to that thread, otherwise to none.
    pub(super) fn replace(&mut self, index: usize, id: RequestId) {
        if let Some(old) = self.processes[index].requests.remove(id) {
            self.inherit(index, id, &old);
        }
    }

    fn inherit(&mut self, index: usize, id: RequestId, old: &Request) {
        let heir = old.waiter.map_or(Owner::Nobody, Owner::Lane);
        if let Some(place) = old.receive() {
            if let Some(receive) = self.processes[index].receives.get_mut(place) {
                receive.owner = heir;
                receive.expected = old.expected;
            }
        } else if matches!(old.state(), RequestState::Pending(_)) && self.processes[index].waited_sends > 0 {
            let rank = self.processes[index].rank;
            let flights = self.flights.iter_mut().filter(|flight| flight.from == rank);
            for flight in flights.filter(|flight| flight.sender == Owner::Request(id)) {
                flight.sender = heir;
                self.processes[index].waited_sends -= u32::from(heir == Owner::Nobody);
            }
        }
    }

    /// The operation of a freed request continues.
    pub(super) fn disown(&mut self, index: usize, request: &Request) {
        if let Some(receive) =
            request.receive().and_then(|place| self.processes[index].receives.get_mut(place))
        {
            receive.owner = Owner::Nobody;
        }
    }

    /// Completes blocked probes of a new unexpected message.
    pub(super) fn wake_probes(&mut self, index: usize, at_ns: i64, message: Label) {
        for lane in 0..self.processes[index].lanes.len() {
            let waiting = &self.processes[index].lanes[lane];
            let LaneState::Blocked(Blocked { reason: Reason::Probe, .. }) = waiting.state else { continue };
            let Some(Probe { asked, handle, expected }) = waiting.probe else { continue };
            if asked.accepts(message) {
                let found = self.probe(index, at_ns, asked, handle);
                if found.is_some() {
                    self.tally.reproduced(asked, expected, found);
                    self.unblock(index, lane as u16, at_ns + self.setting.loggp.overhead);
                }
            }
        }
    }

    /// Returns source and tag of a match.
    pub(super) fn probe(
        &mut self,
        index: usize,
        at_ns: i64,
        asked: Label,
        handle: Option<matchpoint_trace::call::HandleId>,
    ) -> Got {
        let process = &mut self.processes[index];
        let found = match handle {
            None => process.matcher.probe(asked, &mut self.flights),
            Some(_) => process.matcher.matched_probe(asked, &mut self.flights),
        };
        if let (Some(handle), Some(place)) = (handle, found) {
            process.handles.insert(handle, place);
        }
        let (point, message) = (Point { at_ns, process: index }, found.map(|place| self.flights[place].id()));
        self.sink.step(match handle {
            None => point.probe(asked, message),
            Some(_) => point.matched_probe(asked, message),
        });
        Some(self.flights[found?].label.reported())
    }
}

/// Removes a completed request, or makes a persistent one inactive.
#[inline]
fn retire(requests: &mut RequestTable, tally: &mut Tally, id: RequestId, place: u32) {
    let request = requests.at(place);
    if let (Some(got), Some(expected)) = (request.got.take(), request.expected.take()) {
        tally.reproduced_as(expected, got);
    }
    match request.what {
        RequestKind::PersistentSend(_)
        | RequestKind::PersistentReceive(..)
        | RequestKind::PersistentCollective(_) => {
            request.set_state(RequestState::Inactive);
        }
        _ => requests.remove_at(id, place),
    }
}
