//! State of a simulated process.

use std::collections::VecDeque;

use matchpoint_trace::call::{CommId, HandleId};
use matchpoint_trace::{Call, RankReader, TraceError};
use rustc_hash::FxHashMap;

use crate::communicators::{Context, Membership};
use crate::entries::PostedReceive;
use crate::inbox::Inbox;
use crate::label::Label;
use crate::matcher::Matcher;
use crate::recorded_arrivals::RecordedArrivals;
use crate::requests::RequestTable;
use crate::slab::Slab;
use crate::status_envelope::{CompletedRequest, StatusEnvelope};
use crate::step::CallEnd;

/// Maximum number of calls read to find one thread's next call. Without a call, the thread is idle.
const CALLS_READ_MAX: usize = 4096;

/// Completions of the pooled calls of all processes: 3 MiB.
const COMPLETIONS: usize = 1 << 16;

pub(crate) struct Process<'t> {
    pub rank: u32,
    reader: Box<dyn RankReader + 't>,
    is_exhausted: bool,
    #[allow(clippy::vec_box)]
    spare: Vec<Box<ReadCall>>,
    completions_max: usize,
    pub matcher: Matcher,
    comms: FxHashMap<CommId, Membership>,
    /// Cache for the next lookup, usually of the same communicator.
    recent: (CommId, Membership),
    pub has_unresolved_comm: bool,
    pub created: usize,
    pub any_sources: u32,
    pub completes_receive: bool,
    pub collectives: FxHashMap<Context, u32>,
    pub requests: RequestTable,
    pub receives: Slab<PostedReceive>,
    pub waited_sends: u32,
    pub handles: FxHashMap<HandleId, u32>,
    pub inbox: Inbox,
    pub recorded_arrivals: Option<RecordedArrivals<'t>>,
    pub lanes: Vec<Lane>,
    /// Time from which the network interface is free.
    pub nic_free_ns: i64,
    pub clock_ns: i64,
    /// For a process with one thread: the last call, until a step after the end of the call.
    pub open_call: Option<CallEnd>,
    /// Recorded end of the open call, if recorded times are in use.
    pub open_until_ns: i64,
    pub calls: u64,
}

pub(crate) struct Lane {
    pub thread: u16,
    pub now_ns: i64,
    pub left_ns: i64,
    pub state: LaneState,
    /// Recorded end of the blocking call, if it limits arrivals.
    pub deadline_ns: i64,
    /// The last blocking probe. A separate field, because every call writes the other state.
    pub probe: Option<Probe>,
    pub next: Option<Box<ReadCall>>,
    /// Calls read ahead; empty while `next` is unknown, and for a process with one thread.
    pub later: VecDeque<Box<ReadCall>>,
}

#[derive(Default)]
pub(crate) struct ReadCall {
    pub call: Call,
    number: u64,
    /// Completions of a call with many completions, in less than 48 bytes each.
    compact_completions: Vec<CompletedRequest>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum LaneState {
    Ready,
    Blocked(Blocked),
    /// The reader found no call of the thread within [`CALLS_READ_MAX`] calls.
    Idle,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Blocked {
    pub reason: BlockReason,
    pub remaining: u32,
    /// Lower bound of the call's end: the recorded duration, and the events so far.
    pub leave_ns: i64,
    pub since_ns: i64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum BlockReason {
    Messages,
    Probe,
    Collective,
}

#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub selector: Label,
    pub handle: Option<HandleId>,
    pub expected: Option<StatusEnvelope>,
}

impl ReadCall {
    #[inline(always)]
    fn read(&mut self, reader: &mut dyn RankReader, completions_max: usize) -> Result<bool, TraceError> {
        self.compact_completions.clear();
        let is_present = reader.read(&mut self.call)?;
        if self.call.completions.capacity() > completions_max {
            self.compact_completions();
        }
        Ok(is_present)
    }

    /// A vector shared by all processes took 30 instructions at every other call.
    #[cold]
    fn compact_completions(&mut self) {
        let completions = std::mem::take(&mut self.call.completions);
        self.compact_completions.reserve_exact(completions.len());
        self.compact_completions.extend(completions.iter().map(CompletedRequest::from_completion));
    }

    #[inline]
    pub fn completed(&self) -> impl Iterator<Item = CompletedRequest> {
        self.call
            .completions
            .iter()
            .map(CompletedRequest::from_completion)
            .chain(self.compact_completions.iter().copied())
    }
}

impl<'t> Process<'t> {
    pub fn new(rank: u32, reader: Box<dyn RankReader + 't>, matcher: Matcher, processes: usize) -> Self {
        let comms = Membership::predefined(rank);
        Process {
            rank,
            reader,
            is_exhausted: false,
            spare: Vec::new(),
            completions_max: COMPLETIONS / processes.max(1),
            matcher,
            comms: comms.into_iter().collect(),
            recent: comms[0],
            has_unresolved_comm: false,
            created: 0,
            any_sources: 0,
            completes_receive: false,
            collectives: FxHashMap::default(),
            requests: RequestTable::default(),
            receives: Slab::default(),
            waited_sends: 0,
            handles: FxHashMap::default(),
            inbox: Inbox::default(),
            recorded_arrivals: None,
            lanes: Vec::new(),
            nic_free_ns: 0,
            clock_ns: i64::MIN,
            open_call: None,
            open_until_ns: i64::MAX,
            calls: 0,
        }
    }

    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Membership in a communicator. An unresolved communicator is treated as `MPI_COMM_WORLD`.
    #[inline]
    pub fn membership(&mut self, comm: CommId) -> Membership {
        if self.recent.0 != comm {
            let membership = self.comms.get(&comm).copied();
            self.has_unresolved_comm |= membership.is_none();
            self.recent = (comm, membership.unwrap_or_else(|| self.comms[&CommId::WORLD]));
        }
        self.recent.1
    }

    pub fn has_membership(&self, comm: CommId) -> bool {
        self.comms.contains_key(&comm)
    }

    pub fn add_membership(&mut self, comm: CommId, membership: Membership) {
        // The id may still be in use if the program did not free the communicator.
        if let Some(old) = self.comms.insert(comm, membership).filter(|old| old.context != membership.context)
        {
            self.collectives.remove(&old.context);
        }
        self.recent = (comm, membership);
    }

    pub fn leave(&mut self, comm: CommId) {
        if comm == CommId::WORLD || comm == CommId::SELF {
            return;
        }
        if let Some(membership) = self.comms.remove(&comm) {
            self.collectives.remove(&membership.context);
        }
        self.recent = (CommId::WORLD, self.comms[&CommId::WORLD]);
    }

    #[inline(always)]
    pub fn read_next_calls(&mut self) -> Result<(), TraceError> {
        if let [lane] = &mut self.lanes[..] {
            if lane.next.is_some() || matches!(lane.state, LaneState::Blocked(_)) {
                return Ok(());
            }
            if !self.is_exhausted {
                let mut read = self.spare.pop().unwrap_or_default();
                let is_present = read.read(&mut *self.reader, self.completions_max)?;
                if is_present && read.call.thread == lane.thread {
                    self.calls += 1;
                    read.number = self.calls;
                    lane.next = Some(read);
                    return Ok(());
                }
                self.assign_to_lane(read, is_present);
            }
        }
        self.read_calls_of_lanes()
    }

    fn read_calls_of_lanes(&mut self) -> Result<(), TraceError> {
        if self.lanes.is_empty() {
            self.read_one()?;
        }
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].next.is_none() && matches!(self.lanes[lane].state, LaneState::Ready) {
                self.read_for(lane)?;
            }
        }
        // The next call may be of a new thread, without a lane.
        while !self.is_exhausted && self.lanes.iter().all(|lane| matches!(lane.state, LaneState::Idle)) {
            self.read_one()?;
        }
        Ok(())
    }

    fn read_for(&mut self, lane: usize) -> Result<(), TraceError> {
        let limit = if self.lanes.len() == 1 { usize::MAX } else { CALLS_READ_MAX };
        for _ in 0..limit {
            if !self.read_one()? || self.lanes[lane].next.is_some() {
                break;
            }
        }
        if self.lanes[lane].next.is_none() {
            self.lanes[lane].state = LaneState::Idle;
        }
        Ok(())
    }

    fn read_one(&mut self) -> Result<bool, TraceError> {
        if self.is_exhausted {
            return Ok(false);
        }
        let mut read = self.spare.pop().unwrap_or_default();
        let is_present = read.read(&mut *self.reader, self.completions_max)?;
        Ok(self.assign_to_lane(read, is_present))
    }

    fn assign_to_lane(&mut self, mut read: Box<ReadCall>, is_present: bool) -> bool {
        self.is_exhausted = !is_present;
        if is_present {
            self.calls += 1;
            read.number = self.calls;
            let lane = self.lane_of_thread(&read.call);
            let lane = &mut self.lanes[lane];
            match lane.next {
                None => lane.next = Some(read),
                Some(_) => lane.later.push_back(read),
            }
            if matches!(lane.state, LaneState::Idle) {
                lane.state = LaneState::Ready;
            }
        }
        is_present
    }

    /// The call that the traced program entered first, and its lane.
    ///
    /// Threads synchronize in ways that a trace does not show, and reuse the request ids of other threads.
    /// Calls are therefore entered in recorded order, and not before a call with an earlier recorded end has
    /// completed. If times are equal, the order of the stream counts, because the reader assigned request ids
    /// in this order.
    #[inline]
    pub fn next_call_to_enter(&self) -> Option<(usize, &Call)> {
        if let [lane] = &self.lanes[..] {
            let read = lane.next.as_deref().filter(|_| matches!(lane.state, LaneState::Ready))?;
            return Some((0, &read.call));
        }
        self.next_call_of_lanes()
    }

    fn next_call_of_lanes(&self) -> Option<(usize, &Call)> {
        let ready = self.lanes.iter().enumerate().filter(|(_, lane)| matches!(lane.state, LaneState::Ready));
        let calls = ready.filter_map(|(at, lane)| Some((at, lane.next.as_deref()?)));
        let (at, ReadCall { call: first, .. }) =
            calls.min_by_key(|(_, read)| (read.call.enter_ns, read.number))?;
        let unfinished = self.lanes.iter().filter(|lane| matches!(lane.state, LaneState::Blocked(_)));
        let is_free = unfinished.into_iter().all(|lane| lane.left_ns >= first.enter_ns);
        is_free.then_some((at, first))
    }

    #[inline]
    pub fn is_blocked(&self) -> bool {
        matches!(&self.lanes[..], [lane] if matches!(lane.state, LaneState::Blocked(_)))
    }

    pub fn is_finished(&self) -> bool {
        self.is_exhausted && self.lanes.iter().all(|lane| matches!(lane.state, LaneState::Idle))
    }

    #[inline]
    pub fn take_next_call(&mut self, lane: usize) -> Option<Box<ReadCall>> {
        let lane = &mut self.lanes[lane];
        let read = lane.next.take();
        if !lane.later.is_empty() {
            lane.next = lane.later.pop_front();
        }
        read
    }

    #[inline]
    pub fn recycle_call(&mut self, read: Box<ReadCall>) {
        self.spare.push(read);
    }

    /// A new lane starts at the latest time of the process.
    fn lane_of_thread(&mut self, call: &Call) -> usize {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.thread == call.thread) {
            return lane;
        }
        let latest = self.lanes.iter().max_by_key(|lane| lane.now_ns);
        let (now_ns, left_ns) = latest.map_or((0, call.enter_ns), |lane| (lane.now_ns, lane.left_ns));
        // `push` would allocate four elements.
        self.lanes.reserve_exact(1);
        self.lanes.push(Lane {
            thread: call.thread,
            now_ns,
            left_ns,
            state: LaneState::Ready,
            deadline_ns: crate::schedule::NEVER,
            probe: None,
            next: None,
            later: VecDeque::new(),
        });
        self.lanes.len() - 1
    }
}
