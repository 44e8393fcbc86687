//! Memory of a replay does not grow with the length of a trace: a loop with four times as many turns takes no
//! more memory.
//!
//! Traces are generated while they are read. The tests measure allocations during the second pass, because
//! the first pass may collect data in any order. A separate program with one test at a time has no other
//! allocations.

use std::alloc::System;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cap::Cap;
use matchpoint_replay::{Arrivals, LogGp, Options, Progress, profile, replay};
use matchpoint_trace::call::*;
use matchpoint_trace::{Call, Description, Function, RankReader, Trace, TraceError};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

static ALONE: Mutex<()> = Mutex::new(());

struct Turn {
    rank: u32,
    turn: u32,
    calls: Vec<Call>,
}

const RANKS: u32 = 4;

type Body = fn(&mut Turn);

struct Loop {
    description: Description,
    body: Body,
    turns: u32,
    opened: AtomicUsize,
    peak: AtomicUsize,
}

struct Rank<'a> {
    of: &'a Loop,
    now: Turn,
    next: usize,
    clock_ns: i64,
    is_measured: bool,
}

impl Loop {
    fn new(body: Body, turns: u32) -> Self {
        let description = Description {
            format: "made up".into(),
            path: PathBuf::from("memory"),
            ranks: RANKS,
            bytes: 1,
            ..Description::default()
        };
        Loop { description, body, turns, opened: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Peak of the allocated bytes, measured at the calls of later passes.
    fn peak(self, pass: impl Fn(&dyn Trace)) -> usize {
        let before = MEMORY.allocated();
        pass(&self);
        self.peak.load(Relaxed).saturating_sub(before)
    }
}

impl Trace for Loop {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &[0, 1, 2, 3]
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let is_measured = self.opened.fetch_add(1, Relaxed) >= RANKS as usize;
        let mut now = Turn { rank, turn: 0, calls: Vec::new() };
        (self.body)(&mut now);
        Ok(Box::new(Rank { of: self, now, next: 0, clock_ns: 0, is_measured }))
    }
}

impl RankReader for Rank<'_> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        while self.next == self.now.calls.len() {
            if self.is_measured {
                self.of.peak.fetch_max(MEMORY.allocated(), Relaxed);
            }
            if self.now.turn + 1 == self.of.turns {
                return Ok(false);
            }
            self.now.turn += 1;
            self.now.calls.clear();
            (self.of.body)(&mut self.now);
            self.next = 0;
        }
        call.clone_from(&self.now.calls[self.next]);
        (call.enter_ns, call.leave_ns) = (self.clock_ns, self.clock_ns + 100);
        self.clock_ns += 1000;
        self.next += 1;
        Ok(true)
    }

    fn position(&self) -> u64 {
        0
    }
}

impl Turn {
    fn call(&mut self, function: Function, action: Action) -> &mut Call {
        self.calls.push(Call { function, action, ..Call::default() });
        self.calls.last_mut().expect("it was just pushed")
    }

    fn create(&mut self, function: Function, parent: CommId, how: NewComm, comm: CommId) -> &mut Call {
        self.call(function, Action::CommCreate { parent, how, comm, request: None })
    }

    fn free(&mut self, comm: CommId) {
        self.call(Function::Comm_free, Action::CommFree { comm });
    }

    fn comm(&self, of_turn: u32) -> CommId {
        CommId(10 + self.turn * 4 + of_turn)
    }

    fn request(&self, of_turn: u32) -> RequestId {
        RequestId(1 + self.turn * 4 + of_turn)
    }

    fn send(&mut self, comm: CommId, dest: u32, tag: i32, request: Option<RequestId>) {
        let (mode, dest) = (SendMode::Standard, Peer::Rank(dest));
        let args = SendArgs { mode, dest, tag, comm, bytes: Some(8) };
        let function = if request.is_some() { Function::Isend } else { Function::Send };
        self.call(function, Action::Send { args, request });
    }

    fn receive(&mut self, comm: CommId, source: Peer, tag: TagArg, request: Option<RequestId>) {
        let args = ReceiveArgs { source, tag, comm, bytes: Some(8) };
        let function = if request.is_some() { Function::Irecv } else { Function::Recv };
        self.call(function, Action::Receive { args, request, status: None });
    }

    fn wait(&mut self, request: RequestId, cancelled: bool) {
        let status = Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled };
        let action = Action::Complete { awaits: Await::All, blocking: true };
        let call = self.call(Function::Wait, action);
        call.requests.push(request);
        call.completions.push(Completion { index: 0, status: cancelled.then_some(status) });
    }

    fn ring(&mut self, comm: CommId, rank: u32, ranks: u32) {
        self.ring_tagged(comm, rank, ranks, 0);
    }

    fn ring_tagged(&mut self, comm: CommId, rank: u32, ranks: u32, tag: i32) {
        self.send(comm, (rank + 1) % ranks, tag, None);
        self.receive(comm, Peer::Rank((rank + ranks - 1) % ranks), TagArg::Is(tag), None);
    }

    fn barrier(&mut self, request: Option<RequestId>) {
        let function = if request.is_some() { Function::Ibarrier } else { Function::Barrier };
        let (comm, root, bytes) = (CommId::WORLD, None, None);
        self.call(function, Action::Collective { comm, root, bytes, request });
    }

    fn create_from_world(&mut self, function: Function, how: NewComm) -> &mut Call {
        let comm = self.comm(0);
        self.create(function, CommId::WORLD, how, comm)
    }
}

fn use_and_free(turn: &mut Turn, ranks: u32) {
    let (comm, rank) = (turn.comm(0), turn.rank % ranks);
    turn.ring(comm, rank, ranks);
    turn.free(comm);
}

fn halves(turn: &mut Turn, comm: CommId) {
    let color = Some((turn.rank / 2) as i32);
    turn.create(Function::Comm_split, CommId::WORLD, NewComm::Split { color, key: 0 }, comm);
}

fn create_over_members(turn: &mut Turn, function: Function, parent: CommId, tag: i64) {
    let comm = turn.comm(0);
    let first = turn.rank as i32 / 2 * 2;
    let how = NewComm::Listed { own: 2, tag: Some(tag) };
    turn.create(function, parent, how, comm).integers = vec![first, first + 1];
    use_and_free(turn, 2);
}

const COMMUNICATORS: &[(&str, Body)] = &[
    ("MPI_Comm_dup", |turn| {
        turn.create_from_world(Function::Comm_dup, NewComm::Dup);
        use_and_free(turn, RANKS);
    }),
    ("MPI_Comm_idup", |turn| {
        let (comm, request) = (turn.comm(0), turn.request(0));
        let action =
            Action::CommCreate { parent: CommId::WORLD, how: NewComm::Dup, comm, request: Some(request) };
        turn.call(Function::Comm_idup, action);
        turn.wait(request, false);
        use_and_free(turn, RANKS);
    }),
    ("MPI_Comm_split", |turn| {
        let comm = turn.comm(0);
        halves(turn, comm);
        use_and_free(turn, 2);
    }),
    ("MPI_Comm_split, colours of its own each time", |turn| {
        let color = Some((turn.turn * 2 + turn.rank / 2) as i32);
        turn.create_from_world(Function::Comm_split, NewComm::Split { color, key: 0 });
        use_and_free(turn, 2);
    }),
    ("MPI_Comm_create", |turn| {
        let (all, own) = (GroupId(10 + 2 * turn.turn), GroupId(11 + 2 * turn.turn));
        let how = NewGroup::OfComm(CommId::WORLD);
        turn.call(Function::Comm_group, Action::GroupCreate { how, group: all });
        let first = turn.rank as i32 / 2 * 2;
        let how = NewGroup::Include(all);
        turn.call(Function::Group_incl, Action::GroupCreate { how, group: own }).integers =
            vec![first, first + 1];
        turn.create_from_world(Function::Comm_create, NewComm::Group(own));
        for group in [all, own] {
            turn.call(Function::Group_free, Action::GroupFree { group });
        }
        use_and_free(turn, 2);
    }),
    ("MPI_Comm_create_group", |turn| {
        create_over_members(turn, Function::Comm_create_group, CommId::WORLD, 7)
    }),
    ("MPI_Comm_create_group, tags of its own each time", |turn| {
        create_over_members(turn, Function::Comm_create_group, CommId::WORLD, turn.turn.into())
    }),
    ("MPI_Comm_create_from_group", |turn| {
        create_over_members(turn, Function::Comm_create_from_group, CommId::NULL, turn.turn.into())
    }),
    ("MPI_Cart_create, MPI_Cart_sub", |turn| {
        let (grid, row) = (turn.comm(0), turn.comm(1));
        turn.create_from_world(Function::Cart_create, NewComm::Cart { reorder: false }).integers = vec![2, 2];
        turn.create(Function::Cart_sub, grid, NewComm::CartSub, row).integers = vec![0, 1];
        turn.ring(row, turn.rank % 2, 2);
        turn.free(row);
        use_and_free(turn, RANKS);
    }),
    ("MPI_Intercomm_create, MPI_Intercomm_merge", |turn| {
        let (half, inter, both) = (turn.comm(0), turn.comm(1), turn.comm(2));
        halves(turn, half);
        let remote_leader = if turn.rank < 2 { 2 } else { 0 };
        let how = NewComm::Inter { local_leader: 0, peer_comm: CommId::WORLD, remote_leader, tag: 3 };
        turn.create(Function::Intercomm_create, half, how, inter);
        turn.create(Function::Intercomm_merge, inter, NewComm::Merge { high: turn.rank >= 2 }, both);
        turn.ring(both, turn.rank, RANKS);
        turn.free(both);
        turn.free(inter);
        turn.free(half);
    }),
    ("copies of copies of copies", |turn| {
        let mut parent = CommId::WORLD;
        for of_turn in 0..3 {
            let comm = turn.comm(of_turn);
            turn.create(Function::Comm_dup, parent, NewComm::Dup, comm);
            parent = comm;
        }
        turn.ring(parent, turn.rank, RANKS);
        (0..3).for_each(|of_turn| turn.free(turn.comm(of_turn)));
    }),
    ("communicators of one that is not known", |turn| {
        let comm = turn.comm(0);
        turn.create(Function::Comm_dup, CommId(9), NewComm::Dup, comm);
        turn.free(comm);
        turn.barrier(None);
    }),
];

const OTHERS: &[(&str, Body)] = &[
    ("requests of sends that nobody completes", |turn| {
        turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, 0, Some(turn.request(0)));
        turn.receive(CommId::WORLD, Peer::Rank((turn.rank + 3) % RANKS), TagArg::Is(0), None);
    }),
    ("requests of receives that nobody completes", |turn| {
        turn.receive(
            CommId::WORLD,
            Peer::Rank((turn.rank + 3) % RANKS),
            TagArg::Is(0),
            Some(turn.request(0)),
        );
        turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, 0, None);
        turn.barrier(None);
    }),
    ("requests that are freed", |turn| {
        let (sent, received) = (turn.request(0), turn.request(1));
        turn.receive(CommId::WORLD, Peer::Any, TagArg::Any, Some(received));
        turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, 0, Some(sent));
        for request in [sent, received] {
            turn.call(Function::Request_free, Action::RequestFree).requests.push(request);
        }
        turn.barrier(None);
    }),
    ("receives that are cancelled", |turn| {
        let request = turn.request(0);
        turn.receive(CommId::WORLD, Peer::Any, TagArg::Is(9), Some(request));
        turn.call(Function::Cancel, Action::Cancel).requests.push(request);
        turn.wait(request, true);
        turn.ring(CommId::WORLD, turn.rank, RANKS);
    }),
    ("persistent requests, made and freed", |turn| {
        let (sends, receives) = (turn.request(0), turn.request(1));
        let comm = CommId::WORLD;
        let (mode, dest) = (SendMode::Standard, Peer::Rank((turn.rank + 1) % RANKS));
        let args = SendArgs { mode, dest, tag: 0, comm, bytes: Some(8) };
        turn.call(Function::Send_init, Action::SendInit { args, request: sends });
        let args = ReceiveArgs { source: Peer::Any, tag: TagArg::Is(0), comm, bytes: None };
        turn.call(Function::Recv_init, Action::ReceiveInit { args, request: receives });
        turn.call(Function::Startall, Action::Start).requests.extend([receives, sends]);
        for request in [sends, receives] {
            turn.wait(request, false);
            turn.call(Function::Request_free, Action::RequestFree).requests.push(request);
        }
    }),
    ("probes that find nothing, and wildcards", |turn| {
        let args = ReceiveArgs { source: Peer::Any, tag: TagArg::Any, comm: CommId::WORLD, bytes: None };
        let (blocking, found, status, handle) = (false, false, None, None);
        turn.call(Function::Iprobe, Action::Probe { args, blocking, found, status, handle });
        turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, 0, None);
        turn.receive(CommId::WORLD, Peer::Any, TagArg::Any, None);
    }),
    ("messages that are taken by matched probes", |turn| {
        let args = ReceiveArgs { source: Peer::Any, tag: TagArg::Any, comm: CommId::WORLD, bytes: None };
        let (blocking, found, status, handle) = (true, true, None, HandleId(1 + turn.turn));
        turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, 0, None);
        turn.call(Function::Mprobe, Action::Probe { args, blocking, found, status, handle: Some(handle) });
        turn.call(Function::Mrecv, Action::MatchedReceive { handle, request: None, status: None });
    }),
    ("collectives, some of which are requests", |turn| {
        let request = turn.request(0);
        turn.barrier(Some(request));
        turn.wait(request, false);
        let action = Action::Collective { comm: CommId::WORLD, root: Some(0), bytes: Some(8), request: None };
        turn.call(Function::Reduce, action);
        turn.barrier(None);
    }),
    ("collectives that one rank has left for good", |turn| {
        if turn.rank > 0 || turn.turn < 2 {
            turn.barrier(None);
            let request = turn.request(0);
            turn.barrier(Some(request));
            turn.wait(request, false);
        }
    }),
    ("tags of their own", |turn| {
        for at in 0..4 {
            let tag = ((turn.turn * 4 + at) * RANKS + turn.rank) as i32;
            turn.send(CommId::WORLD, (turn.rank + 1) % RANKS, tag, None);
            turn.receive(CommId::WORLD, Peer::Rank((turn.rank + 3) % RANKS), TagArg::Any, None);
        }
    }),
];

/// More turns than the bounded tables can hold: 65,536 membership calls, 131,072 tags.
const TURNS: u32 = 10_000;

/// Allowed growth: half a byte for each further turn, for a new row of rows of created communicators every
/// 4096 turns.
const SLACK: usize = 16 << 10;

fn check_memory(kinds: &[(&str, Body)], turns: u32, slack: usize, pass: impl Fn(&dyn Trace)) {
    let _alone = ALONE.lock();
    for &(kind, body) in kinds {
        let [shorter, longer] = [turns, 4 * turns].map(|turns| Loop::new(body, turns).peak(&pass));
        println!("{kind}: {shorter} bytes, {longer} of four times the length");
        assert!(shorter > 0, "{kind}: nobody looked");
        assert!(longer <= shorter + slack, "{kind}: {shorter} bytes, {longer} of four times the length");
    }
}

fn simulated(trace: &dyn Trace) {
    profile(trace, Arrivals::Simulated, LogGp::default(), &Progress::default()).unwrap();
}

#[test]
fn freed_communicators_leave_no_memory() {
    check_memory(COMMUNICATORS, TURNS, SLACK, simulated);
}

#[test]
fn completed_messages_leave_no_memory() {
    check_memory(OTHERS, TURNS, SLACK, simulated);
}

#[test]
fn unfreed_communicators_use_little_memory() {
    let _alone = ALONE.lock();
    let body: Body = |turn| {
        turn.create_from_world(Function::Comm_dup, NewComm::Dup);
        turn.ring(turn.comm(0), turn.rank, RANKS);
    };
    let [shorter, longer] = [TURNS, 4 * TURNS].map(|turns| Loop::new(body, turns).peak(simulated));
    let each = (longer - shorter) as f64 / f64::from(3 * TURNS);
    println!("a communicator that {RANKS} ranks have and never free: {each:.0} bytes");
    assert!(each <= 700.0, "{each}");
}

/// Up to ten chunks of 230 kB are in flight.
#[test]
#[ignore = "takes minutes: .ci/deep"]
fn measurement_memory_does_not_grow() {
    let all = [COMMUNICATORS, OTHERS].concat();
    check_memory(&all, 8 * TURNS, 3 << 20, |trace| {
        let options = Options { engines: vec!["bins".into()], ..Options::default() };
        replay(trace, &options, &Progress::default()).unwrap();
    });
}
