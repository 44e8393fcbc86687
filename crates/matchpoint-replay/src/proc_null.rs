//! Receives from `MPI_PROC_NULL` that a trace shows as receives from any source.
//!
//! `MPI_PROC_NULL` of MPICH and any source of DUMPI are both −1. As a wildcard, such a receive would match
//! the message of another receive. Two rules identify receives from `MPI_PROC_NULL`:
//!
//! 1. The receive completed without a source.
//! 2. The program ignored the status, and the messages suffice only for the other receives with the same
//!    context and tag.
//!
//! Rule 2 needs a second pass, which runs only if a receive has an ignored status.

use matchpoint_trace::call::{Action, CommId, Peer, ReceiveArgs, RequestId, Status, TagArg};
use matchpoint_trace::{Call, Trace};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ReplayError;
use crate::bits::Bits;
use crate::communicators::communicator::{Communicators, Context, Membership, WORLD};

/// Receives from `MPI_PROC_NULL`, as numbers among one rank's receives from any source.
#[derive(Clone, Debug, Default)]
pub(crate) struct NullReceives {
    known: Bits,
    /// Receives with an ignored status, and the keys of the receives that are from `MPI_PROC_NULL`.
    unknown: Bits,
    keys: FxHashSet<Key>,
    count: u64,
}

impl NullReceives {
    #[inline]
    pub fn contains(&self, number: u32, context: Context, tag: TagArg) -> bool {
        let undecided = || match tag {
            TagArg::Is(tag) => self.unknown.contains(number) && self.keys.contains(&(context, tag)),
            TagArg::Any => false,
        };
        self.count > 0 && (self.known.contains(number) || undecided())
    }

    pub fn len(&self) -> u64 {
        self.count
    }
}

#[derive(Debug, Default)]
pub(crate) struct AnySourceTracker {
    next: u32,
    open: FxHashMap<RequestId, u32>,
    persistent: FxHashSet<RequestId>,
    found: NullReceives,
    has_unknown: bool,
}

impl AnySourceTracker {
    /// Calls `started` for each started receive, with its number and its request, which is null for a
    /// blocking receive.
    #[inline(always)]
    pub fn note(&mut self, call: &Call, mut started: impl FnMut(u32, RequestId)) {
        match call.action {
            Action::Receive { args: ReceiveArgs { source: Peer::Any, .. }, request: None, status }
            | Action::SendReceive {
                receive: ReceiveArgs { source: Peer::Any, .. },
                request: None,
                status,
                ..
            } => {
                let number = self.number();
                self.end(number, status);
                started(number, RequestId::NULL);
            }
            Action::SendReceive { ref receive, request: Some(request), .. }
                if receive.source == Peer::Any =>
            {
                self.persistent.remove(&request);
                started(self.begin(request), request);
            }
            Action::Receive { ref args, request: Some(request), .. } if args.source == Peer::Any => {
                self.persistent.remove(&request);
                started(self.begin(request), request);
            }
            Action::ReceiveInit { ref args, request } if args.source == Peer::Any => {
                self.persistent.insert(request);
            }
            Action::ReceiveInit { request, .. }
            | Action::SendInit { request, .. }
            | Action::Receive { request: Some(request), .. }
            | Action::SendReceive { request: Some(request), .. }
            | Action::Send { request: Some(request), .. }
                if !self.persistent.is_empty() =>
            {
                self.persistent.remove(&request);
            }
            Action::RequestFree => self.forget(&call.requests),
            Action::Start if !self.persistent.is_empty() => {
                for &request in &call.requests {
                    if self.persistent.contains(&request) {
                        started(self.begin(request), request);
                    }
                }
            }
            Action::Complete { .. } if !self.open.is_empty() => self.complete(call),
            _ => {}
        }
    }

    #[cold]
    fn forget(&mut self, requests: &[RequestId]) {
        for request in requests {
            self.persistent.remove(request);
            self.open.remove(request);
        }
    }

    /// True if a completion can identify a pending receive.
    #[inline]
    pub fn awaits_any(&self) -> bool {
        !self.open.is_empty() || !self.persistent.is_empty()
    }

    fn number(&mut self) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        number
    }

    fn begin(&mut self, request: RequestId) -> u32 {
        let number = self.number();
        self.open.insert(request, number);
        number
    }

    fn complete(&mut self, call: &Call) {
        for completion in &call.completions {
            let request = call.requests.get(completion.index as usize);
            let Some(number) = request.and_then(|request| self.open.remove(request)) else { continue };
            self.end(number, completion.status);
        }
    }

    fn end(&mut self, number: u32, status: Option<Status>) {
        match status {
            None => {
                self.found.unknown.insert(number);
                self.has_unknown = true;
            }
            Some(status) if status.source == Peer::Any && !status.cancelled => {
                self.found.known.insert(number);
                self.found.count += 1;
            }
            Some(_) => {}
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Balance {
    messages: u64,
    receives: u64,
    unknown: u64,
}

/// Context and tag. Receives with both wildcards are never reclassified.
type Key = (Context, i32);

#[derive(Default)]
struct MessageBalance {
    /// Number of messages by receiver and key.
    sent: FxHashMap<(u32, Key), u64>,
    own: FxHashMap<Key, Balance>,
    any_tag: bool,
}

/// Returns the receives from `MPI_PROC_NULL` by process, and the number of undecided receives.
pub(crate) fn classify_receives(
    trace: &dyn Trace,
    communicators: &Communicators,
    found: Vec<AnySourceTracker>,
) -> Result<(Vec<NullReceives>, u64), ReplayError> {
    if found.iter().all(|rank| !rank.has_unknown) {
        return Ok((found.into_iter().map(|rank| rank.found).collect(), 0));
    }
    let ranks = trace.present().par_iter().zip(&found).enumerate();
    let ledgers: Vec<MessageBalance> = ranks
        .map(|(process, (&rank, found))| balance_of_rank(trace, communicators, process, rank, found))
        .collect::<Result<_, _>>()?;
    let mut received: FxHashMap<(u32, Key), u64> = FxHashMap::default();
    for balance_of_rank in &ledgers {
        balance_of_rank
            .sent
            .iter()
            .for_each(|(key, messages)| *received.entry(*key).or_default() += messages);
    }
    // Ranks without a stream may have sent more messages.
    let is_complete = communicators.all[WORLD as usize].is_complete;
    let mut undecided = 0;
    let decided =
        found.into_iter().zip(&ledgers).zip(trace.present()).map(|((rank_found, balance_of_rank), &rank)| {
            let mut found = rank_found.found;
            for (&key, &balance) in balance_of_rank.own.iter().filter(|(_, balance)| balance.unknown > 0) {
                let messages = received.get(&(rank, key)).copied().unwrap_or(0);
                match (Balance { messages, ..balance }).classify(balance_of_rank.any_tag || !is_complete) {
                    Some(true) => {
                        found.keys.insert(key);
                        found.count += balance.unknown;
                    }
                    Some(false) => {}
                    None => undecided += balance.unknown,
                }
            }
            found
        });
    Ok((decided.collect(), undecided))
}

impl Balance {
    /// `None` if undecided. `open`: other receives or messages may match.
    fn classify(self, open: bool) -> Option<bool> {
        if self.messages >= self.receives + self.unknown {
            Some(false)
        } else if self.messages <= self.receives && !open {
            Some(true)
        } else {
            None
        }
    }
}

fn balance_of_rank(
    trace: &dyn Trace,
    communicators: &Communicators,
    process: usize,
    rank: u32,
    found: &AnySourceTracker,
) -> Result<MessageBalance, ReplayError> {
    let mut balance = MessageBalance::default();
    let mut memberships: FxHashMap<CommId, Membership> = Membership::predefined(rank).into_iter().collect();
    let (mut created, mut any_sources, mut persistent) =
        (0, AnySourceTracker::default(), FxHashMap::default());
    let (mut reader, mut call) = (trace.rank(rank)?, Call::default());
    while reader.read(&mut call)? {
        if let Action::CommCreate { comm, .. } = call.action {
            let membership = communicators.created_membership(process, created, rank);
            created += 1;
            memberships.extend(membership.map(|membership| (comm, membership)));
        }
        balance.count_call(&call, communicators, rank, &memberships, &mut persistent);
        any_sources.note(&call, |number, request| {
            let args = match call.action {
                Action::Receive { args, .. } | Action::SendReceive { receive: args, .. } => Some(args),
                _ => persistent.get(&request).and_then(|template| match template {
                    PersistentArgs::Receive(args) => Some(*args),
                    PersistentArgs::Send(_) => None,
                }),
            };
            let Some(args) = args else { return };
            let membership = memberships.get(&args.comm).copied().unwrap_or(memberships[&CommId::WORLD]);
            match args.tag {
                TagArg::Is(_) if found.found.known.contains(number) => {}
                TagArg::Is(tag) => balance.any_source(number, (membership.context, tag), found),
                TagArg::Any => balance.any_tag = true,
            }
        });
    }
    Ok(balance)
}

enum PersistentArgs {
    Send(matchpoint_trace::call::SendArgs),
    Receive(ReceiveArgs),
}

impl MessageBalance {
    fn any_source(&mut self, number: u32, key: Key, found: &AnySourceTracker) {
        let balance = self.own.entry(key).or_default();
        if found.found.unknown.contains(number) {
            balance.unknown += 1;
        } else {
            balance.receives += 1;
        }
    }

    fn count_call(
        &mut self,
        call: &Call,
        communicators: &Communicators,
        rank: u32,
        memberships: &FxHashMap<CommId, Membership>,
        persistent: &mut FxHashMap<RequestId, PersistentArgs>,
    ) {
        let mut send = |args: &matchpoint_trace::call::SendArgs| {
            let membership = memberships.get(&args.comm).copied().unwrap_or(memberships[&CommId::WORLD]);
            let Peer::Rank(dest) = args.dest else { return };
            if let Some(to) = communicators.world_rank(rank, membership, dest) {
                *self.sent.entry((to, (membership.context, args.tag))).or_default() += 1;
            }
        };
        let mut receive = |args: &ReceiveArgs| {
            let Peer::Rank(_) = args.source else { return };
            let membership = memberships.get(&args.comm).copied().unwrap_or(memberships[&CommId::WORLD]);
            match args.tag {
                TagArg::Is(tag) => self.own.entry((membership.context, tag)).or_default().receives += 1,
                TagArg::Any => self.any_tag = true,
            }
        };
        match call.action {
            Action::Send { ref args, .. } => send(args),
            Action::Receive { ref args, .. } => receive(args),
            Action::SendReceive { send: ref sends, receive: ref receives, .. } => {
                send(sends);
                receive(receives);
            }
            Action::SendInit { args, request } => {
                persistent.insert(request, PersistentArgs::Send(args));
            }
            Action::ReceiveInit { args, request } => {
                persistent.insert(request, PersistentArgs::Receive(args));
            }
            Action::Start => {
                for request in &call.requests {
                    match persistent.get(request) {
                        Some(PersistentArgs::Send(args)) => send(args),
                        Some(PersistentArgs::Receive(args)) => receive(args),
                        None => {}
                    }
                }
            }
            _ => {}
        }
    }
}
