//! Execution of one call: its effects at the process, and its end.

use matchpoint_trace::call::{
    Action, Call, CommId, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, Status,
};
use matchpoint_trace::{Class, Function};

use super::Simulation;
use super::collective::{CollectiveArgs, CollectiveCall, Dependency, dependency};
use super::message::CompletionTime;
use crate::communicators::SELF;
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{BlockReason, Blocked, LaneState, Probe, ReadCall};
use crate::requests::{Persistent, Request, RequestKind, RequestState};
use crate::status_envelope::StatusEnvelope;
use crate::step::{CallEnd, Point, StepSink};

#[derive(Clone, Copy)]
struct CallContext {
    index: usize,
    lane: usize,
    now_ns: i64,
    recorded_ns: i64,
}

impl CallContext {
    fn owner(self) -> Owner {
        Owner::Lane(self.lane as u16)
    }

    fn leave(self, leave_ns: i64) -> Blocked {
        Blocked { reason: BlockReason::Messages, remaining: 0, leave_ns, since_ns: self.now_ns }
    }

    fn until(self, end: CompletionTime, reason: BlockReason) -> Blocked {
        let remaining = u32::from(end.is_none());
        Blocked { reason, remaining, leave_ns: end.unwrap_or(self.now_ns), since_ns: self.now_ns }
    }
}

impl<S: StepSink> Simulation<'_, S> {
    pub(super) fn make_call(&mut self, index: usize, lane: usize, now_ns: i64) {
        self.end_call(index);
        let process = &mut self.processes[index];
        let Some(read) = process.take_next_call(lane) else { return };
        let call = &read.call;
        process.clock_ns = now_ns;
        self.tally.set_call(index, call.site);
        let recorded_ns = (call.leave_ns - call.enter_ns).max(0);
        process.completes_receive = matches!(
            call.action,
            Action::Receive { request: None, .. } | Action::SendReceive { request: None, .. }
        );
        let mut blocked = self.execute(CallContext { index, lane, now_ns, recorded_ns }, &read);
        let left_ns = self.setting.clocks.common(index, call.leave_ns);
        let left_ns = self.setting.arrivals.uses_recorded_times().then_some(left_ns);
        blocked.leave_ns = blocked.leave_ns.max(left_ns.unwrap_or(blocked.leave_ns));
        let process = &mut self.processes[index];
        if process.lanes.len() == 1 {
            let waits = blocked.remaining > 0 && blocked.reason == BlockReason::Messages;
            process.open_call = Some(CallEnd {
                process: index as u32,
                took_ns: u32::try_from(recorded_ns).unwrap_or(u32::MAX),
                completes_receive: process.completes_receive,
                waited_until_ns: left_ns.filter(|_| waits).unwrap_or(CallEnd::NO_WAIT),
            });
            process.open_until_ns = left_ns.unwrap_or(i64::MAX);
        }
        let lane = &mut process.lanes[lane];
        lane.left_ns = call.leave_ns;
        if blocked.remaining == 0 {
            lane.now_ns = blocked.leave_ns;
            lane.state = LaneState::Ready;
        } else {
            lane.state = LaneState::Blocked(blocked);
            if self.setting.intervals {
                lane.deadline_ns = self.setting.clocks.common(index, call.leave_ns).max(now_ns);
            }
        }
        process.recycle_call(read);
    }

    /// Later steps of the process belong to the next call.
    pub(super) fn end_call(&mut self, index: usize) {
        if let Some(end) = self.processes[index].open_call.take() {
            self.sink.end_call(end);
        }
    }

    fn execute(&mut self, at: CallContext, read: &ReadCall) -> Blocked {
        let call = &read.call;
        match call.action {
            Action::Send { ref args, request } => self.act_send(at, args, request),
            Action::Receive { ref args, request: None, status } => {
                self.blocking_receive(at, call.function, args, status)
            }
            Action::Receive { ref args, request: Some(id), .. } => {
                self.start_receive(at, call.function, args, id)
            }
            Action::SendReceive { .. } => self.send_receive(at, call),
            Action::SendInit { args, request } => self.create_persistent(at, request, Persistent::Send(args)),
            Action::ReceiveInit { args, request } => {
                self.create_persistent(at, request, Persistent::Receive(args))
            }
            Action::CollectiveInit { comm, root, bytes, request } => {
                let bytes = bytes.unwrap_or(0);
                let persistent_args = Persistent::Collective { function: call.function, comm, root, bytes };
                self.create_persistent(at, request, persistent_args)
            }
            Action::Start => {
                call.requests.iter().for_each(|&id| self.start(at, call.function, id));
                self.end_after_overhead(at)
            }
            Action::Probe { .. } => self.act_probe(at, call),
            Action::MatchedReceive { handle, request, .. } => self.matched_receive(at, handle, request),
            Action::Complete { .. } => {
                let times = (at.now_ns, at.recorded_ns);
                self.await_requests(at.index, at.lane, times, read)
            }
            Action::Cancel => {
                call.requests.iter().for_each(|&id| self.cancel(at, id));
                self.end_after_overhead(at)
            }
            Action::RequestFree => {
                call.requests.iter().for_each(|&id| self.free_request(at.index, id));
                self.end_after_overhead(at)
            }
            Action::Collective { comm, root, bytes, request } => {
                self.join_collective(at, call.function, (comm, root, bytes.unwrap_or(0)), request)
            }
            Action::CommCreate { .. } => self.create_communicator(at, call),
            Action::CommFree { comm } => {
                self.processes[at.index].leave(comm);
                self.end_after_overhead(at)
            }
            Action::Finalize => self.join_collective(at, Function::Finalize, (CommId::WORLD, None, 0), None),
            // The wait for the launcher is not part of the program.
            Action::Init => at.leave(at.now_ns),
            Action::RequestStatus
            | Action::CommSize { .. }
            | Action::CommRank { .. }
            | Action::GroupCreate { .. }
            | Action::GroupFree { .. }
            | Action::Partitioned
            | Action::Other => self.end_without_effect(at, call.function),
        }
    }

    fn end_after_overhead(&self, at: CallContext) -> Blocked {
        at.leave(at.now_ns + self.setting.loggp.overhead)
    }

    /// Ends a call without effect on messages. In calls on requests, the recorded time is polling, so the
    /// time is ignored.
    fn end_without_effect(&self, at: CallContext, function: Function) -> Blocked {
        match function.class() {
            Class::Completion => self.end_after_overhead(at),
            _ => at.leave(at.now_ns + at.recorded_ns),
        }
    }

    fn act_send(&mut self, at: CallContext, args: &SendArgs, request: Option<RequestId>) -> Blocked {
        let Some(id) = request else {
            let sent = self.send(at.index, at.now_ns, args, at.owner());
            // An eager send waits only for buffer space, so the recorded duration counts.
            let end = sent.end.map(|end_ns| end_ns.max(at.now_ns + at.recorded_ns));
            return at.until(end, BlockReason::Messages);
        };
        self.replace_request(at.index, id);
        let sent = self.send(at.index, at.now_ns, args, Owner::Request(id));
        let kind = sent.message.map_or(RequestKind::LostSend, RequestKind::Send);
        let request = Request::new(kind, state(sent.end, 1));
        self.add_request(at.index, id, request);
        self.end_after_overhead(at)
    }

    fn start_receive(
        &mut self,
        at: CallContext,
        function: Function,
        args: &ReceiveArgs,
        id: RequestId,
    ) -> Blocked {
        self.replace_request(at.index, id);
        let posted = self.receive(at.index, at.now_ns, function, args, Owner::Request(id), None);
        let kind = posted.slot.map_or(RequestKind::Received, RequestKind::Receive);
        let mut request = Request::new(kind, state(posted.end, 1));
        request.matched = posted.matched.map(StatusEnvelope::from_envelope);
        self.add_request(at.index, id, request);
        self.end_after_overhead(at)
    }

    fn create_persistent(&mut self, at: CallContext, id: RequestId, persistent_args: Persistent) -> Blocked {
        if id == RequestId::NULL {
            return self.end_after_overhead(at);
        }
        self.replace_request(at.index, id);
        let args = self.processes[at.index].requests.persistent.insert(persistent_args);
        let kind = match persistent_args {
            Persistent::Send(_) => RequestKind::PersistentSend(args),
            Persistent::Receive(_) => RequestKind::PersistentReceive(args, u32::MAX),
            Persistent::Collective { .. } => RequestKind::PersistentCollective(args),
        };
        self.add_request(at.index, id, Request::new(kind, RequestState::Inactive));
        self.end_after_overhead(at)
    }

    fn join_collective(
        &mut self,
        at: CallContext,
        function: Function,
        (comm, root, bytes): (CommId, Option<u32>, u64),
        request: Option<RequestId>,
    ) -> Blocked {
        let owner = request.map_or(at.owner(), Owner::Request);
        let args = CollectiveArgs { function, comm, root, bytes, recorded_ns: at.recorded_ns, owner };
        if let Some(id) = request {
            self.replace_request(at.index, id);
        }
        let end = self.enter_collective(at.index, at.now_ns, args);
        let Some(id) = request else { return at.until(end, BlockReason::Collective) };
        self.add_request(at.index, id, Request::new(RequestKind::Collective, state(end, 1)));
        self.end_after_overhead(at)
    }

    fn blocking_receive(
        &mut self,
        at: CallContext,
        function: Function,
        args: &ReceiveArgs,
        status: Option<Status>,
    ) -> Blocked {
        let reported = StatusEnvelope::from_status(status);
        let posted = self.receive(at.index, at.now_ns, function, args, at.owner(), reported);
        self.invent_missing_message(at, posted.slot, reported);
        at.until(posted.end, BlockReason::Messages)
    }

    fn invent_missing_message(
        &mut self,
        at: CallContext,
        slot: Option<u32>,
        reported: Option<StatusEnvelope>,
    ) {
        let Some(slot) = slot else { return };
        if self.processes[at.index].receives.get(slot).is_some_and(|receive| receive.is_sender_missing) {
            self.invent_message(at.index, slot, at.now_ns + at.recorded_ns, reported);
        }
    }

    fn send_receive(&mut self, at: CallContext, call: &Call) -> Blocked {
        let Action::SendReceive { send, receive, request, status } = call.action else {
            return at.leave(at.now_ns);
        };
        let owner = request.map_or(at.owner(), Owner::Request);
        if let Some(id) = request {
            self.free_request(at.index, id);
            self.add_request(at.index, id, Request::new(RequestKind::SendReceive, RequestState::Pending(2)));
        }
        let reported = StatusEnvelope::from_status(status);
        let posted = self.receive(at.index, at.now_ns, call.function, &receive, owner, reported);
        let sent = self.send(at.index, at.now_ns, &send, owner).end;
        self.invent_missing_message(at, posted.slot, reported);
        if let Some(id) = request {
            for end_ns in [posted.end, sent].into_iter().flatten() {
                self.end(at.index, Owner::Request(id), end_ns, posted.matched);
            }
            return self.end_after_overhead(at);
        }
        let known = [posted.end, sent];
        let remaining = known.iter().filter(|end| end.is_none()).count() as u32;
        let leave_ns = known.into_iter().flatten().max().unwrap_or(at.now_ns);
        Blocked { reason: BlockReason::Messages, remaining, leave_ns, since_ns: at.now_ns }
    }

    fn start(&mut self, at: CallContext, function: Function, id: RequestId) {
        let requests = &mut self.processes[at.index].requests;
        let Some(slot) = requests.slot(id) else { return };
        let request = requests.at(slot);
        *request = Request::new(request.kind, RequestState::Pending(1));
        let (RequestKind::PersistentSend(args)
        | RequestKind::PersistentReceive(args, _)
        | RequestKind::PersistentCollective(args)) = request.kind
        else {
            return;
        };
        // A persistent request keeps its index.
        match requests.persistent[args] {
            Persistent::Send(args) => {
                let end = self.send(at.index, at.now_ns, &args, Owner::Request(id)).end;
                self.processes[at.index].requests.at(slot).set_state(state(end, 1));
            }
            Persistent::Receive(persistent_args) => {
                let posted =
                    self.receive(at.index, at.now_ns, function, &persistent_args, Owner::Request(id), None);
                let request = self.processes[at.index].requests.at(slot);
                request.kind = RequestKind::PersistentReceive(args, posted.slot.unwrap_or(u32::MAX));
                request.matched = posted.matched.map(StatusEnvelope::from_envelope);
                request.set_state(state(posted.end, 1));
            }
            Persistent::Collective { function, comm, root, bytes } => {
                let owner = Owner::Request(id);
                let args = CollectiveArgs { function, comm, root, bytes, recorded_ns: at.recorded_ns, owner };
                let end = self.enter_collective(at.index, at.now_ns, args);
                self.processes[at.index].requests.at(slot).set_state(state(end, 1));
            }
        }
    }

    fn act_probe(&mut self, at: CallContext, call: &Call) -> Blocked {
        let Action::Probe { ref args, found, status, handle, .. } = call.action else {
            return at.leave(at.now_ns);
        };
        if args.source == Peer::Null {
            return at.leave(at.now_ns);
        }
        self.tally.count_probe(args, found);
        let selector = Label::from_receive(self.membership(at.index, args.comm), args);
        let soon = self.end_after_overhead(at);
        // Without a match, no message is removed.
        let matched = self.probe(at.index, at.now_ns, selector, handle.filter(|_| found));
        match matched {
            Some(_) if found => {
                self.tally.compare_envelope(selector, StatusEnvelope::from_status(status), matched)
            }
            None if found => return self.wait_for_probe(at, selector, call),
            _ => {}
        }
        soon
    }

    fn wait_for_probe(&mut self, at: CallContext, selector: Label, call: &Call) -> Blocked {
        let Action::Probe { ref args, status, handle, .. } = call.action else { return at.leave(at.now_ns) };
        let membership = self.membership(at.index, args.comm);
        if self.is_sender_missing(at.index, membership, args.source, StatusEnvelope::from_status(status)) {
            return at.leave(at.now_ns + at.recorded_ns);
        }
        let probe = Probe { selector, handle, expected: StatusEnvelope::from_status(status) };
        self.processes[at.index].lanes[at.lane].probe = Some(probe);
        at.until(None, BlockReason::Probe)
    }

    fn matched_receive(&mut self, at: CallContext, handle: HandleId, request: Option<RequestId>) -> Blocked {
        let slot = self.processes[at.index].handles.remove(&handle);
        let end = slot.map_or(at.now_ns, |slot| self.transfer(at.now_ns, slot).0);
        let Some(id) = request else { return at.leave(end) };
        self.add_request(at.index, id, Request::new(RequestKind::Received, state(Some(end), 1)));
        self.end_after_overhead(at)
    }

    fn cancel(&mut self, at: CallContext, id: RequestId) {
        let process = &mut self.processes[at.index];
        let Some(slot) = process.requests.get(id).and_then(Request::receive) else { return };
        let posted = process.receives.get(slot).map(|receive| (receive.id(slot), receive.selector));
        let Some((receive, selector)) = posted else { return };
        let was_posted = process.matcher.cancel(&mut process.receives, slot);
        self.sink
            .record_step(Point { at_ns: at.now_ns, process: at.index }.cancel(receive, selector, was_posted));
        if was_posted {
            self.tally.totals.cancelled += 1;
            self.processes[at.index].receives.remove(slot);
            self.end(at.index, Owner::Request(id), at.now_ns, None);
        }
    }

    fn free_request(&mut self, index: usize, id: RequestId) {
        if let Some(request) = self.processes[index].requests.remove(id) {
            self.remove_owner(index, &request);
        }
    }

    /// The end of the call is known if the process does not wait.
    fn enter_collective(&mut self, index: usize, now_ns: i64, args: CollectiveArgs) -> CompletionTime {
        let membership = self.membership(index, args.comm);
        let communicator = &self.setting.communicators.all[membership.context as usize];
        let size = communicator.size();
        let is_own = membership.context == SELF;
        if !communicator.is_complete || is_own || size <= 1 {
            return Some(now_ns + if is_own { 0 } else { args.recorded_ns });
        }
        let root = args.root.filter(|_| communicator.remote.is_none());
        let dependency = dependency(args.function, root);
        let cost_ns = self.setting.loggp.collective(size, args.bytes);
        if dependency == Dependency::Local {
            return Some(now_ns + cost_ns);
        }
        let count = self.processes[index].collectives.entry(membership.context).or_insert(0);
        let key = (membership.context, *count);
        *count = count.wrapping_add(1);
        let collective = self.pending_collectives.entry(key).or_insert_with(|| CollectiveCall::of(size));
        let end =
            collective.enter(index, now_ns, dependency, root == Some(membership.rank), cost_ns, args.owner);
        let unblocked = collective.take_unblocked(dependency, cost_ns);
        if collective.is_complete() {
            self.pending_collectives.remove(&key);
        }
        if let Some((processes, at_ns)) = unblocked {
            for (process, owner) in processes {
                self.end(process as usize, owner, at_ns, None);
            }
        }
        end
    }

    fn create_communicator(&mut self, at: CallContext, call: &Call) -> Blocked {
        let Action::CommCreate { parent, how, comm, request } = call.action else {
            return at.leave(at.now_ns);
        };
        let parent_is_known = self.processes[at.index].has_membership(parent);
        let process = &mut self.processes[at.index];
        let membership =
            self.setting.communicators.created_membership(at.index, process.created, process.rank);
        process.created += 1;
        membership.into_iter().for_each(|membership| process.add_membership(comm, membership));
        let over = if matches!(how, NewComm::Listed { tag: Some(_), .. }) { comm } else { parent };
        let local = matches!(how, NewComm::Unknown) || (over == parent && !parent_is_known);
        if local || over == CommId::NULL {
            return at.leave(at.now_ns + at.recorded_ns);
        }
        self.join_collective(at, call.function, (over, None, 0), request)
    }
}

fn state(end: CompletionTime, ends: u8) -> RequestState {
    end.map_or(RequestState::Pending(ends), RequestState::Complete)
}
