//! Assignment of recorded arrivals to the calls of a trace.
//!
//! The provider (`matchpoint-fabric`) records the times of each match without MPI's arguments; the trace has
//! the calls and their statuses. The n-th post within a call belongs to its n-th receive, because both use
//! one clock. Internal receives of the MPI library are posted in other calls, or later.

use std::sync::atomic::Ordering::Relaxed;

use matchpoint_trace::call::{Action, CommId, HandleId, Peer, ReceiveArgs, RequestId, Status, TagArg};
use matchpoint_trace::{Arrival, Call, Trace};
use rustc_hash::FxHashMap;

use crate::ReplayError;
use crate::communicators::{Communicators, Membership};
use crate::progress::Progress;
use crate::replay::FirstPass;

/// Times of one match, in ticks of the receiving process's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// Time of the post, or of the probe that took the message.
    pub posted: u64,
    /// Time of the arrival; [`u64::MAX`] if no message arrived.
    pub arrived: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AssignedArrivals {
    pub arrivals: Vec<Arrival>,
    pub unknown: u64,
}

/// Assigns matches to receives. `matches` is in the order of [`Trace::present`]. Memory: 40 bytes per match
/// of one rank.
///
/// # Errors
/// The trace is damaged, or has no ticks ([`ReplayError::NoArrivals`]), or [`Progress::stop`] was called.
pub fn assign_arrivals(
    trace: &dyn Trace,
    matches: Vec<Vec<Match>>,
    progress: &Progress,
) -> Result<Vec<AssignedArrivals>, ReplayError> {
    progress.bytes_total.store(trace.description().bytes * 2, Relaxed);
    let FirstPass { communicators, .. } = FirstPass::new(trace, progress)?;
    let ranks = trace.present().iter().zip(matches).enumerate();
    ranks
        .map(|(process, (&rank, matches))| of_rank(trace, &communicators, (process, rank), matches))
        .collect()
}

fn of_rank(
    trace: &dyn Trace,
    communicators: &Communicators,
    (process, rank): (usize, u32),
    matches: Vec<Match>,
) -> Result<AssignedArrivals, ReplayError> {
    let mut ns = trace.nanoseconds(rank).ok_or(ReplayError::NoArrivals)?;
    let mut matches: Vec<ObservedMatch> = matches
        .into_iter()
        .map(|Match { posted, arrived }| ObservedMatch {
            posted_ns: ns(posted),
            arrived_ns: ns(arrived),
            arrived_before_post: arrived < posted,
            has_message: arrived != u64::MAX,
            is_taken: false,
        })
        .collect();
    matches.sort_by_key(|observed| observed.posted_ns);
    let mut assignment = Assignment {
        communicators,
        process,
        rank,
        matches,
        passed: 0,
        comms: Membership::predefined(rank).into_iter().collect(),
        created: 0,
        requests: FxHashMap::default(),
        handles: FxHashMap::default(),
        found: Vec::new(),
        unknown: 0,
    };
    let (mut reader, mut call) = (trace.rank(rank)?, Call::default());
    while reader.read(&mut call)? {
        assignment.execute(&call);
    }
    let Assignment { mut found, unknown, .. } = assignment;
    found.sort_by_key(|&(arrived, arrival)| (arrival.at_ns, arrived));
    Ok(AssignedArrivals { arrivals: found.into_iter().map(|(_, arrival)| arrival).collect(), unknown })
}

#[derive(Clone, Copy)]
struct ObservedMatch {
    posted_ns: i64,
    arrived_ns: i64,
    arrived_before_post: bool,
    has_message: bool,
    is_taken: bool,
}

/// Arrival time for the replay, and exact arrival time.
type ArrivalTime = Option<(i64, i64)>;

#[derive(Clone, Copy)]
struct StartedReceive {
    source: Peer,
    tag: TagArg,
    comm: CommId,
    arrived: ArrivalTime,
}

#[derive(Clone, Copy)]
enum Request {
    Receive(StartedReceive),
    Persistent(ReceiveArgs, Option<StartedReceive>),
}

struct Assignment<'a> {
    communicators: &'a Communicators,
    process: usize,
    rank: u32,
    matches: Vec<ObservedMatch>,
    passed: usize,
    comms: FxHashMap<CommId, Membership>,
    created: usize,
    requests: FxHashMap<RequestId, Request>,
    handles: FxHashMap<HandleId, StartedReceive>,
    found: Vec<(i64, Arrival)>,
    unknown: u64,
}

impl Assignment<'_> {
    fn execute(&mut self, call: &Call) {
        match call.action {
            Action::Receive { args, request, status } => self.receive(call, args, request, status),
            Action::SendReceive { receive, request, status, .. } => {
                self.receive(call, receive, request, status)
            }
            Action::ReceiveInit { args, request } => {
                self.requests.insert(request, Request::Persistent(args, None));
            }
            Action::Start => self.start(call),
            Action::Probe { args, found: true, status, handle: Some(handle), .. } => {
                let started = self.begin(call, args);
                let reported = status.filter(|status| !status.cancelled);
                let started = StartedReceive {
                    source: reported.map_or(started.source, |status| status.source),
                    tag: reported.map_or(started.tag, |status| status.tag),
                    ..started
                };
                self.handles.insert(handle, started);
            }
            Action::MatchedReceive { handle, request, status } => {
                if let Some(started) = self.handles.remove(&handle) {
                    match request {
                        Some(request) => drop(self.requests.insert(request, Request::Receive(started))),
                        None => self.complete(started, status),
                    }
                }
            }
            Action::Complete { .. } => self.completions(call),
            Action::RequestFree => call.requests.iter().for_each(|id| {
                self.requests.remove(id);
            }),
            Action::CommCreate { comm, .. } => {
                let membership = self.communicators.created_membership(self.process, self.created, self.rank);
                self.created += 1;
                self.comms.extend(membership.map(|membership| (comm, membership)));
            }
            Action::CommFree { comm } => {
                self.comms.remove(&comm);
            }
            _ => {}
        }
    }

    /// Assigns posts to the receives that a call starts. A library may match a process's messages to itself
    /// without the provider. With too few posts, receives from the process itself get no arrival. With still
    /// fewer posts, no receive of the call gets an arrival.
    fn start(&mut self, call: &Call) {
        let of = |id: &RequestId| match self.requests.get(id) {
            Some(&Request::Persistent(args, _)) if args.source != Peer::Null => Some((*id, args)),
            _ => None,
        };
        let started: Vec<(RequestId, ReceiveArgs)> = call.requests.iter().filter_map(of).collect();
        let is_own = |args: &ReceiveArgs| {
            let membership = self.comms.get(&args.comm);
            membership.is_some_and(|membership| {
                args.source == Peer::Rank(membership.rank) && !membership.is_in_second_group
            })
        };
        let own: Vec<bool> = started.iter().map(|(_, args)| is_own(args)).collect();
        let others = own.iter().filter(|is_own| !**is_own).count();
        let (count, posts) =
            (started.len(), self.matches_within(call).filter(|observed| !observed.is_taken).count());
        for ((id, args), is_own) in started.into_iter().zip(own) {
            let ReceiveArgs { source, tag, comm, .. } = args;
            let is_missing = posts < others || is_own && posts < count;
            let started = if is_missing {
                StartedReceive { source, tag, comm, arrived: None }
            } else {
                self.begin(call, args)
            };
            self.requests.insert(id, Request::Persistent(args, Some(started)));
        }
    }

    /// Matches posted within a call. The caller passes calls in the order of their entry.
    fn matches_within(&mut self, call: &Call) -> impl Iterator<Item = &mut ObservedMatch> {
        while self.matches.get(self.passed).is_some_and(|observed| observed.posted_ns < call.enter_ns) {
            self.passed += 1;
        }
        self.matches[self.passed..].iter_mut().take_while(|observed| observed.posted_ns <= call.leave_ns)
    }

    fn receive(
        &mut self,
        call: &Call,
        args: ReceiveArgs,
        request: Option<RequestId>,
        status: Option<Status>,
    ) {
        if args.source == Peer::Null {
            return;
        }
        let started = self.begin(call, args);
        match request {
            Some(request) => drop(self.requests.insert(request, Request::Receive(started))),
            None => self.complete(started, status),
        }
    }

    fn begin(&mut self, call: &Call, args: ReceiveArgs) -> StartedReceive {
        let ReceiveArgs { source, tag, comm, .. } = args;
        let taken = self.matches_within(call).find(|observed| !observed.is_taken);
        let arrived = taken.and_then(|observed| {
            observed.is_taken = true;
            if !observed.has_message {
                return None;
            }
            // The replay posts receives at the entry of their call, so a message that arrived before the post
            // must arrive before the entry.
            let at_ns = if observed.arrived_before_post {
                observed.arrived_ns.min(call.enter_ns)
            } else {
                observed.arrived_ns
            };
            Some((at_ns, observed.arrived_ns))
        });
        StartedReceive { source, tag, comm, arrived }
    }

    fn completions(&mut self, call: &Call) {
        for completion in &call.completions {
            let Some(id) = call.requests.get(completion.index as usize) else { continue };
            match self.requests.get(id).copied() {
                Some(Request::Receive(started)) => {
                    self.requests.remove(id);
                    self.complete(started, completion.status);
                }
                Some(Request::Persistent(args, Some(started))) => {
                    self.requests.insert(*id, Request::Persistent(args, None));
                    self.complete(started, completion.status);
                }
                _ => {}
            }
        }
    }

    fn complete(&mut self, started: StartedReceive, status: Option<Status>) {
        if status.is_some_and(|status| status.cancelled) {
            return;
        }
        let source = match (started.source, status.map(|status| status.source)) {
            (Peer::Rank(rank), _) | (Peer::Any, Some(Peer::Rank(rank))) => Some(rank),
            _ => None,
        };
        let tag = match (started.tag, status.map(|status| status.tag)) {
            (TagArg::Is(tag), _) | (TagArg::Any, Some(TagArg::Is(tag))) => Some(tag),
            _ => None,
        };
        let membership = self.comms.get(&started.comm).copied().unwrap_or_else(|| self.comms[&CommId::WORLD]);
        let from = source.and_then(|source| self.communicators.world_rank(self.rank, membership, source));
        let (Some((at_ns, arrived_ns)), Some(from), Some(tag)) = (started.arrived, from, tag) else {
            self.unknown += 1;
            return;
        };
        self.found.push((arrived_ns, Arrival { at_ns, from, tag }));
    }
}
