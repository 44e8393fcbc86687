//! `--arrivals at_wait`: a message arrives when the call that completes its receive returns. Each rank is
//! replayed separately. No message is unexpected (García et al. 2024, §V-A).

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use matchpoint_trace::call::{Action, CommId, Completion, Peer, ReceiveArgs, RequestId, SendArgs, Status};
use matchpoint_trace::{Call, Function, RankReader, Trace};
use rustc_hash::FxHashMap;

use crate::ReplayError;
use crate::communicators::Membership;
use crate::entries::{MessageRecord, PostedReceive};
use crate::label::Label;
use crate::matcher::Matcher;
use crate::progress::Progress;
use crate::simulation::Setting;
use crate::slab::Slab;
use crate::status_envelope::StatusEnvelope;
use crate::step::{Point, SendEvent, StepSink};
use crate::tally::Tally;

const CALLS_PER_REPORT: u64 = 8192;

pub(crate) fn run<S: StepSink>(
    trace: &dyn Trace,
    setting: &Setting<'_>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Tally), ReplayError> {
    let mut tally = Tally::new(setting.world, trace.present().len(), setting.communicators.all.len());
    for (process, &rank) in trace.present().iter().enumerate() {
        let mut replay = RankReplay {
            setting,
            process,
            rank,
            matcher: Matcher::new(),
            receives: Slab::default(),
            messages: Slab::default(),
            comms: Membership::predefined(rank).into_iter().collect(),
            has_unresolved_comm: Cell::new(false),
            created: 0,
            any_sources: 0,
            requests: FxHashMap::default(),
            sequence: 0,
            sink: &mut sink,
            tally: &mut tally,
        };
        replay.replay(&mut *trace.rank(rank)?, progress)?;
        let (receives, messages) = (replay.matcher.posted_len(), replay.matcher.unexpected_len());
        tally.totals.unmatched_receives += receives as u64;
        tally.totals.unmatched_messages += messages as u64;
    }
    tally.compute_totals();
    Ok((sink, tally))
}

struct RankReplay<'a, S> {
    setting: &'a Setting<'a>,
    process: usize,
    rank: u32,
    matcher: Matcher,
    receives: Slab<PostedReceive>,
    messages: Slab<MessageRecord>,
    comms: FxHashMap<CommId, Membership>,
    has_unresolved_comm: Cell<bool>,
    created: usize,
    any_sources: u32,
    requests: FxHashMap<RequestId, Request>,
    sequence: u64,
    sink: &'a mut S,
    tally: &'a mut Tally,
}

#[derive(Clone, Copy)]
enum Request {
    Receive(StartedReceive),
    PersistentSend(SendArgs),
    PersistentReceive(ReceiveArgs, Option<StartedReceive>),
}

#[derive(Clone, Copy)]
struct StartedReceive {
    selector: Label,
    /// The slot is valid while the receive is posted.
    number: u64,
    slot: u32,
}

impl<S: StepSink> RankReplay<'_, S> {
    fn replay(&mut self, reader: &mut dyn RankReader, progress: &Progress) -> Result<(), ReplayError> {
        let (mut call, mut calls, mut reported) = (Call::default(), 0u64, 0);
        while reader.read(&mut call)? {
            self.execute(&call);
            calls += 1;
            if calls % CALLS_PER_REPORT == 0 {
                if progress.stopped() {
                    return Err(ReplayError::Stopped);
                }
                progress.calls.fetch_add(CALLS_PER_REPORT, Relaxed);
                progress.bytes.fetch_add(reader.position() - reported, Relaxed);
                reported = reader.position();
            }
        }
        progress.calls.fetch_add(calls % CALLS_PER_REPORT, Relaxed);
        progress.bytes.fetch_add(reader.position() - reported, Relaxed);
        let end_ns = self.setting.clocks.common(self.process, call.leave_ns);
        self.tally.end_ns = self.tally.end_ns.max(end_ns);
        self.tally.unexplained_ranks += u64::from(self.has_unresolved_comm.get());
        Ok(())
    }

    fn execute(&mut self, call: &Call) {
        self.tally.set_call(self.process, call.site);
        let enter_ns = self.setting.clocks.common(self.process, call.enter_ns);
        let leave_ns = self.setting.clocks.common(self.process, call.leave_ns);
        match call.action {
            Action::Send { ref args, .. } => self.send(enter_ns, args),
            Action::Receive { ref args, request, status } => {
                self.receive((enter_ns, leave_ns), call.function, args, request, status);
            }
            Action::SendReceive { ref send, ref receive, request, status } => {
                self.send(enter_ns, send);
                self.receive((enter_ns, leave_ns), call.function, receive, request, status);
            }
            Action::SendInit { args, request } => {
                self.requests.insert(request, Request::PersistentSend(args));
            }
            Action::ReceiveInit { args, request } => {
                self.requests.insert(request, Request::PersistentReceive(args, None));
            }
            Action::Start => call.requests.iter().for_each(|&id| self.start(enter_ns, call.function, id)),
            Action::Complete { .. } => self.complete(leave_ns, call),
            Action::Cancel => call.requests.iter().for_each(|id| self.cancel(enter_ns, *id)),
            Action::RequestFree => call.requests.iter().for_each(|id| {
                self.requests.remove(id);
            }),
            Action::Probe { ref args, found, .. } if args.source != Peer::Null => {
                self.tally.count_probe(args, found)
            }
            Action::CommCreate { comm, .. } => self.create_communicator(comm),
            Action::CommFree { comm } => {
                self.comms.remove(&comm);
            }
            _ => {}
        }
    }

    fn point(&self, at_ns: i64) -> Point {
        Point { at_ns, process: self.process }
    }

    fn membership(&self, comm: CommId) -> Membership {
        self.comms.get(&comm).copied().unwrap_or_else(|| {
            self.has_unresolved_comm.set(true);
            self.comms[&CommId::WORLD]
        })
    }

    fn create_communicator(&mut self, comm: CommId) {
        let communicators = self.setting.communicators;
        let membership = communicators.created_membership(self.process, self.created, self.rank);
        self.created += 1;
        self.comms.extend(membership.map(|membership| (comm, membership)));
    }

    fn send(&mut self, at_ns: i64, args: &SendArgs) {
        let Peer::Rank(dest) = args.dest else {
            self.tally.totals.proc_null += 1;
            return;
        };
        let membership = self.membership(args.comm);
        let to = self.setting.communicators.world_rank(self.rank, membership, dest);
        self.tally.count_send(self.process, self.rank, to, membership.context, args);
        if let Some(to) = to {
            self.sink.record_send(SendEvent { at_ns, from: self.rank, to, bytes: args.bytes.unwrap_or(0) });
        }
    }

    fn receive(
        &mut self,
        (enter_ns, leave_ns): (i64, i64),
        function: Function,
        args: &ReceiveArgs,
        request: Option<RequestId>,
        status: Option<Status>,
    ) {
        let Some(started) = self.post(enter_ns, function, args) else { return };
        match request {
            Some(request) => drop(self.requests.insert(request, Request::Receive(started))),
            None => self.arrive(leave_ns, started.selector, status),
        }
    }

    fn post(&mut self, at_ns: i64, function: Function, args: &ReceiveArgs) -> Option<StartedReceive> {
        let mut is_null = args.source == Peer::Null;
        if args.source == Peer::Any {
            let context = self.membership(args.comm).context;
            is_null = self.setting.null_receives[self.process].contains(self.any_sources, context, args.tag);
            self.any_sources = self.any_sources.wrapping_add(1);
        }
        if is_null {
            self.tally.totals.proc_null += 1;
            return None;
        }
        self.sequence += 1;
        let (selector, number) = (Label::from_receive(self.membership(args.comm), args), self.sequence);
        let took = self.matcher.post(selector, &mut self.messages);
        let message = took.and_then(|slot| Some(self.messages.remove(slot)?.id()));
        let site = self.tally.count_receive(function, selector, took.is_some());
        let posted = PostedReceive { site, ..PostedReceive::of(selector, number) };
        let slot = self.receives.next_slot();
        self.sink.record_step(self.point(at_ns).post(posted.id(slot), selector, message).with_site(site));
        if took.is_none() {
            self.receives.insert(posted);
            self.matcher.queue_receive(&mut self.receives, slot);
        }
        Some(StartedReceive { selector, number, slot })
    }

    /// An older receive may take the message.
    fn arrive(&mut self, at_ns: i64, selector: Label, status: Option<Status>) {
        self.sequence += 1;
        let label = selector.invent_envelope(StatusEnvelope::from_status(status));
        let from = self.world_rank_of(label);
        let slot = self.messages.next_slot();
        let message = MessageRecord::of(label, self.sequence as u32);
        let id = message.id();
        let took = self.matcher.arrive(label, &mut self.receives);
        let receive = took.and_then(|at| Some((self.receives.remove(at)?, at)));
        let site = receive.as_ref().map_or(0, |(receive, _)| receive.site);
        let receive = receive.map(|(receive, at)| (receive.id(at), receive.selector));
        self.sink.record_step(self.point(at_ns).arrive(id, label, from, receive).with_site(site));
        if took.is_none() {
            self.messages.insert(message);
            self.matcher.queue_message(&mut self.messages, slot);
        }
    }

    fn world_rank_of(&self, message: Label) -> u32 {
        let membership = self.comms.values().find(|membership| membership.context == message.context());
        let communicators = self.setting.communicators;
        membership
            .zip(message.source())
            .and_then(|(membership, source)| communicators.world_rank(self.rank, *membership, source))
            .unwrap_or(u32::MAX)
    }

    fn start(&mut self, at_ns: i64, function: Function, id: RequestId) {
        match self.requests.get(&id).copied() {
            Some(Request::PersistentSend(args)) => self.send(at_ns, &args),
            Some(Request::PersistentReceive(args, _)) => {
                let posted = self.post(at_ns, function, &args);
                self.requests.insert(id, Request::PersistentReceive(args, posted));
            }
            _ => {}
        }
    }

    fn complete(&mut self, at_ns: i64, call: &Call) {
        for &Completion { index, status } in &call.completions {
            let Some(id) = call.requests.get(index as usize) else { continue };
            match self.requests.get(id).copied() {
                Some(Request::Receive(started)) => {
                    self.requests.remove(id);
                    self.arrive(at_ns, started.selector, status);
                }
                Some(Request::PersistentReceive(args, Some(started))) => {
                    self.requests.insert(*id, Request::PersistentReceive(args, None));
                    self.arrive(at_ns, started.selector, status);
                }
                _ => {}
            }
        }
    }

    fn forget(&mut self, id: RequestId) {
        match self.requests.get_mut(&id) {
            Some(Request::PersistentReceive(_, started)) => *started = None,
            _ => drop(self.requests.remove(&id)),
        }
    }

    fn cancel(&mut self, at_ns: i64, id: RequestId) {
        let (Some(Request::Receive(started)) | Some(Request::PersistentReceive(_, Some(started)))) =
            self.requests.get(&id).copied()
        else {
            return;
        };
        let StartedReceive { selector, number, slot } = started;
        let is_present = self.receives.get(slot).is_some_and(|receive| receive.number == number);
        let was_posted = is_present && self.matcher.cancel(&mut self.receives, slot);
        if was_posted {
            self.receives.remove(slot);
            self.forget(id);
        }
        self.tally.totals.cancelled += u64::from(was_posted);
        let receive = PostedReceive::of(selector, number).id(slot);
        self.sink.record_step(self.point(at_ns).cancel(receive, selector, was_posted));
    }
}
