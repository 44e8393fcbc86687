//! Execution of one call: its effects at the process, and its end.

use matchpoint_trace::call::{
    Action, Call, CommId, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, Status,
};
use matchpoint_trace::{Class, Function};

use super::Simulation;
use super::collective::{Flow, Joining, Meeting, flow};
use super::message::End;
use crate::communicators::{Membership, SELF};
use crate::entries::Owner;
use crate::label::Label;
use crate::process::{Blocked, LaneState, Probe, ReadCall, Reason};
use crate::requests::{Persistent, Request, RequestKind, RequestState};
use crate::status_envelope::StatusEnvelope;
use crate::step::{CallEnd, Point, Sink};

#[derive(Clone, Copy)]
struct At {
    index: usize,
    lane: usize,
    now_ns: i64,
    recorded_ns: i64,
}

impl At {
    fn owner(self) -> Owner {
        Owner::Lane(self.lane as u16)
    }

    fn leave(self, leave_ns: i64) -> Blocked {
        Blocked { reason: Reason::Messages, remaining: 0, leave_ns, since_ns: self.now_ns }
    }

    /// Blocks if the end is unknown.
    fn until(self, end: End, reason: Reason) -> Blocked {
        let remaining = u32::from(end.is_none());
        Blocked { reason, remaining, leave_ns: end.unwrap_or(self.now_ns), since_ns: self.now_ns }
    }
}

impl<S: Sink> Simulation<'_, S> {
    pub(super) fn make_call(&mut self, index: usize, lane: usize, now_ns: i64) {
        self.end_call(index);
        let process = &mut self.processes[index];
        let Some(read) = process.take_next(lane) else { return };
        let call = &read.call;
        process.clock_ns = now_ns;
        self.tally.calls(index, call.site);
        let recorded_ns = (call.leave_ns - call.enter_ns).max(0);
        process.completes_receive = matches!(
            call.action,
            Action::Receive { request: None, .. } | Action::SendReceive { request: None, .. }
        );
        let mut blocked = self.act(At { index, lane, now_ns, recorded_ns }, &read);
        let left_ns = self.setting.clocks.common(index, call.leave_ns);
        let left_ns = self.setting.arrivals.by_clock().then_some(left_ns);
        blocked.leave_ns = blocked.leave_ns.max(left_ns.unwrap_or(blocked.leave_ns));
        let process = &mut self.processes[index];
        if process.lanes.len() == 1 {
            let waits = blocked.remaining > 0 && blocked.reason == Reason::Messages;
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
        process.give_back(read);
    }

    /// Later steps belong to the next call.
    pub(super) fn end_call(&mut self, index: usize) {
        if let Some(end) = self.processes[index].open_call.take() {
            self.sink.ended(end);
        }
    }

    fn act(&mut self, at: At, read: &ReadCall) -> Blocked {
        let call = &read.call;
        match call.action {
            Action::Send { ref args, request } => self.act_send(at, args, request),
            Action::Receive { ref args, request: None, status } => {
                self.blocking_receive(at, call.function, args, status)
            }
            Action::Receive { ref args, request: Some(id), .. } => {
                self.begin_receive(at, call.function, args, id)
            }
            Action::SendReceive { .. } => self.send_receive(at, call),
            Action::SendInit { args, request } => self.set_up(at, request, Persistent::Send(args)),
            Action::ReceiveInit { args, request } => self.set_up(at, request, Persistent::Receive(args)),
            Action::CollectiveInit { comm, root, bytes, request } => {
                let bytes = bytes.unwrap_or(0);
                let begins = Persistent::Collective { function: call.function, comm, root, bytes };
                self.set_up(at, request, begins)
            }
            Action::Start => {
                call.requests.iter().for_each(|&id| self.start(at, call.function, id));
                self.soon(at)
            }
            Action::Probe { .. } => self.act_probe(at, call),
            Action::MatchedReceive { handle, request, .. } => self.matched_receive(at, handle, request),
            Action::Complete { .. } => {
                let times = (at.now_ns, at.recorded_ns);
                self.await_requests(at.index, at.lane, times, read)
            }
            Action::Cancel => {
                call.requests.iter().for_each(|&id| self.cancel(at, id));
                self.soon(at)
            }
            Action::RequestFree => {
                call.requests.iter().for_each(|&id| self.forget(at.index, id));
                self.soon(at)
            }
            Action::Collective { comm, root, bytes, request } => {
                self.meet(at, call.function, (comm, root, bytes.unwrap_or(0)), request)
            }
            Action::CommCreate { .. } => self.create_communicator(at, call),
            Action::CommFree { comm } => {
                self.processes[at.index].leave(comm);
                self.soon(at)
            }
            Action::Finalize => self.meet(at, Function::Finalize, (CommId::WORLD, None, 0), None),
            // The wait for the launcher is not part of the program.
            Action::Init => at.leave(at.now_ns),
            Action::RequestStatus
            | Action::CommSize { .. }
            | Action::CommRank { .. }
            | Action::GroupCreate { .. }
            | Action::GroupFree { .. }
            | Action::Partitioned
            | Action::Other => self.pass(at, call.function),
        }
    }

    /// End of a call that does not wait.
    fn soon(&self, at: At) -> Blocked {
        at.leave(at.now_ns + self.setting.loggp.overhead)
    }

    /// End of a call without effects. The recorded time of calls on requests is polling.
    fn pass(&self, at: At, function: Function) -> Blocked {
        match function.class() {
            Class::Completion => self.soon(at),
            _ => at.leave(at.now_ns + at.recorded_ns),
        }
    }

    fn act_send(&mut self, at: At, args: &SendArgs, request: Option<RequestId>) -> Blocked {
        let Some(id) = request else {
            let sent = self.send(at.index, at.now_ns, args, at.owner());
            // An eager send waits only for space in a buffer.
            let end = sent.end.map(|end_ns| end_ns.max(at.now_ns + at.recorded_ns));
            return at.until(end, Reason::Messages);
        };
        self.replace(at.index, id);
        let sent = self.send(at.index, at.now_ns, args, Owner::Request(id));
        let what = sent.message.map_or(RequestKind::LostSend, RequestKind::Send);
        let request = Request::new(what, state(sent.end, 1));
        self.begin_request(at.index, id, request);
        self.soon(at)
    }

    fn begin_receive(&mut self, at: At, function: Function, args: &ReceiveArgs, id: RequestId) -> Blocked {
        self.replace(at.index, id);
        let posted = self.receive(at.index, at.now_ns, function, args, Owner::Request(id), None);
        let what = posted.place.map_or(RequestKind::Received, RequestKind::Receive);
        let mut request = Request::new(what, state(posted.end, 1));
        request.got = posted.got.map(StatusEnvelope::from_envelope);
        self.begin_request(at.index, id, request);
        self.soon(at)
    }

    fn set_up(&mut self, at: At, id: RequestId, begins: Persistent) -> Blocked {
        if id == RequestId::NULL {
            return self.soon(at);
        }
        self.replace(at.index, id);
        let args = self.processes[at.index].requests.persistent.insert(begins);
        let what = match begins {
            Persistent::Send(_) => RequestKind::PersistentSend(args),
            Persistent::Receive(_) => RequestKind::PersistentReceive(args, u32::MAX),
            Persistent::Collective { .. } => RequestKind::PersistentCollective(args),
        };
        self.begin_request(at.index, id, Request::new(what, RequestState::Inactive));
        self.soon(at)
    }

    fn meet(
        &mut self,
        at: At,
        function: Function,
        (comm, root, bytes): (CommId, Option<u32>, u64),
        request: Option<RequestId>,
    ) -> Blocked {
        let owner = request.map_or(at.owner(), Owner::Request);
        let joining = Joining { function, comm, root, bytes, recorded_ns: at.recorded_ns, owner };
        if let Some(id) = request {
            self.replace(at.index, id);
        }
        let end = self.join(at.index, at.now_ns, joining);
        let Some(id) = request else { return at.until(end, Reason::Collective) };
        self.begin_request(at.index, id, Request::new(RequestKind::Collective, state(end, 1)));
        self.soon(at)
    }

    fn blocking_receive(
        &mut self,
        at: At,
        function: Function,
        args: &ReceiveArgs,
        status: Option<Status>,
    ) -> Blocked {
        let reported = StatusEnvelope::from_status(status);
        let posted = self.receive(at.index, at.now_ns, function, args, at.owner(), reported);
        self.make_up_absent(at, posted.place, reported);
        at.until(posted.end, Reason::Messages)
    }

    fn make_up_absent(&mut self, at: At, place: Option<u32>, reported: Option<StatusEnvelope>) {
        let Some(place) = place else { return };
        if self.processes[at.index].receives.get(place).is_some_and(|receive| receive.absent) {
            self.make_up(at.index, place, at.now_ns + at.recorded_ns, reported);
        }
    }

    fn send_receive(&mut self, at: At, call: &Call) -> Blocked {
        let Action::SendReceive { send, receive, request, status } = call.action else {
            return at.leave(at.now_ns);
        };
        let owner = request.map_or(at.owner(), Owner::Request);
        if let Some(id) = request {
            self.forget(at.index, id);
            self.begin_request(
                at.index,
                id,
                Request::new(RequestKind::SendReceive, RequestState::Pending(2)),
            );
        }
        let reported = StatusEnvelope::from_status(status);
        let posted = self.receive(at.index, at.now_ns, call.function, &receive, owner, reported);
        let sent = self.send(at.index, at.now_ns, &send, owner).end;
        self.make_up_absent(at, posted.place, reported);
        if let Some(id) = request {
            for end_ns in [posted.end, sent].into_iter().flatten() {
                self.end(at.index, Owner::Request(id), end_ns, posted.got);
            }
            return self.soon(at);
        }
        let known = [posted.end, sent];
        let remaining = known.iter().filter(|end| end.is_none()).count() as u32;
        let leave_ns = known.into_iter().flatten().max().unwrap_or(at.now_ns);
        Blocked { reason: Reason::Messages, remaining, leave_ns, since_ns: at.now_ns }
    }

    fn start(&mut self, at: At, function: Function, id: RequestId) {
        let requests = &mut self.processes[at.index].requests;
        let Some(place) = requests.place(id) else { return };
        let request = requests.at(place);
        *request = Request::new(request.what, RequestState::Pending(1));
        let (RequestKind::PersistentSend(args)
        | RequestKind::PersistentReceive(args, _)
        | RequestKind::PersistentCollective(args)) = request.what
        else {
            return;
        };
        // The request keeps its index.
        match requests.persistent[args] {
            Persistent::Send(args) => {
                let end = self.send(at.index, at.now_ns, &args, Owner::Request(id)).end;
                self.processes[at.index].requests.at(place).set_state(state(end, 1));
            }
            Persistent::Receive(begins) => {
                let posted = self.receive(at.index, at.now_ns, function, &begins, Owner::Request(id), None);
                let request = self.processes[at.index].requests.at(place);
                request.what = RequestKind::PersistentReceive(args, posted.place.unwrap_or(u32::MAX));
                request.got = posted.got.map(StatusEnvelope::from_envelope);
                request.set_state(state(posted.end, 1));
            }
            Persistent::Collective { function, comm, root, bytes } => {
                let owner = Owner::Request(id);
                let joining = Joining { function, comm, root, bytes, recorded_ns: at.recorded_ns, owner };
                let end = self.join(at.index, at.now_ns, joining);
                self.processes[at.index].requests.at(place).set_state(state(end, 1));
            }
        }
    }

    fn act_probe(&mut self, at: At, call: &Call) -> Blocked {
        let Action::Probe { ref args, found, status, handle, .. } = call.action else {
            return at.leave(at.now_ns);
        };
        if args.source == Peer::Null {
            return at.leave(at.now_ns);
        }
        self.tally.probed(args, found);
        let asked = Label::asked(self.membership(at.index, args.comm), args);
        let soon = self.soon(at);
        // Without a match, nothing is removed.
        let got = self.probe(at.index, at.now_ns, asked, handle.filter(|_| found));
        match got {
            Some(_) if found => self.tally.reproduced(asked, StatusEnvelope::from_status(status), got),
            None if found => return self.wait_for_probe(at, asked, call),
            _ => {}
        }
        soon
    }

    fn wait_for_probe(&mut self, at: At, asked: Label, call: &Call) -> Blocked {
        let Action::Probe { ref args, status, handle, .. } = call.action else { return at.leave(at.now_ns) };
        let membership = self.membership(at.index, args.comm);
        if self.is_absent(at.index, membership, args.source, StatusEnvelope::from_status(status)) {
            return at.leave(at.now_ns + at.recorded_ns);
        }
        let probe = Probe { asked, handle, expected: StatusEnvelope::from_status(status) };
        self.processes[at.index].lanes[at.lane].probe = Some(probe);
        at.until(None, Reason::Probe)
    }

    fn matched_receive(&mut self, at: At, handle: HandleId, request: Option<RequestId>) -> Blocked {
        let place = self.processes[at.index].handles.remove(&handle);
        let end = place.map_or(at.now_ns, |place| self.transfer(at.now_ns, place).0);
        let Some(id) = request else { return at.leave(end) };
        self.begin_request(at.index, id, Request::new(RequestKind::Received, state(Some(end), 1)));
        self.soon(at)
    }

    fn cancel(&mut self, at: At, id: RequestId) {
        let process = &mut self.processes[at.index];
        let Some(place) = process.requests.get(id).and_then(Request::receive) else { return };
        let posted = process.receives.get(place).map(|receive| (receive.id(place), receive.asked));
        let Some((receive, asked)) = posted else { return };
        let was_posted = process.matcher.cancel(&mut process.receives, place);
        self.sink.step(Point { at_ns: at.now_ns, process: at.index }.cancel(receive, asked, was_posted));
        if was_posted {
            self.tally.totals.cancelled += 1;
            self.processes[at.index].receives.remove(place);
            self.end(at.index, Owner::Request(id), at.now_ns, None);
        }
    }

    fn forget(&mut self, index: usize, id: RequestId) {
        if let Some(request) = self.processes[index].requests.remove(id) {
            self.disown(index, &request);
        }
    }

    /// The end is known if the process does not wait.
    fn join(&mut self, index: usize, now_ns: i64, joining: Joining) -> End {
        let membership = self.membership(index, joining.comm);
        let communicator = &self.setting.communicators.all[membership.context as usize];
        let size = communicator.size();
        let is_own = membership.context == SELF;
        if !communicator.complete || is_own || size <= 1 {
            return Some(now_ns + if is_own { 0 } else { joining.recorded_ns });
        }
        let root = joining.root.filter(|_| communicator.remote.is_none());
        let flow = flow(joining.function, root);
        let cost_ns = self.setting.loggp.collective(size, joining.bytes);
        if flow == Flow::Local {
            return Some(now_ns + cost_ns);
        }
        let count = self.processes[index].collectives.entry(membership.context).or_insert(0);
        let key = (membership.context, *count);
        *count = count.wrapping_add(1);
        let meeting = self.meetings.entry(key).or_insert_with(|| Meeting::of(size));
        let end = meeting.enter(index, now_ns, flow, root == Some(membership.rank), cost_ns, joining.owner);
        let released = meeting.released(flow, cost_ns);
        if meeting.is_complete() {
            self.meetings.remove(&key);
        }
        if let Some((processes, at_ns)) = released {
            for (process, owner) in processes {
                self.end(process as usize, owner, at_ns, None);
            }
        }
        end
    }

    fn create_communicator(&mut self, at: At, call: &Call) -> Blocked {
        let Action::CommCreate { parent, how, comm, request } = call.action else {
            return at.leave(at.now_ns);
        };
        let parent_is_known = self.processes[at.index].has_membership(parent);
        let process = &mut self.processes[at.index];
        let context = self.setting.communicators.created.get(at.index, process.created);
        process.created += 1;
        if let Some(context) = context {
            let communicator = &self.setting.communicators.all[context as usize];
            let membership = Membership::new(process.rank, context, communicator);
            process.add_membership(comm, membership);
        }
        let over = if matches!(how, NewComm::Listed { tag: Some(_), .. }) { comm } else { parent };
        let local = matches!(how, NewComm::Unknown) || (over == parent && !parent_is_known);
        if local || over == CommId::NULL {
            return at.leave(at.now_ns + at.recorded_ns);
        }
        self.meet(at, call.function, (over, None, 0), request)
    }
}

/// Complete at `end`, or with `ends` pending operations.
fn state(end: End, ends: u8) -> RequestState {
    end.map_or(RequestState::Pending(ends), RequestState::Done)
}
