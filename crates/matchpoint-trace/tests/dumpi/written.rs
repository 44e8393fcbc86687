//! The writer's files, read again, with real traces and random calls.

use std::collections::BTreeMap;

use matchpoint_trace::call::{
    Action, Await, CommId, Completion, GroupId, NewComm, NewGroup, Peer, RequestId, Status, TagArg,
};
use matchpoint_trace::dumpi::{Deviations, Settings, Writer};
use matchpoint_trace::readers::dumpi::read_bytes;
use matchpoint_trace::{Call, Class, Function};

use crate::every_function::files;
use crate::random::{Random, call};
use crate::traces::{REAL, calls, compare, opened, read_all};

const RANK: u32 = 3;

pub fn written(calls: &[Call]) -> (Vec<Call>, Deviations) {
    let settings = Settings { rank: RANK, size: 8, host: "host".to_owned(), started_s: 7 };
    let mut writer = Writer::new(Vec::new(), settings).unwrap();
    calls.iter().for_each(|call| writer.call(call).unwrap());
    let (bytes, deviations) = writer.finish().unwrap();
    let found = read_all(&mut read_bytes(&bytes).unwrap()).unwrap();
    (found, deviations)
}

/// Numbers of objects, independent of the ids.
#[derive(Default)]
struct Numbers {
    live: BTreeMap<u32, u32>,
    begun: u32,
}

impl Numbers {
    fn begin(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        self.begun += 1;
        self.live.insert(id, 100 + self.begun);
        100 + self.begun
    }

    /// A new number if the trace does not contain the creation of the object.
    fn named(&mut self, id: u32, known: u32) -> u32 {
        if id <= known { id } else { self.live.get(&id).copied().unwrap_or_else(|| self.begin(id)) }
    }
}

#[derive(Default)]
struct Canonical {
    comms: Numbers,
    groups: Numbers,
    requests: Numbers,
    persistent: BTreeMap<u32, bool>,
    made: BTreeMap<u32, u32>,
}

impl Canonical {
    fn of_calls(calls: &[Call]) -> Vec<Call> {
        let mut canonical = Canonical::default();
        calls.iter().map(|call| canonical.call(call)).collect()
    }

    fn call(&mut self, call: &Call) -> Call {
        let mut call = Call { offset: 0, ..call.clone() };
        self.requests(&mut call);
        match &mut call.action {
            Action::Send { args, request } => {
                self.comm(&mut args.comm);
                self.begin(request, false);
            }
            Action::SendInit { args, request } => {
                self.comm(&mut args.comm);
                *request = self.begun(*request, true);
            }
            Action::Receive { args, request, status } => {
                self.comm(&mut args.comm);
                self.begin(request, false);
                status.iter_mut().for_each(plain);
            }
            Action::ReceiveInit { args, request } => {
                self.comm(&mut args.comm);
                *request = self.begun(*request, true);
            }
            Action::SendReceive { send, receive, status, .. } => {
                self.comm(&mut send.comm);
                receive.comm = send.comm;
                status.iter_mut().for_each(plain);
            }
            Action::Probe { args, status, .. } => {
                self.comm(&mut args.comm);
                status.iter_mut().for_each(plain);
            }
            Action::Collective { comm, .. } | Action::CommSize { comm, .. } => self.comm(comm),
            Action::CommRank { comm, .. } => self.comm(comm),
            Action::CommCreate { parent, how, comm, .. } => {
                self.comm(parent);
                match how {
                    NewComm::Inter { peer_comm, .. } => self.comm(peer_comm),
                    NewComm::Group(group) => self.group(group),
                    _ => {}
                }
                // The trace may contain another creation of the same id.
                let again = self.made.get(&comm.0).copied().unwrap_or(0);
                if again == 0 && comm.0 != 0 {
                    self.comms.begin(comm.0);
                }
                *self.made.entry(comm.0).or_default() += 1;
                self.comm(comm);
            }
            Action::CommFree { comm } => {
                let id = comm.0;
                self.comm(comm);
                let made = self.made.entry(id).or_insert(1);
                *made -= 1;
                if *made == 0 && id > 2 {
                    self.made.remove(&id);
                    self.comms.live.remove(&id);
                }
            }
            Action::GroupCreate { how, group } => {
                match how {
                    NewGroup::OfComm(comm) | NewGroup::OfRemote(comm) => self.comm(comm),
                    NewGroup::Include(of) | NewGroup::Exclude(of) => self.group(of),
                    NewGroup::RangeInclude(of) | NewGroup::RangeExclude(of) => self.group(of),
                    NewGroup::Union(one, other) | NewGroup::Intersection(one, other) => {
                        self.group(one);
                        self.group(other);
                    }
                    NewGroup::Difference(one, other) => {
                        self.group(one);
                        self.group(other);
                    }
                }
                self.group(group);
            }
            Action::GroupFree { group } => {
                let id = group.0;
                self.group(group);
                self.groups.live.remove(&id);
            }
            _ => {}
        }
        call
    }

    fn comm(&mut self, comm: &mut CommId) {
        *comm = CommId(self.comms.named(comm.0, 2));
        if comm.0 > 2 {
            let id = self.comms.live.iter().find(|(_, number)| **number == comm.0).map(|(id, _)| *id);
            self.made.entry(id.unwrap()).or_insert(1);
        }
    }

    fn group(&mut self, group: &mut GroupId) {
        *group = GroupId(self.groups.named(group.0, 1));
    }

    fn begun(&mut self, request: RequestId, persistent: bool) -> RequestId {
        self.persistent.insert(request.0, persistent);
        RequestId(self.requests.begin(request.0))
    }

    fn begin(&mut self, request: &mut Option<RequestId>, persistent: bool) {
        *request = request.map(|request| self.begun(request, persistent));
    }

    fn requests(&mut self, call: &mut Call) {
        let ids = call.requests.clone();
        for request in &mut call.requests {
            request.0 = self.requests.live.get(&request.0).copied().unwrap_or(0);
        }
        call.completions.retain(|found| call.requests[found.index as usize].0 != 0);
        let ends = matches!(call.action, Action::Complete { .. });
        for Completion { index, status } in &mut call.completions {
            status.iter_mut().for_each(plain);
            let id = ids[*index as usize].0;
            if ends && !self.persistent[&id] {
                self.requests.live.remove(&id);
            }
        }
        if call.action == Action::RequestFree {
            self.requests.live.retain(|id, _| !ids.contains(&RequestId(*id)));
        }
    }
}

fn plain(status: &mut Status) {
    if status.source == Peer::Null {
        status.source = Peer::Any;
    }
}

#[test]
fn real_traces_survive_round_trip() {
    for (name, real) in REAL.iter() {
        let trace = opened(&real.folder);
        for &rank in trace.present() {
            let theirs = calls(&*trace, rank);
            let (ours, deviations) = written(&theirs);
            assert_eq!(deviations.notes(), [""; 0], "{name}, rank {rank}");
            compare(
                &format!("{name}, rank {rank}"),
                &Canonical::of_calls(&ours),
                &Canonical::of_calls(&theirs),
            );
        }
    }
}

/// Functions that have records, taken from a file with all functions.
fn recorded_functions() -> Vec<Function> {
    let (_, bytes) = files("bin").remove(0);
    let calls = read_all(&mut read_bytes(&bytes).unwrap()).unwrap();
    let mut found: Vec<Function> = calls.iter().map(|call| call.function).collect();
    found.sort();
    found.dedup();
    found
}

/// Changes a random call into a call that a process could make.
fn make_possible(random: &mut Random, call: &mut Call) {
    let single = !call.function.name().contains("all")
        && !call.function.name().contains("any")
        && !call.function.name().contains("some");
    if single && (!call.requests.is_empty() || names_requests(&call.action)) {
        call.requests.resize(1, RequestId::NULL);
        call.completions.retain(|found| found.index == 0);
    }
    let live = (0..).zip(&call.requests).filter(|(_, request)| **request != RequestId::NULL);
    let live: Vec<u32> = live.map(|(index, _)| index).collect();
    let status = |random: &mut Random| Status {
        source: Peer::Rank(random.below(8) as u32),
        tag: TagArg::Is(random.below(99) as i32),
        bytes: Some(random.below(1 << 31)),
        cancelled: random.below(9) == 0,
    };
    let known = random.below(4) > 0;
    let all = |random: &mut Random| {
        let with = |index: &u32| Completion { index: *index, status: known.then(|| status(random)) };
        live.iter().map(with).collect::<Vec<_>>()
    };
    match call.action {
        Action::Complete { awaits: Await::All, blocking } => {
            call.completions = if blocking || random.below(2) == 0 { all(random) } else { Vec::new() };
        }
        Action::RequestStatus => {
            call.completions = if random.below(2) == 0 { all(random) } else { Vec::new() };
        }
        Action::Complete { awaits, .. } => {
            call.completions.truncate(if awaits == Await::Any { 1 } else { 12 });
            call.completions.iter_mut().for_each(|found| found.status = known.then(|| status(random)));
        }
        _ => {}
    }
    let length = |bytes: &mut Option<u64>| {
        *bytes = bytes.map(|bytes| if bytes < 1 << 31 { bytes } else { bytes & !0x3fff_ffff });
    };
    let reported = |random: &mut Random, source: Peer, given: &mut Option<Status>| {
        if let Some(given) = given {
            given.bytes = given.bytes.map(|bytes| bytes & 0x7fff_ffff);
            if source == Peer::Any {
                given.source = Peer::Rank(random.below(8) as u32);
            }
        }
    };
    let rooted = ["Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"];
    match &mut call.action {
        Action::Send { args, .. } | Action::SendInit { args, .. } => length(&mut args.bytes),
        Action::Receive { args, status, .. } => {
            length(&mut args.bytes);
            reported(random, args.source, status);
        }
        Action::ReceiveInit { args, .. } => length(&mut args.bytes),
        Action::Probe { args, status, .. } => reported(random, args.source, status),
        Action::SendReceive { send, receive, status, .. } => {
            length(&mut send.bytes);
            length(&mut receive.bytes);
            if call.function == Function::Sendrecv_replace {
                receive.bytes = send.bytes;
            }
            reported(random, receive.source, status);
        }
        Action::Collective { root, bytes, .. } => {
            length(bytes);
            match call.function {
                Function::Barrier => *bytes = Some(0),
                Function::Alltoall | Function::Alltoallw => *bytes = None,
                _ => {}
            }
            if !rooted.iter().any(|name| call.function.name() == format!("MPI_{name}")) {
                *root = None;
            }
        }
        _ => {}
    }
}

fn names_requests(action: &Action) -> bool {
    use Action::{Cancel, Complete, RequestFree, RequestStatus, Start};
    matches!(action, Complete { .. } | Start | Cancel | RequestFree | RequestStatus)
}

/// The call that a reader returns from a format without lists of members.
fn expected_call(call: &Call) -> Call {
    let mut call = call.clone();
    let split = call.function == Function::Comm_split;
    if let Action::CommCreate { parent, how, .. } = &mut call.action {
        if matches!(call.function, Function::Comm_join | Function::Comm_get_parent) {
            *parent = CommId::SELF;
        }
        if let NewComm::Listed { own, .. } = *how {
            let own = &call.integers[..own as usize];
            let color = own.iter().copied().filter(|rank| *rank >= 0).min().unwrap_or(0);
            let key = own.iter().position(|rank| *rank == RANK as i32).unwrap_or(0) as i32;
            *how = if split { NewComm::Split { color: Some(color), key } } else { NewComm::Unknown };
        }
    }
    call.integers.clear();
    call
}

fn remove_unknown(mut found: Call, expected: &Call) -> Call {
    match (&mut found.action, &expected.action) {
        (action, Action::Other) => {
            *action = Action::Other;
            found.requests.clear();
            found.completions.clear();
        }
        (Action::CommCreate { how, .. }, Action::CommCreate { how: NewComm::Unknown, .. }) => {
            *how = NewComm::Unknown;
        }
        _ => {}
    }
    found.integers.clear();
    found
}

#[test]
fn random_calls_survive_round_trip() {
    let mut functions = recorded_functions();
    // Listed members change the functions that create communicators: see `replaced.rs`.
    functions.retain(|function| {
        use Function::{Cart_create, Cart_sub, Comm_create, Graph_create};
        !matches!(function, Comm_create | Cart_create | Cart_sub | Graph_create)
    });
    assert_eq!(functions.len(), 289 - 4);
    let of_messages: Vec<Function> = functions
        .iter()
        .copied()
        .filter(|function| !matches!(function.class(), Class::Other | Class::OneSided))
        .collect();
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let from = if seed % 2 == 0 { &functions } else { &of_messages };
        let mut at_ns = random.below(1 << 40) as i64 - (1 << 39);
        let made: Vec<Call> = (0..1 + random.below(400))
            .map(|_| {
                at_ns += random.short(40) as i64;
                let function = from[random.below(from.len() as u64) as usize];
                let mut call = call(&mut random, function, at_ns);
                call.thread = random.below(3) as u16;
                make_possible(&mut random, &mut call);
                call
            })
            .filter(|call| call.function != Function::Finalize)
            .collect();
        let (found, deviations) = written(&made);
        assert_eq!(
            (&deviations.left_out, &deviations.stand_ins),
            (&BTreeMap::new(), &BTreeMap::new()),
            "seed {seed}"
        );
        assert_eq!(
            (deviations.lengths, deviations.statuses, deviations.partial, deviations.times),
            (0, 0, 0, 0),
            "seed {seed}"
        );
        let expected: Vec<Call> = made.iter().map(expected_call).collect();
        let found: Vec<Call> = found
            .into_iter()
            .zip(&expected)
            .map(|(found, expected)| remove_unknown(found, expected))
            .collect();
        compare(&format!("seed {seed}"), &Canonical::of_calls(&found), &Canonical::of_calls(&expected));
    }
}
