//! One process of the traced program, as far as the replay has come: its clock, its requests, its queues.

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

/// Calls of other threads that are read ahead in search of one thread's next call. A thread that has none within so
/// many is left aside until one turns up.
const READ_AHEAD: usize = 4096;

/// Completions that the calls of all processes keep room for: 3 MiB.
const COMPLETIONS: usize = 1 << 16;

/// A process.
pub(crate) struct Process<'t> {
    pub rank: u32,
    reader: Box<dyn RankReader + 't>,
    exhausted: bool,
    /// Calls that were made, for reuse: boxed, because they travel from queue to queue.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<ReadCall>>,
    /// Completions that a call keeps room for while it waits to be made, or to be used again.
    few: usize,
    /// The replay's own matcher.
    pub matcher: Matcher,
    comms: FxHashMap<CommId, Seat>,
    /// The communicator last used: mostly it is the next one too.
    recent: (CommId, Seat),
    /// It uses a communicator that the trace does not explain.
    pub meets_unexplained: bool,
    /// Communicators created so far.
    pub created: usize,
    /// Receives from any source begun so far.
    pub any_sources: u32,
    /// The open call completes a receive.
    pub completes_receive: bool,
    /// Collective calls made so far, by context.
    pub collectives: FxHashMap<Context, u32>,
    pub requests: RequestTable,
    pub receives: Slab<PostedReceive>,
    /// Its messages whose receive it waits for.
    pub waited_sends: u32,
    /// Messages taken by matched probes.
    pub handles: FxHashMap<HandleId, u32>,
    /// Messages under way, by their place in the simulation's table.
    pub inbox: Inbox,
    /// When they arrive, if that was recorded and counts.
    pub in_order: Option<InOrder<'t>>,
    pub lanes: Vec<Lane>,
    /// When the network interface can take the next message.
    pub nic_free_ns: i64,
    /// When it last made a call.
    pub clock_ns: i64,
    /// That call, if it is an only thread's, until the process steps beyond its end.
    pub open_call: Option<CallEnd>,
    /// When it ends, if times are the traced run's.
    pub open_until_ns: i64,
    pub calls: u64,
}

/// One thread of a process.
pub(crate) struct Lane {
    pub thread: u16,
    /// When its last call was left, in the replay.
    pub now_ns: i64,
    /// The same, as recorded.
    pub left_ns: i64,
    pub state: LaneState,
    /// When the call that it is blocked in ended in the traced run, if arrivals are kept within that and it is ahead.
    pub deadline_ns: i64,
    /// The probe that it last waited in: not a part of the state, which is written at every call.
    pub probe: Option<Probe>,
    /// Its next call.
    pub next: Option<Box<ReadCall>>,
    /// Calls behind that which were read already: none while the next is not known, and none of an only thread.
    pub later: VecDeque<Box<ReadCall>>,
}

/// A call that was read.
#[derive(Default)]
pub(crate) struct ReadCall {
    pub call: Call,
    /// Position in the stream of the process, from 1.
    number: u64,
    /// Its completions, if they are many: in less than the 48 bytes each that a trace has for them.
    condensed: Vec<Completed>,
}

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum LaneState {
    /// It computes, and will make its next call.
    Ready,
    /// It is inside a call that cannot complete yet.
    Blocked(Blocked),
    /// It has no call within reach.
    Idle,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Blocked {
    pub reason: Reason,
    /// Things still to happen.
    pub remaining: u32,
    /// It leaves no earlier than this: the call's own time, and what has happened of what it waits for.
    pub leave_ns: i64,
    /// When it began to wait.
    pub since_ns: i64,
}

/// Why a thread waits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Reason {
    /// For sends or receives, its own or those of its requests.
    Messages,
    /// For a message that [`Lane::probe`] reports.
    Probe,
    /// For the other processes of a collective.
    Collective,
}

/// A probe that waits.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub asked: Label,
    pub handle: Option<HandleId>,
    /// What it reported in the traced run.
    pub expected: Option<Reported>,
}

impl ReadCall {
    /// Reads the next call, whose room for completions is kept if it is for no more than a few.
    #[inline(always)]
    fn read(&mut self, reader: &mut dyn RankReader, few: usize) -> Result<bool, TraceError> {
        self.condensed.clear();
        let is_there = reader.read(&mut self.call)?;
        if self.call.completions.capacity() > few {
            self.condense();
        }
        Ok(is_there)
    }

    /// One vector for all processes, lent to whoever reads, took 30 instructions at every other call.
    #[cold]
    fn condense(&mut self) {
        let completions = std::mem::take(&mut self.call.completions);
        self.condensed.reserve_exact(completions.len());
        self.condensed.extend(completions.iter().map(Completed::of));
    }

    /// What of its requests it found complete.
    #[inline]
    pub fn completed(&self) -> impl Iterator<Item = Completed> {
        self.call.completions.iter().map(Completed::of).chain(self.condensed.iter().copied())
    }
}

impl<'t> Process<'t> {
    /// One of so many.
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

    /// Bytes of its stream read so far.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Its place in a communicator. One that the trace does not explain is taken for the world.
    #[inline]
    pub fn seat(&mut self, comm: CommId) -> Seat {
        if self.recent.0 != comm {
            let seat = self.comms.get(&comm).copied();
            self.meets_unexplained |= seat.is_none();
            self.recent = (comm, seat.unwrap_or_else(|| self.comms[&CommId::WORLD]));
        }
        self.recent.1
    }

    /// Whether the trace explains a communicator.
    pub fn has_seat(&self, comm: CommId) -> bool {
        self.comms.contains_key(&comm)
    }

    /// It is a member of a communicator from now on.
    pub fn take_seat(&mut self, comm: CommId, seat: Seat) {
        // An id that is used again without having been freed stands for its old communicator no longer.
        if let Some(old) = self.comms.insert(comm, seat).filter(|old| old.context != seat.context) {
            self.collectives.remove(&old.context);
        }
        self.recent = (comm, seat);
    }

    /// A communicator is freed.
    pub fn leave(&mut self, comm: CommId) {
        if comm == CommId::WORLD || comm == CommId::SELF {
            return;
        }
        if let Some(seat) = self.comms.remove(&comm) {
            self.collectives.remove(&seat.context);
        }
        self.recent = (CommId::WORLD, self.comms[&CommId::WORLD]);
    }

    /// Makes sure that every lane that is not blocked knows its next call, as far as that is within reach.
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
        // Nobody can go on, but the stream does: only a thread that is not known yet can be next.
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

    /// Reads one call and hands it to the lane of its thread; false at the end of the stream.
    fn read_one(&mut self) -> Result<bool, TraceError> {
        if self.exhausted {
            return Ok(false);
        }
        let mut read = self.spare.pop().unwrap_or_default();
        let is_there = read.read(&mut *self.reader, self.few)?;
        Ok(self.file(read, is_there))
    }

    /// Hands a call to the lane of its thread, if it is there; else the stream has ended.
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

    /// The lane whose next call was entered first in the traced run, and that call.
    ///
    /// Threads depend on each other in ways that a trace of MPI does not show, and reuse each other's request ids.
    /// So the calls of a process are entered in the order in which they were in the traced run, and none before a
    /// call that had been left by then. Of calls with one time, the first in the stream is first: the reader gave ids
    /// to requests in that order.
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

    /// Whether it has one thread, and that waits: nothing but what arrives is of interest then.
    #[inline]
    pub fn waits(&self) -> bool {
        matches!(&self.lanes[..], [lane] if matches!(lane.state, LaneState::Blocked(_)))
    }

    /// Whether it has made all its calls.
    pub fn is_finished(&self) -> bool {
        self.exhausted && self.lanes.iter().all(|lane| matches!(lane.state, LaneState::Idle))
    }

    /// A lane makes its next call.
    #[inline]
    pub fn take_next(&mut self, lane: usize) -> Option<Box<ReadCall>> {
        let lane = &mut self.lanes[lane];
        let read = lane.next.take();
        if !lane.later.is_empty() {
            lane.next = lane.later.pop_front();
        }
        read
    }

    /// Takes back a call that was made.
    #[inline]
    pub fn give_back(&mut self, read: Box<ReadCall>) {
        self.spare.push(read);
    }

    /// The lane of the thread that made `call`; a new one begins where the process has come to.
    fn lane_of(&mut self, call: &Call) -> usize {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.thread == call.thread) {
            return lane;
        }
        let latest = self.lanes.iter().max_by_key(|lane| lane.now_ns);
        let (now_ns, left_ns) = latest.map_or((0, call.enter_ns), |lane| (lane.now_ns, lane.left_ns));
        // Mostly there is one, and a vector would make room for four.
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
