//! Traces for tests, with explicit calls.

use std::collections::BTreeMap;
use std::path::PathBuf;

use matchpoint_replay::{Arrivals, LogGp, Measurements, Options, Progress};
use matchpoint_trace::call::*;
use matchpoint_trace::{
    Arrival, Arrivals as List, Call, Description, Function, Missing, Nanoseconds, RankReader, Trace,
    TraceError,
};

pub struct Program {
    description: Description,
    present: Vec<u32>,
    streams: Vec<Vec<Call>>,
    arrivals: BTreeMap<u32, Vec<Arrival>>,
}

#[derive(Default)]
pub struct Rank {
    calls: Vec<Call>,
    now_ns: i64,
    thread: u16,
}

pub const MICROSECOND: i64 = 1_000;
pub const MILLISECOND: i64 = 1_000_000;

pub fn program(ranks: Vec<Rank>) -> Program {
    let streams: Vec<Vec<Call>> = ranks.into_iter().map(|rank| rank.calls).collect();
    let present = (0..streams.len() as u32).collect();
    let ranks = streams.len() as u32;
    let description = Description {
        format: "by hand".into(),
        path: PathBuf::from("memory"),
        ranks,
        bytes: streams.iter().map(|calls| calls.len() as u64).sum(),
        null_looks_any: true,
        ..Description::default()
    };
    Program { description, present, streams, arrivals: BTreeMap::new() }
}

impl Program {
    pub fn on_one_clock(mut self) -> Self {
        self.description.clock_error_ns = Some(0);
        self
    }

    pub fn arrivals(mut self, rank: u32, arrivals: &[(i64, u32, i32)]) -> Self {
        let arrival = |&(at_ns, from, tag): &(i64, u32, i32)| Arrival { at_ns, from, tag };
        self.arrivals.insert(rank, arrivals.iter().map(arrival).collect());
        self
    }

    pub fn without(mut self, rank: u32) -> Self {
        self.present.retain(|&present| present != rank);
        self.description.missing.push(Missing { rank, why: "left out".into() });
        self
    }

    pub fn replay(&self, arrivals: Arrivals) -> Measurements {
        self.replay_on(arrivals, LogGp::default())
    }

    pub fn replay_on(&self, arrivals: Arrivals, loggp: LogGp) -> Measurements {
        let engines = vec!["list".into(), "rank_array".into(), "bins:n=4".into()];
        let options = Options { engines, arrivals, loggp, ..Options::default() };
        let measurements = matchpoint_replay::replay(self, &options, &Progress::default()).unwrap();
        for engine in &measurements.engines {
            assert_eq!(engine.disagreements, 0, "{}", engine.name);
            let messages: u64 = measurements.ranks.iter().map(|rank| rank.messages).sum();
            assert_eq!(engine.posted.searches, messages);
            assert_eq!(engine.unexpected.searches, measurements.totals.receives);
        }
        measurements
    }

    pub fn simulated(&self) -> Measurements {
        self.replay(Arrivals::Simulated)
    }
}

impl Trace for Program {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        Ok(Box::new(Reader { calls: &self.streams[rank as usize], next: 0 }))
    }

    fn arrivals(&self, rank: u32) -> Result<Option<List<'_>>, TraceError> {
        Ok(self.arrivals.get(&rank).map(|list| -> List<'_> { Box::new(list.iter().copied().map(Ok)) }))
    }

    /// A tick is 1 ns.
    fn nanoseconds(&self, _: u32) -> Option<Nanoseconds<'_>> {
        Some(Box::new(|ticks| ticks as i64))
    }
}

struct Reader<'a> {
    calls: &'a [Call],
    next: usize,
}

impl RankReader for Reader<'_> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        let Some(next) = self.calls.get(self.next) else { return Ok(false) };
        call.clone_from(next);
        self.next += 1;
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.next as u64
    }
}

pub fn to(dest: u32, tag: i32) -> SendArgs {
    SendArgs { mode: SendMode::Standard, dest: Peer::Rank(dest), tag, comm: CommId::WORLD, bytes: Some(8) }
}

pub fn from(source: u32, tag: i32) -> ReceiveArgs {
    ReceiveArgs { source: Peer::Rank(source), tag: TagArg::Is(tag), comm: CommId::WORLD, bytes: Some(8) }
}

pub fn from_any(tag: i32) -> ReceiveArgs {
    ReceiveArgs { source: Peer::Any, ..from(0, tag) }
}

pub fn status(source: u32, tag: i32) -> Option<Status> {
    Some(Status { source: Peer::Rank(source), tag: TagArg::Is(tag), bytes: Some(8), cancelled: false })
}

pub fn comm(id: u32) -> CommId {
    CommId(3 + id)
}

impl Rank {
    /// Calls of a rank. `MPI_Init` ends at 0.
    pub fn new() -> Self {
        Self::begun_at(0)
    }

    /// Calls of a rank with a clock that starts at this time.
    pub fn begun_at(now_ns: i64) -> Self {
        Rank { now_ns, ..Self::default() }.call(Function::Init, Action::Init).taking(0)
    }

    pub fn compute(mut self, ns: i64) -> Self {
        self.now_ns += ns;
        self
    }

    pub fn thread(mut self, thread: u16) -> Self {
        self.thread = thread;
        self
    }

    pub fn call(self, function: Function, action: Action) -> Self {
        self.full(function, action, &[], &[], &[])
    }

    pub fn full(
        mut self,
        function: Function,
        action: Action,
        requests: &[u32],
        completions: &[Completion],
        integers: &[i32],
    ) -> Self {
        self.calls.push(Call {
            function,
            thread: self.thread,
            enter_ns: self.now_ns,
            leave_ns: self.now_ns + 100,
            offset: 0,
            site: 0,
            action,
            requests: requests.iter().map(|&id| RequestId(id)).collect(),
            completions: completions.to_vec(),
            integers: integers.to_vec(),
        });
        self.now_ns += 100;
        self
    }

    pub fn taking(mut self, ns: i64) -> Self {
        let last = self.calls.last_mut().expect("a call");
        last.leave_ns = last.enter_ns + ns;
        self.now_ns = last.leave_ns;
        self
    }

    pub fn send(self, args: SendArgs) -> Self {
        self.call(Function::Send, Action::Send { args, request: None })
    }

    pub fn isend(self, args: SendArgs, request: u32) -> Self {
        self.call(Function::Isend, Action::Send { args, request: Some(RequestId(request)) })
    }

    pub fn recv(self, args: ReceiveArgs, status: Option<Status>) -> Self {
        self.call(Function::Recv, Action::Receive { args, request: None, status })
    }

    pub fn irecv(self, args: ReceiveArgs, request: u32) -> Self {
        self.call(Function::Irecv, Action::Receive { args, request: Some(RequestId(request)), status: None })
    }

    pub fn wait(self, request: u32, status: Option<Status>) -> Self {
        let action = Action::Complete { awaits: Await::All, blocking: true };
        self.full(Function::Wait, action, &[request], &[Completion { index: 0, status }], &[])
    }

    pub fn waitany(self, requests: &[u32], index: u32) -> Self {
        let action = Action::Complete { awaits: Await::Any, blocking: true };
        self.full(Function::Waitany, action, requests, &[Completion { index, status: None }], &[])
    }

    pub fn waitall(self, requests: &[u32]) -> Self {
        let complete = |index| Completion { index, status: None };
        let all: Vec<_> = (0..requests.len() as u32).map(complete).collect();
        let action = Action::Complete { awaits: Await::All, blocking: true };
        self.full(Function::Waitall, action, requests, &all, &[])
    }

    pub fn barrier(self) -> Self {
        self.collective(Function::Barrier, None)
    }

    pub fn collective(self, function: Function, root: Option<u32>) -> Self {
        self.call(function, Action::Collective { comm: CommId::WORLD, root, bytes: Some(8), request: None })
    }

    pub fn create(
        self,
        function: Function,
        parent: CommId,
        how: NewComm,
        comm: CommId,
        integers: &[i32],
    ) -> Self {
        self.full(function, Action::CommCreate { parent, how, comm, request: None }, &[], &[], integers)
    }

    pub fn split(self, parent: CommId, color: i32, key: i32, comm: CommId) -> Self {
        self.create(Function::Comm_split, parent, NewComm::Split { color: Some(color), key }, comm, &[])
    }
}
