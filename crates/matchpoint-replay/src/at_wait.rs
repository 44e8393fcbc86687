//! `--arrivals at_wait`: a message arrives when the call that completes its receive returns.
//!
//! Each rank by itself, in the order of its stream; nothing is ever unexpected, and a receive counts as queued from
//! its post to its completion. This is what the published analyzer assumes (García et al. 2024, §V-A).

use std::sync::atomic::Ordering::Relaxed;

use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector};
use matchpoint_trace::call::{Action, CommId, Completion, Peer, ReceiveArgs, RequestId, SendArgs, Status};
use matchpoint_trace::{Call, Function, RankReader, Trace};
use rustc_hash::FxHashMap;

use crate::ReplayError;
use crate::communicators::{SELF, WORLD};
use crate::matcher::Matcher;
use crate::process::Seat;
use crate::progress::Progress;
use crate::reported::Reported;
use crate::simulation::{Setting, made_up, selector};
use crate::step::{Kind, Sink, Step};
use crate::tally::Tally;

/// Calls between two looks at [`Progress`].
const CALLS_PER_REPORT: u64 = 8192;

/// Replays every rank, one after the other.
pub(crate) fn run<S: Sink>(
    trace: &dyn Trace,
    setting: &Setting<'_>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Tally), ReplayError> {
    let mut tally = Tally::new(setting, trace.present().len());
    for (process, &rank) in trace.present().iter().enumerate() {
        let mut alone = Alone {
            setting,
            process,
            rank,
            matcher: Matcher::new()?,
            comms: [(CommId::WORLD, Seat { context: WORLD, rank, second: false })].into_iter().collect(),
            created: 0,
            any_sources: 0,
            requests: FxHashMap::default(),
            posted: FxHashMap::default(),
            sequence: 0,
            sink: &mut sink,
            tally: &mut tally,
        };
        alone.comms.insert(CommId::SELF, Seat { context: SELF, rank: 0, second: false });
        alone.replay(&mut *trace.rank(rank)?, progress)?;
        let (receives, messages) = (alone.matcher.posted_len(), alone.matcher.unexpected_len());
        tally.totals.unmatched_receives += receives as u64;
        tally.totals.unmatched_messages += messages as u64;
    }
    tally.sum_up();
    Ok((sink, tally))
}

/// One rank.
struct Alone<'a, S> {
    setting: &'a Setting<'a>,
    process: usize,
    rank: u32,
    matcher: Matcher,
    comms: FxHashMap<CommId, Seat>,
    created: usize,
    /// Non-blocking receives from any source begun so far.
    any_sources: u32,
    requests: FxHashMap<RequestId, Request>,
    /// Receives that no message has taken yet, with what they ask for.
    posted: FxHashMap<RecvId, Selector>,
    sequence: u32,
    sink: &'a mut S,
    tally: &'a mut Tally,
}

/// What a request stands for.
#[derive(Clone, Copy)]
enum Request {
    Receive(RecvId, Selector),
    PersistentSend(SendArgs),
    PersistentReceive(ReceiveArgs, Option<(RecvId, Selector)>),
}

impl<S: Sink> Alone<'_, S> {
    fn replay(&mut self, reader: &mut dyn RankReader, progress: &Progress) -> Result<(), ReplayError> {
        let (mut call, mut calls, mut reported) = (Call::default(), 0u64, 0);
        while reader.read(&mut call)? {
            self.act(&call);
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
        Ok(())
    }

    fn act(&mut self, call: &Call) {
        let enter_ns = self.setting.clocks.common(self.process, call.enter_ns);
        let leave_ns = self.setting.clocks.common(self.process, call.leave_ns);
        match call.action {
            Action::Send { ref args, .. } => self.send(args),
            Action::Receive { ref args, request, status } => {
                let posted = self.post(enter_ns, call.function, args, request.is_none());
                match (posted, request) {
                    (Some((id, selector)), Some(request)) => {
                        self.requests.insert(request, Request::Receive(id, selector));
                    }
                    (Some((_, selector)), None) => self.arrive(leave_ns, &selector, status),
                    (None, _) => {}
                }
            }
            Action::SendReceive { ref send, ref receive, request, status } => {
                self.send(send);
                match (self.post(enter_ns, call.function, receive, true), request) {
                    (Some((id, selector)), Some(request)) => {
                        self.requests.insert(request, Request::Receive(id, selector));
                    }
                    (Some((_, selector)), None) => self.arrive(leave_ns, &selector, status),
                    (None, _) => {}
                }
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
                self.tally.probed(args, found)
            }
            Action::CommCreate { comm, .. } => self.create_communicator(comm),
            Action::CommFree { comm } => {
                self.comms.remove(&comm);
            }
            _ => {}
        }
    }

    fn step(&mut self, at_ns: i64, kind: Kind) {
        self.sink.step(Step { at_ns, process: self.process as u32, kind });
    }

    fn seat(&self, comm: CommId) -> Seat {
        self.comms.get(&comm).copied().unwrap_or_else(|| self.comms[&CommId::WORLD])
    }

    fn create_communicator(&mut self, comm: CommId) {
        let communicators = self.setting.communicators;
        let context = communicators.created[self.process].get(self.created).copied().flatten();
        self.created += 1;
        if let Some(context) = context {
            self.comms.insert(comm, Seat::of(self.rank, context, &communicators.all[context as usize]));
        }
    }

    fn send(&mut self, args: &SendArgs) {
        let Peer::Rank(dest) = args.dest else {
            self.tally.totals.proc_null += 1;
            return;
        };
        let seat = self.seat(args.comm);
        let to = self.setting.communicators.world_rank(self.rank, seat, dest);
        self.tally.sent(self.process, self.rank, to, seat.context, args);
    }

    fn post(
        &mut self,
        at_ns: i64,
        function: Function,
        args: &ReceiveArgs,
        blocking: bool,
    ) -> Option<(RecvId, Selector)> {
        let mut is_null = args.source == Peer::Null;
        if args.source == Peer::Any && !blocking {
            let context = self.seat(args.comm).context;
            is_null = self.setting.null_receives[self.process].contains(self.any_sources, context, args.tag);
            self.any_sources = self.any_sources.wrapping_add(1);
        }
        if is_null {
            self.tally.totals.proc_null += 1;
            return None;
        }
        self.sequence += 1;
        let selector = selector(self.seat(args.comm), args);
        let receive = Receive::new(RecvId::new(self.sequence, self.sequence), selector);
        let took = self.matcher.post(receive);
        self.tally.posted(function, &selector, took.is_some());
        self.step(at_ns, Kind::Post { receive, took });
        if took.is_none() {
            self.posted.insert(receive.id, selector);
        }
        Some((receive.id, selector))
    }

    /// The message of that receive arrives. Of several receives that accept it the earliest takes it, as ever; the
    /// messages of the others are still to come.
    fn arrive(&mut self, at_ns: i64, asked: &Selector, status: Option<Status>) {
        self.sequence += 1;
        let (source, tag) = made_up(asked, Reported::of(status));
        let envelope = Envelope::new(ContextId(asked.context().0), source, tag);
        let message = Message::new(MsgId::new(self.sequence, self.sequence), envelope);
        let took = self.matcher.arrive(message);
        let from = self.world_rank_of(asked, source);
        let took = took.and_then(|id| Some(Receive::new(id, self.posted.remove(&id)?)));
        self.step(at_ns, Kind::Arrive { message, from, took });
    }

    fn world_rank_of(&self, asked: &Selector, source: Rank) -> u32 {
        let seat = self.comms.values().find(|seat| seat.context == asked.context().0);
        let source = u32::try_from(source.0).ok();
        let communicators = self.setting.communicators;
        seat.zip(source)
            .and_then(|(seat, source)| communicators.world_rank(self.rank, *seat, source))
            .unwrap_or(u32::MAX)
    }

    fn start(&mut self, at_ns: i64, function: Function, id: RequestId) {
        match self.requests.get(&id).copied() {
            Some(Request::PersistentSend(args)) => self.send(&args),
            Some(Request::PersistentReceive(args, _)) => {
                let posted = self.post(at_ns, function, &args, false);
                self.requests.insert(id, Request::PersistentReceive(args, posted));
            }
            _ => {}
        }
    }

    fn complete(&mut self, at_ns: i64, call: &Call) {
        for &Completion { index, status } in &call.completions {
            let Some(id) = call.requests.get(index as usize) else { continue };
            match self.requests.get(id).copied() {
                Some(Request::Receive(_, selector)) => {
                    self.requests.remove(id);
                    self.arrive(at_ns, &selector, status);
                }
                Some(Request::PersistentReceive(args, Some((_, selector)))) => {
                    self.requests.insert(*id, Request::PersistentReceive(args, None));
                    self.arrive(at_ns, &selector, status);
                }
                _ => {}
            }
        }
    }

    /// What a request began will not complete with a message.
    fn forget(&mut self, id: RequestId) {
        match self.requests.get_mut(&id) {
            Some(Request::PersistentReceive(_, begun)) => *begun = None,
            _ => drop(self.requests.remove(&id)),
        }
    }

    fn cancel(&mut self, at_ns: i64, id: RequestId) {
        let (Some(Request::Receive(receive, _)) | Some(Request::PersistentReceive(_, Some((receive, _))))) =
            self.requests.get(&id).copied()
        else {
            return;
        };
        let was_posted = self.matcher.cancel(receive);
        if was_posted {
            self.posted.remove(&receive);
            self.forget(id);
        }
        self.tally.totals.cancelled += u64::from(was_posted);
        self.step(at_ns, Kind::Cancel { receive, was_posted });
    }
}
