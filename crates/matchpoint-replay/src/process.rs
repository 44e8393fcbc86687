//! State of a simulated process: clock, threads, requests and queues.

use std::collections::VecDeque;

use matchpoint_trace::call::{CommId, HandleId};
use matchpoint_trace::{Call, RankReader, TraceError};
use rustc_hash::FxHashMap;

use crate::communicators::{Context, SELF, Seat, WORLD};
use crate::entries::PostedReceive;
use crate::in_order::InOrder;
use crate::inbox::Inbox;
use crate::label::Label;
use crate::matcher::Matcher;
use crate::reported::{Completed, Reported};
use crate::requests::RequestTable;
use crate::slab::Slab;
use crate::step::CallEnd;

/// Calls of other threads that are read in search of one thread's next call. A thread without a call within
/// this limit is idle until one appears.
const READ_AHEAD: usize = 4096;

/// Completions that the pooled calls of all processes have room for: 3 MiB.
const COMPLETIONS: usize = 1 << 16;

pub(crate) struct Process<'t> {
    pub rank: u32,
    reader: Box<dyn RankReader + 't>,
    exhausted: bool,
    /// Executed calls for reuse. They are boxed, because they move between queues.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<ReadCall>>,
    /// Completions that a pooled call keeps room for.
    few: usize,
    pub matcher: Matcher,
    comms: FxHashMap<CommId, Seat>,
    /// The communicator last used, which is usually the next one too.
    recent: (CommId, Seat),
    /// The process uses a communicator that the trace does not resolve.
    pub meets_unexplained: bool,
    /// Communicators created so far.
    pub created: usize,
    /// Receives from any source started so far.
    pub any_sources: u32,
    /// The current call completes a receive.
    pub completes_receive: bool,
    /// Number of collective calls, by context.
    pub collectives: FxHashMap<Context, u32>,
    pub requests: RequestTable,
    pub receives: Slab<PostedReceive>,
    /// Messages for whose match the process waits.
    pub waited_sends: u32,
    /// Messages taken by matched probes.
    pub handles: FxHashMap<HandleId, u32>,
    /// Messages in flight, by their index in the simulation's table.
    pub inbox: Inbox,
    /// Recorded arrivals, if the arrival order is recorded.
    pub in_order: Option<InOrder<'t>>,
    pub lanes: Vec<Lane>,
    /// Time at which the network interface can send the next message.
    pub nic_free_ns: i64,
    /// Time of the last call.
    pub clock_ns: i64,
    /// The last call of a process with one thread, until a step after its end.
    pub open_call: Option<CallEnd>,
    /// Recorded end of that call, if the replay uses recorded times.
    pub open_until_ns: i64,
    pub calls: u64,
}

/// A thread of a process.
pub(crate) struct Lane {
    pub thread: u16,
    /// End of its last call, in the time of the replay.
    pub now_ns: i64,
    /// End of its last call, as recorded.
    pub left_ns: i64,
    pub state: LaneState,
    /// Recorded end of the call in which the thread is blocked, if it limits arrivals and is in the future.
    pub deadline_ns: i64,
    /// The last probe that blocked. It is not part of the state, which every call writes.
    pub probe: Option<Probe>,
    pub next: Option<Box<ReadCall>>,
    /// Later calls that were already read. Empty while `next` is unknown, and for a process with one thread.
    pub later: VecDeque<Box<ReadCall>>,
}

/// A call from the trace.
#[derive(Default)]
pub(crate) struct ReadCall {
    pub call: Call,
    /// Position in the stream of the process, from 1.
    number: u64,
    /// Many completions, in less than the trace's 48 bytes each.
    condensed: Vec<Completed>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum LaneState {
    /// The thread computes, or is about to make its next call.
    Ready,
    /// The thread is in a call that cannot complete yet.
    Blocked(Blocked),
    /// The reader found no call of the thread within [`READ_AHEAD`].
    Idle,
}

/// State of a blocking call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Blocked {
    pub reason: Reason,
    /// Number of events that the call waits for.
    pub remaining: u32,
    /// Lower bound of the call's end: its recorded duration, and the events so far.
    pub leave_ns: i64,
    /// Begin of the wait.
    pub since_ns: i64,
}

/// Event that a thread waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Reason {
    /// Sends or receives, of the call or of its requests.
    Messages,
    /// A message that [`Lane::probe`] matches.
    Probe,
    /// The other processes of a collective.
    Collective,
}

/// A blocking probe.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub asked: Label,
    pub handle: Option<HandleId>,
    /// Source and tag in the recorded status.
    pub expected: Option<Reported>,
}

impl ReadCall {
    /// Reads the next call. Keeps the capacity for completions up to `few`.
    #[inline(always)]
    fn read(&mut self, reader: &mut dyn RankReader, few: usize) -> Result<bool, TraceError> {
        self.condensed.clear();
        let is_there = reader.read(&mut self.call)?;
        if self.call.completions.capacity() > few {
            self.condense();
        }
        Ok(is_there)
    }

    /// A vector shared by all processes took 30 instructions at every other call.
    #[cold]
    fn condense(&mut self) {
        let completions = std::mem::take(&mut self.call.completions);
        self.condensed.reserve_exact(completions.len());
        self.condensed.extend(completions.iter().map(Completed::of));
    }

    /// Requests that the call completed.
    #[inline]
    pub fn completed(&self) -> impl Iterator<Item = Completed> {
        self.call.completions.iter().map(Completed::of).chain(self.condensed.iter().copied())
    }
}

impl<'t> Process<'t> {
    /// Process of a job with `processes` processes.
    pub fn new(rank: u32, reader: Box<dyn RankReader + 't>, matcher: Matcher, processes: usize) -> Self {
        let comms = [
            (CommId::WORLD, Seat { context: WORLD, rank, second: false }),
            (CommId::SELF, Seat { context: SELF, rank: 0, second: false }),
        ];
        Process {
            rank,
            reader,
            exhausted: false,
            spare: Vec::new(),
            few: COMPLETIONS / processes.max(1),
            matcher,
            comms: comms.into_iter().collect(),
            recent: comms[0],
            meets_unexplained: false,
            created: 0,
            any_sources: 0,
            completes_receive: false,
            collectives: FxHashMap::default(),
            requests: RequestTable::default(),
            receives: Slab::default(),
            waited_sends: 0,
            handles: FxHashMap::default(),
            inbox: Inbox::default(),
            in_order: None,
            lanes: Vec::new(),
            nic_free_ns: 0,
            clock_ns: i64::MIN,
            open_call: None,
            open_until_ns: i64::MAX,
            calls: 0,
        }
    }

    /// Bytes of the stream read so far.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Context and rank of the process in a communicator. An unresolved communicator is treated as
    /// `MPI_COMM_WORLD`.
    #[inline]
    pub fn seat(&mut self, comm: CommId) -> Seat {
        if self.recent.0 != comm {
            let seat = self.comms.get(&comm).copied();
            self.meets_unexplained |= seat.is_none();
            self.recent = (comm, seat.unwrap_or_else(|| self.comms[&CommId::WORLD]));
        }
        self.recent.1
    }

    /// Returns true if the trace resolves the communicator.
    pub fn has_seat(&self, comm: CommId) -> bool {
        self.comms.contains_key(&comm)
    }

    /// Adds a communicator of which the process is a member.
    pub fn take_seat(&mut self, comm: CommId, seat: Seat) {
        // A new communicator may reuse an id that the program did not free.
        if let Some(old) = self.comms.insert(comm, seat).filter(|old| old.context != seat.context) {
            self.collectives.remove(&old.context);
        }
        self.recent = (comm, seat);
    }

    /// Removes a freed communicator.
    pub fn leave(&mut self, comm: CommId) {
        if comm == CommId::WORLD || comm == CommId::SELF {
            return;
        }
        if let Some(seat) = self.comms.remove(&comm) {
            self.collectives.remove(&seat.context);
        }
        self.recent = (CommId::WORLD, self.comms[&CommId::WORLD]);
    }

    /// Reads the next call of every lane that is not blocked, within [`READ_AHEAD`].
    #[inline(always)]
    pub fn look_ahead(&mut self) -> Result<(), TraceError> {
        if let [lane] = &mut self.lanes[..] {
            if lane.next.is_some() || matches!(lane.state, LaneState::Blocked(_)) {
                return Ok(());
            }
            if !self.exhausted {
                let mut read = self.spare.pop().unwrap_or_default();
                let is_there = read.read(&mut *self.reader, self.few)?;
                if is_there && read.call.thread == lane.thread {
                    self.calls += 1;
                    read.number = self.calls;
                    lane.next = Some(read);
                    return Ok(());
                }
                self.file(read, is_there);
            }
        }
        self.look_further_ahead()
    }

    fn look_further_ahead(&mut self) -> Result<(), TraceError> {
        if self.lanes.is_empty() {
            self.read_one()?;
        }
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].next.is_none() && matches!(self.lanes[lane].state, LaneState::Ready) {
                self.read_for(lane)?;
            }
        }
        // All threads are idle, but the stream continues: the next call is of a new thread.
        while !self.exhausted && self.lanes.iter().all(|lane| matches!(lane.state, LaneState::Idle)) {
            self.read_one()?;
        }
        Ok(())
    }

    fn read_for(&mut self, lane: usize) -> Result<(), TraceError> {
        let limit = if self.lanes.len() == 1 { usize::MAX } else { READ_AHEAD };
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

    /// Reads one call and adds it to the lane of its thread. Returns false at the end of the stream.
    fn read_one(&mut self) -> Result<bool, TraceError> {
        if self.exhausted {
            return Ok(false);
        }
        let mut read = self.spare.pop().unwrap_or_default();
        let is_there = read.read(&mut *self.reader, self.few)?;
        Ok(self.file(read, is_there))
    }

    /// Adds a call to the lane of its thread. Without a call, the stream has ended.
    fn file(&mut self, mut read: Box<ReadCall>, is_there: bool) -> bool {
        self.exhausted = !is_there;
        if is_there {
            self.calls += 1;
            read.number = self.calls;
            let lane = self.lane_of(&read.call);
            let lane = &mut self.lanes[lane];
            match lane.next {
                None => lane.next = Some(read),
                Some(_) => lane.later.push_back(read),
            }
            if matches!(lane.state, LaneState::Idle) {
                lane.state = LaneState::Ready;
            }
        }
        is_there
    }

    /// Returns the lane whose next call was entered first in the traced run, and the call.
    ///
    /// Threads synchronize in ways that a trace of MPI does not show, and reuse each other's request ids. The
    /// calls of a process are therefore entered in recorded order. A call is not entered before a call with
    /// an earlier recorded end has completed. Of calls with equal times, the first in the stream is entered
    /// first, because the reader assigned request ids in that order.
    #[inline]
    pub fn first_to_enter(&self) -> Option<(usize, &Call)> {
        if let [lane] = &self.lanes[..] {
            let read = lane.next.as_deref().filter(|_| matches!(lane.state, LaneState::Ready))?;
            return Some((0, &read.call));
        }
        self.first_of_all_to_enter()
    }

    fn first_of_all_to_enter(&self) -> Option<(usize, &Call)> {
        let ready = self.lanes.iter().enumerate().filter(|(_, lane)| matches!(lane.state, LaneState::Ready));
        let calls = ready.filter_map(|(at, lane)| Some((at, lane.next.as_deref()?)));
        let (at, ReadCall { call: first, .. }) =
            calls.min_by_key(|(_, read)| (read.call.enter_ns, read.number))?;
        let unfinished = self.lanes.iter().filter(|lane| matches!(lane.state, LaneState::Blocked(_)));
        let is_free = unfinished.into_iter().all(|lane| lane.left_ns >= first.enter_ns);
        is_free.then_some((at, first))
    }

    /// Returns true if the only thread of the process is blocked.
    #[inline]
    pub fn waits(&self) -> bool {
        matches!(&self.lanes[..], [lane] if matches!(lane.state, LaneState::Blocked(_)))
    }

    /// Returns true if the process has made all its calls.
    pub fn is_finished(&self) -> bool {
        self.exhausted && self.lanes.iter().all(|lane| matches!(lane.state, LaneState::Idle))
    }

    /// Removes the next call of a lane.
    #[inline]
    pub fn take_next(&mut self, lane: usize) -> Option<Box<ReadCall>> {
        let lane = &mut self.lanes[lane];
        let read = lane.next.take();
        if !lane.later.is_empty() {
            lane.next = lane.later.pop_front();
        }
        read
    }

    /// Returns an executed call to the pool.
    #[inline]
    pub fn give_back(&mut self, read: Box<ReadCall>) {
        self.spare.push(read);
    }

    /// Returns the lane of the thread that made `call`. A new lane starts at the latest time of the process.
    fn lane_of(&mut self, call: &Call) -> usize {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.thread == call.thread) {
            return lane;
        }
        let latest = self.lanes.iter().max_by_key(|lane| lane.now_ns);
        let (now_ns, left_ns) = latest.map_or((0, call.enter_ns), |lane| (lane.now_ns, lane.left_ns));
        // Usually one lane: a plain `push` would allocate four.
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
