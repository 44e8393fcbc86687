//! Completion of operations, and of the calls that wait for them.

use matchpoint_trace::call::RequestId;

use super::Simulation;
use super::message::MatchedEnvelope;
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{BlockReason, Blocked, LaneState, Probe, Process, ReadCall};
use crate::requests::{Request, RequestKind, RequestState, RequestTable, SentMessage};
use crate::status_envelope::StatusEnvelope;
use crate::step::{Point, StepSink};
use crate::tally::Tally;

impl<S: StepSink> Simulation<'_, S> {
    pub(super) fn end(&mut self, index: usize, owner: Owner, at_ns: i64, matched: MatchedEnvelope) {
        match owner {
            Owner::None => {}
            Owner::Lane(lane) => self.unblock(index, lane, at_ns),
            Owner::Request(id) => self.end_request(index, id, at_ns, matched),
        }
    }

    fn end_request(&mut self, index: usize, id: RequestId, at_ns: i64, matched: MatchedEnvelope) {
        let requests = &mut self.processes[index].requests;
        let Some(slot) = requests.slot(id) else { return };
        let request = requests.at(slot);
        request.matched = matched.map(StatusEnvelope::from_envelope).or(request.matched);
        match request.state() {
            RequestState::Pending(ends) if ends > 1 => request.set_state(RequestState::Pending(ends - 1)),
            RequestState::Pending(_) => {
                request.set_state(RequestState::Complete(at_ns));
                if let Some(lane) = request.waiter.take() {
                    finish_request(requests, &mut self.tally, id, slot);
                    self.unblock(index, lane, at_ns);
                }
            }
            RequestState::Inactive | RequestState::Complete(_) => {}
        }
    }

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

    pub(super) fn await_requests(
        &mut self,
        index: usize,
        lane: usize,
        (now_ns, waited_ns): (i64, i64),
        read: &ReadCall,
    ) -> Blocked {
        let mut blocked =
            Blocked { reason: BlockReason::Messages, remaining: 0, leave_ns: now_ns, since_ns: now_ns };
        let mut completes_receive = false;
        for completed in read.completed() {
            let Some(&id) = read.call.requests.get(completed.index as usize) else { continue };
            if completed.cancelled {
                self.cancel_send_request(index, id, now_ns);
            }
            let requests = &mut self.processes[index].requests;
            let Some(slot) = requests.slot(id) else { continue };
            let request = requests.at(slot);
            request.expected = completed.reported;
            completes_receive |= request.is_receive();
            match request.state() {
                RequestState::Inactive => {}
                RequestState::Complete(at_ns) => {
                    blocked.leave_ns = blocked.leave_ns.max(at_ns);
                    finish_request(requests, &mut self.tally, id, slot);
                }
                RequestState::Pending(_) if request.waiter.is_some() => {}
                RequestState::Pending(_) => {
                    request.waiter = Some(lane as u16);
                    blocked.remaining += 1;
                    if self.has_missing_ranks {
                        self.invent_if_sender_missing(index, id, now_ns + waited_ns);
                    }
                }
            }
        }
        self.processes[index].completes_receive = completes_receive;
        blocked
    }

    fn cancel_send_request(&mut self, index: usize, id: RequestId, now_ns: i64) {
        let Some(request) = self.processes[index].requests.get_mut(id) else { return };
        if let RequestKind::Send(sent) = request.kind {
            request.set_state(RequestState::Complete(now_ns));
            self.cancel_send(now_ns, sent);
        }
    }

    /// Invents a message at the recorded end of the call, if the sender has no stream.
    fn invent_if_sender_missing(&mut self, index: usize, id: RequestId, at_ns: i64) {
        let process = &self.processes[index];
        let Some(request) = process.requests.get(id) else { return };
        let Some(slot) = request.receive() else { return };
        let is_absent = process.receives.get(slot).is_some_and(|posted| posted.is_sender_missing);
        let expected = request.expected;
        if is_absent || expected.is_some_and(|status| self.is_status_from_missing(index, slot, status)) {
            self.invent_message(index, slot, at_ns, expected);
        }
    }

    pub(super) fn add_request(&mut self, index: usize, id: RequestId, request: Request) {
        if id == RequestId::NULL {
            return;
        }
        if self.processes[index].requests.is_full() {
            self.remove_spent_requests(index);
        }
        self.processes[index].requests.insert(id, request);
    }

    /// Programs may cancel a send of an unmatched message. A message in the backlog has no record of its
    /// request, so the request can be removed.
    #[cold]
    fn remove_spent_requests(&mut self, index: usize) {
        let Process { requests, clock_ns, .. } = &mut self.processes[index];
        let is_under_way = |sent: &SentMessage| {
            self.records.get(sent.slot).is_some_and(|record| record.number == sent.number)
        };
        requests.remove_spent(|request| {
            let may_be_cancelled = matches!(&request.kind, RequestKind::Send(sent) if is_under_way(sent));
            request.is_spent(*clock_ns) && !may_be_cancelled
        });
    }

    /// Replaces a request after its id is reused. If a thread still waits for the old request, the operation
    /// belongs to this thread, because the library freed the id before the call returned. Otherwise the
    /// operation has no owner.
    pub(super) fn replace_request(&mut self, index: usize, id: RequestId) {
        if let Some(old) = self.processes[index].requests.remove(id) {
            self.transfer_operation(index, id, &old);
        }
    }

    fn transfer_operation(&mut self, index: usize, id: RequestId, old: &Request) {
        let new_owner = old.waiter.map_or(Owner::None, Owner::Lane);
        if let Some(slot) = old.receive() {
            if let Some(receive) = self.processes[index].receives.get_mut(slot) {
                receive.owner = new_owner;
                receive.expected = old.expected;
            }
        } else if matches!(old.state(), RequestState::Pending(_)) && self.processes[index].waited_sends > 0 {
            let rank = self.processes[index].rank;
            let records = self.records.iter_mut().filter(|record| record.from == rank);
            for record in records.filter(|record| record.sender == Owner::Request(id)) {
                record.sender = new_owner;
                self.processes[index].waited_sends -= u32::from(new_owner == Owner::None);
            }
        }
    }

    /// Removes the owner of a freed request's operation; the operation continues.
    pub(super) fn remove_owner(&mut self, index: usize, request: &Request) {
        if let Some(receive) = request.receive().and_then(|slot| self.processes[index].receives.get_mut(slot))
        {
            receive.owner = Owner::None;
        }
    }

    pub(super) fn complete_probes(&mut self, index: usize, at_ns: i64, message: Label) {
        for lane in 0..self.processes[index].lanes.len() {
            let waiting = &self.processes[index].lanes[lane];
            let LaneState::Blocked(Blocked { reason: BlockReason::Probe, .. }) = waiting.state else {
                continue;
            };
            let Some(Probe { selector, handle, expected }) = waiting.probe else { continue };
            if selector.accepts(message) {
                let found = self.probe(index, at_ns, selector, handle);
                if found.is_some() {
                    self.tally.compare_envelope(selector, expected, found);
                    self.unblock(index, lane as u16, at_ns + self.setting.loggp.overhead);
                }
            }
        }
    }

    pub(super) fn probe(
        &mut self,
        index: usize,
        at_ns: i64,
        selector: Label,
        handle: Option<matchpoint_trace::call::HandleId>,
    ) -> MatchedEnvelope {
        let process = &mut self.processes[index];
        let found = match handle {
            None => process.matcher.probe(selector, &mut self.records),
            Some(_) => process.matcher.matched_probe(selector, &mut self.records),
        };
        if let (Some(handle), Some(slot)) = (handle, found) {
            process.handles.insert(handle, slot);
        }
        let (point, message) = (Point { at_ns, process: index }, found.map(|slot| self.records[slot].id()));
        self.sink.record_step(match handle {
            None => point.probe(selector, message),
            Some(_) => point.matched_probe(selector, message),
        });
        Some(self.records[found?].label.source_and_tag())
    }
}

#[inline]
fn finish_request(requests: &mut RequestTable, tally: &mut Tally, id: RequestId, slot: u32) {
    let request = requests.at(slot);
    if let (Some(matched), Some(expected)) = (request.matched.take(), request.expected.take()) {
        tally.compare_status(expected, matched);
    }
    match request.kind {
        RequestKind::PersistentSend(_)
        | RequestKind::PersistentReceive(..)
        | RequestKind::PersistentCollective(_) => {
            request.set_state(RequestState::Inactive);
        }
        _ => requests.remove_at(id, slot),
    }
}
