//! Random calls that a process could make.

use matchpoint_trace::call::{
    Action, Await, CommId, Completion, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, SendMode,
    Status, TagArg,
};
use matchpoint_trace::native::layout::fields;
use matchpoint_trace::{Call, Class, Function};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit.max(1)
    }

    pub fn short(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits);
        self.below(1 << bits)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn peer(&mut self) -> Peer {
        match self.below(8) {
            0 => Peer::Null,
            _ => Peer::Rank(self.below(2000) as u32),
        }
    }

    fn source(&mut self) -> Peer {
        if self.one_in(4) { Peer::Any } else { self.peer() }
    }

    fn tag(&mut self) -> TagArg {
        if self.one_in(4) { TagArg::Any } else { TagArg::Is(self.below(1 << 31) as i32) }
    }

    fn comm(&mut self) -> CommId {
        CommId(1 + self.below(6) as u32)
    }

    fn bytes(&mut self) -> Option<u64> {
        (!self.one_in(5)).then(|| self.short(60))
    }

    fn request(&mut self) -> RequestId {
        RequestId(self.below(40) as u32)
    }

    fn send(&mut self, mode: SendMode) -> SendArgs {
        let (dest, tag, comm, bytes) = (self.peer(), self.below(1 << 20) as i32, self.comm(), self.bytes());
        SendArgs { mode, dest, tag, comm, bytes }
    }

    fn receive(&mut self) -> ReceiveArgs {
        ReceiveArgs { source: self.source(), tag: self.tag(), comm: self.comm(), bytes: self.bytes() }
    }

    fn status(&mut self) -> Option<Status> {
        let cancelled = self.one_in(9);
        let status = Status { source: self.source(), tag: self.tag(), bytes: self.bytes(), cancelled };
        (!self.one_in(3)).then_some(status)
    }

    fn listed(&mut self, call: &mut Call, tag: Option<i64>) -> NewComm {
        let step = 1 + self.below(3) as i32;
        call.integers = (0..self.below(20) as i32).map(|at| at * step).collect();
        call.integers.extend((0..self.below(4)).map(|_| self.below(2000) as i32));
        let own = call.integers.len() as u32;
        if self.one_in(3) {
            call.integers.extend((0..self.below(5)).map(|_| -1));
            call.integers.extend((0..self.below(5)).map(|at| 1999 - at as i32));
        }
        NewComm::Listed { own, tag }
    }
}

fn mode(name: &str) -> SendMode {
    match name.trim_start_matches("MPI_").trim_start_matches('I').to_lowercase().as_bytes()[0] {
        b'b' => SendMode::Buffered,
        b'r' => SendMode::Ready,
        b's' if name.to_lowercase().contains("ss") => SendMode::Synchronous,
        _ => SendMode::Standard,
    }
}

pub fn call(random: &mut Random, function: Function, enter_ns: i64) -> Call {
    let leave_ns = enter_ns + random.short(30) as i64;
    let mut call = Call { function, enter_ns, leave_ns, ..Call::default() };
    call.action = action(random, function, &mut call);
    call
}

fn action(random: &mut Random, function: Function, call: &mut Call) -> Action {
    let name = function.name();
    let (is_init, is_send) = (name.ends_with("_init"), name.to_lowercase().contains("send"));
    match (fields(function), function.class()) {
        (_, Class::PointToPoint) if name.starts_with("MPI_P") && !name.contains("Probe") => {
            Action::Partitioned
        }
        ("cpgb", _) => Action::Send { args: random.send(mode(name)), request: None },
        ("cpgbq", _) if is_send && is_init => {
            Action::SendInit { args: random.send(mode(name)), request: random.request() }
        }
        ("cpgbq", _) if is_send => {
            Action::Send { args: random.send(mode(name)), request: Some(random.request()) }
        }
        ("cpgbq", _) if is_init => Action::ReceiveInit { args: random.receive(), request: random.request() },
        ("cpgbq", _) => {
            Action::Receive { args: random.receive(), request: Some(random.request()), status: None }
        }
        ("cpgbS", _) => Action::Receive { args: random.receive(), request: None, status: random.status() },
        ("cpgbpgbS" | "cpgbpgbq", _) => send_receive(random, name),
        ("Q", _) => {
            name_requests(random, call);
            match function {
                Function::Cancel => Action::Cancel,
                Function::Request_free => Action::RequestFree,
                _ => Action::Start,
            }
        }
        ("cpgS" | "cpgfS" | "cpgmS" | "cpgfmS", _) => probe(random, name),
        ("mbS", _) => {
            let handle = HandleId(random.below(6) as u32);
            Action::MatchedReceive { handle, request: None, status: random.status() }
        }
        ("mbq", _) => {
            let handle = HandleId(random.below(6) as u32);
            Action::MatchedReceive { handle, request: Some(random.request()), status: None }
        }
        ("QC", _) => complete(random, name, call),
        ("", _) => match function {
            Function::Init | Function::Init_thread => Action::Init,
            Function::Finalize => Action::Finalize,
            _ => Action::Other,
        },
        (_, Class::Collective) => {
            let (comm, root) = (random.comm(), random.one_in(2).then(|| random.below(2000) as u32));
            let bytes = random.bytes();
            match (fields(function), is_init) {
                ("cib", _) => Action::Collective { comm, root, bytes, request: None },
                (_, true) => Action::CollectiveInit { comm, root, bytes, request: random.request() },
                _ => Action::Collective { comm, root, bytes, request: Some(random.request()) },
            }
        }
        ("c", _) => Action::CommFree { comm: CommId(3 + random.below(4) as u32) },
        _ => create(random, function, call),
    }
}

fn send_receive(random: &mut Random, name: &str) -> Action {
    let send = random.send(SendMode::Standard);
    let receive = ReceiveArgs { comm: send.comm, ..random.receive() };
    let (request, status) =
        if name.contains("_Is") { (Some(random.request()), None) } else { (None, random.status()) };
    Action::SendReceive { send, receive, request, status }
}

fn probe(random: &mut Random, name: &str) -> Action {
    let blocking = !name.contains("_I");
    let found = blocking || random.one_in(2);
    let status = random.status().filter(|_| found);
    let handle = name.contains('m').then(|| HandleId(random.below(6) as u32));
    let handle = if name.contains("_M") { Some(HandleId(random.below(6) as u32)) } else { handle };
    Action::Probe { args: ReceiveArgs { bytes: None, ..random.receive() }, blocking, found, status, handle }
}

fn name_requests(random: &mut Random, call: &mut Call) {
    call.requests = (0..random.below(12)).map(|_| random.request()).collect();
}

fn complete(random: &mut Random, name: &str, call: &mut Call) -> Action {
    name_requests(random, call);
    for (index, request) in (0..).zip(&call.requests) {
        if *request != RequestId::NULL && random.one_in(2) {
            call.completions.push(Completion { index, status: random.status() });
        }
    }
    if name.contains("some") && random.one_in(2) {
        call.completions.reverse();
    }
    let awaits = match () {
        () if name.ends_with("any") => Await::Any,
        () if name.ends_with("some") => Await::Some,
        () => Await::All,
    };
    match name.contains("get_status") {
        true => Action::RequestStatus,
        false => Action::Complete { awaits, blocking: name.contains("Wait") },
    }
}

fn create(random: &mut Random, function: Function, call: &mut Call) -> Action {
    // A new id, so that no existing communicator is created again.
    let comm = CommId(1000 + random.below(1 << 30) as u32);
    let (mut parent, mut request, mut to) = (random.comm(), None, comm);
    let how = match fields(function) {
        "ccq" => {
            request = Some(random.request());
            NewComm::Dup
        }
        "cc" if function.name().contains("dup") => NewComm::Dup,
        "ciic" if random.one_in(2) => {
            let color = random.one_in(2).then(|| random.below(9) as i32);
            to = if color.is_none() { CommId::NULL } else { comm };
            NewComm::Split { color, key: random.below(100) as i32 - 50 }
        }
        "ciciic" => NewComm::Inter {
            local_leader: random.below(2000) as u32,
            peer_comm: random.comm(),
            remote_leader: random.below(2000) as u32,
            tag: random.below(1 << 31) as i32,
        },
        "cfc" => NewComm::Merge { high: random.one_in(2) },
        letters @ ("cic" | "ic") => {
            parent = if letters == "ic" { CommId::NULL } else { parent };
            let tag = Some(random.next() as i64);
            random.listed(call, tag)
        }
        letters => {
            if random.one_in(4) && letters != "ciic" {
                NewComm::Unknown
            } else {
                random.listed(call, None)
            }
        }
    };
    Action::CommCreate { parent, how, comm: to, request }
}
