//! Calls rebuilt from OTF2 events. Arguments that OTF2 does not record are *inferred*.
//!
//! OTF2 has a receive's envelope at its completion. A call that starts a receive is held until then, for up
//! to [`CALLS_QUEUED_MAX`] calls, and omitted if the receive never completes.

use std::collections::{HashMap, HashSet, VecDeque};

use super::archive::Event;
use super::definitions::{Comm, Definitions};
use super::lane::Span;
use crate::call::{
    Action, Await, Call, CommId, Completion, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, SendMode,
    Status, TagArg,
};
use crate::function::{Class, Function};

const CALLS_QUEUED_MAX: usize = 1 << 20;

/// `OTF2_COLLECTIVE_ROOT_…`, which are not ranks.
const NO_ROOT: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct RebuiltCalls {
    waiting: VecDeque<Span>,
    envelopes: HashMap<u64, ReceiveArgs>,
    requests: Requests,
    comms: HashSet<CommId>,
    ready: VecDeque<Call>,
}

#[derive(Default)]
struct Requests {
    known: HashMap<u64, u32>,
    free: Vec<u32>,
}

impl Requests {
    fn begin(&mut self, request: u64) -> RequestId {
        let id = self.free.pop().unwrap_or(self.known.len() as u32 + 1);
        self.known.insert(request, id);
        RequestId(id)
    }

    fn end(&mut self, request: u64) -> RequestId {
        let Some(id) = self.known.remove(&request) else { return RequestId::UNKNOWN };
        self.free.push(id);
        RequestId(id)
    }

    fn named(&self, request: u64) -> RequestId {
        self.known.get(&request).map_or(RequestId::UNKNOWN, |id| RequestId(*id))
    }
}

impl RebuiltCalls {
    /// Adds a call. The caller passes calls in the order of their entry.
    pub fn take(&mut self, span: Span, definitions: &Definitions) {
        for event in &span.events {
            if let Event::Received { from, comm, tag, bytes, request: Some(request) } = *event {
                let args = receive(definitions.comms.get(&comm), from, tag, bytes);
                self.envelopes.insert(request, args);
            }
        }
        self.waiting.push_back(span);
    }

    pub fn is_ready(&self) -> bool {
        let Some(first) = self.waiting.front() else { return !self.ready.is_empty() };
        let is_known = |event: &Event| match event {
            Event::ReceiveBegins(request) => self.envelopes.contains_key(request),
            _ => true,
        };
        !self.ready.is_empty() || self.waiting.len() >= CALLS_QUEUED_MAX || first.events.iter().all(is_known)
    }

    pub fn next(&mut self, definitions: &Definitions) -> Option<Call> {
        loop {
            if let Some(call) = self.ready.pop_front() {
                return Some(call);
            }
            let span = self.waiting.pop_front()?;
            self.span(&span, definitions);
        }
    }

    fn span(&mut self, span: &Span, definitions: &Definitions) {
        let call = Call {
            function: span.function,
            thread: span.thread,
            enter_ns: definitions.nanoseconds(span.enter),
            leave_ns: definitions.nanoseconds(span.leave),
            ..Call::default()
        };
        self.introduce_comm(span, definitions, &call);
        let before = self.ready.len();
        if !self.rebuild_send_receive(span, definitions, &call) {
            self.rebuild_started(span, definitions, &call);
        }
        let completes = span.function.class() == Class::Completion;
        self.completed(span, completes, &call);
        if self.ready.len() == before && !self.is_unseen(span) {
            self.ready.push_back(Call { action: action_of(span.function), ..call });
        }
    }

    /// True if the call only started receives, none of which completed.
    fn is_unseen(&self, span: &Span) -> bool {
        span.events.iter().any(|event| matches!(event, Event::ReceiveBegins(_)))
    }

    /// Adds a call that creates the communicator, because the archive does not have that call.
    fn introduce_comm(&mut self, span: &Span, definitions: &Definitions, call: &Call) {
        for event in &span.events {
            let named = match event {
                Event::Send { comm, .. } | Event::Collective { comm, .. } => *comm,
                Event::Received { comm, request: None, .. } => *comm,
                _ => continue,
            };
            let Some(comm) = definitions.comms.get(&named) else { continue };
            self.introduced(comm, call);
        }
        let started = span.events.iter().filter_map(|event| match event {
            Event::ReceiveBegins(request) => self.envelopes.get(request).map(|args| args.comm),
            _ => None,
        });
        let started: Vec<CommId> = started.collect();
        for comm in definitions.comms.values().filter(|comm| started.contains(&comm.id)) {
            self.introduced(comm, call);
        }
    }

    fn introduced(&mut self, comm: &Comm, call: &Call) {
        if comm.id.0 <= CommId::SELF.0 || !self.comms.insert(comm.id) {
            return;
        }
        let how = NewComm::Listed { own: comm.members.len() as u32, tag: Some(comm.id.0.into()) };
        let action = Action::CommCreate { parent: CommId::NULL, how, comm: comm.id, request: None };
        let integers = comm.members.iter().map(|&rank| rank as i32).collect();
        let function = Function::Comm_create_from_group;
        self.ready.push_back(Call { function, action, integers, leave_ns: call.enter_ns, ..call.clone() });
    }

    fn rebuild_send_receive(&mut self, span: &Span, definitions: &Definitions, call: &Call) -> bool {
        if !matches!(span.function, Function::Sendrecv | Function::Sendrecv_replace) {
            return false;
        }
        let comm = |comm: u32| definitions.comms.get(&comm);
        let sent = span.events.iter().find_map(|event| match *event {
            Event::Send { to, comm: of, tag, bytes, .. } => {
                Some(send(span.function, comm(of), to, tag, bytes))
            }
            _ => None,
        });
        let received = span.events.iter().find_map(|event| match *event {
            Event::Received { from, comm: of, tag, bytes, .. } => Some(receive(comm(of), from, tag, bytes)),
            _ => None,
        });
        let Some(of) = sent.map(|sent| sent.comm).or(received.map(|received| received.comm)) else {
            return false;
        };
        // A missing send or receive has `MPI_PROC_NULL`.
        let none = SendArgs { mode: SendMode::Standard, dest: Peer::Null, tag: 0, comm: of, bytes: Some(0) };
        let nothing = ReceiveArgs { source: Peer::Null, tag: TagArg::Any, comm: of, bytes: Some(0) };
        let status = received.map(|args| status_of(&args));
        let action = Action::SendReceive {
            send: sent.unwrap_or(none),
            receive: received.unwrap_or(nothing),
            request: None,
            status,
        };
        self.ready.push_back(Call { action, ..call.clone() });
        true
    }

    fn rebuild_started(&mut self, span: &Span, definitions: &Definitions, call: &Call) {
        for event in &span.events {
            let action = match *event {
                Event::Send { to, comm, tag, bytes, request } => {
                    let args = send(span.function, definitions.comms.get(&comm), to, tag, bytes);
                    Action::Send { args, request: request.map(|request| self.requests.begin(request)) }
                }
                Event::Received { from, comm, tag, bytes, request: None } => {
                    let args = receive(definitions.comms.get(&comm), from, tag, bytes);
                    Action::Receive { args, request: None, status: Some(status_of(&args)) }
                }
                Event::ReceiveBegins(request) => match self.envelopes.remove(&request) {
                    Some(args) => {
                        Action::Receive { args, request: Some(self.requests.begin(request)), status: None }
                    }
                    None => continue,
                },
                Event::Collective { comm, root, sent, received } => Action::Collective {
                    comm: definitions.comms.get(&comm).map_or(CommId::NULL, |comm| comm.id),
                    root: Some(root).filter(|&root| root < NO_ROOT),
                    bytes: Some(if sent > 0 { sent } else { received }),
                    request: None,
                },
                _ => continue,
            };
            let Some(function) = function_for(span.function, &action) else { continue };
            self.ready.push_back(Call { function, action, ..call.clone() });
        }
    }

    fn completed(&mut self, span: &Span, completes: bool, call: &Call) {
        let mut done = call.clone();
        for event in &span.events {
            let none = Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled: false };
            let (request, status) = match *event {
                Event::Received { from, tag, bytes, request: Some(request), .. } => {
                    let status = Status {
                        source: Peer::Rank(from),
                        tag: TagArg::Is(tag as i32),
                        bytes: Some(bytes),
                        cancelled: false,
                    };
                    (self.requests.end(request), Some(Some(status)))
                }
                Event::SendComplete(request) => (self.requests.end(request), Some(None)),
                Event::Cancelled(request) => {
                    (self.requests.end(request), Some(Some(Status { cancelled: true, ..none })))
                }
                Event::Tested(request) => (self.requests.named(request), None),
                _ => continue,
            };
            let index = done.requests.len() as u32;
            done.requests.push(request);
            done.completions.extend(status.map(|status| Completion { index, status }));
        }
        if done.requests.is_empty() && !completes {
            return;
        }
        if !completes {
            done.function = Function::Wait;
        }
        done.action = action_of(done.function);
        self.ready.push_back(done);
    }
}

fn send(function: Function, comm: Option<&Comm>, to: u32, tag: u32, bytes: u64) -> SendArgs {
    use Function::{Bsend, Ibsend, Irsend, Issend, Rsend, Ssend};
    let mode = match function {
        Bsend | Ibsend => SendMode::Buffered,
        Ssend | Issend => SendMode::Synchronous,
        Rsend | Irsend => SendMode::Ready,
        _ => SendMode::Standard,
    };
    let (dest, comm) = ends(comm, to);
    SendArgs { mode, dest, tag: tag as i32, comm, bytes: Some(bytes) }
}

fn receive(comm: Option<&Comm>, from: u32, tag: u32, bytes: u64) -> ReceiveArgs {
    let (source, comm) = ends(comm, from);
    ReceiveArgs { source, tag: TagArg::Is(tag as i32), comm, bytes: Some(bytes) }
}

fn ends(comm: Option<&Comm>, named: u32) -> (Peer, CommId) {
    (Peer::Rank(comm.map_or(named, |comm| comm.rank(named))), comm.map_or(CommId::NULL, |comm| comm.id))
}

fn status_of(args: &ReceiveArgs) -> Status {
    Status { source: args.source, tag: args.tag, bytes: args.bytes, cancelled: false }
}

/// The recorded function, or a similar function if the recorded function cannot have this action: operations
/// of `MPI_Startall` become `MPI_Isend`.
fn function_for(function: Function, action: &Action) -> Option<Function> {
    use Function as F;
    Some(match (action, function) {
        (Action::Send { request: None, .. }, F::Send | F::Bsend | F::Ssend | F::Rsend) => function,
        (Action::Send { request: None, .. }, _) => F::Send,
        (Action::Send { .. }, F::Isend | F::Ibsend | F::Issend | F::Irsend) => function,
        (Action::Send { .. }, _) => F::Isend,
        (Action::Receive { request: None, .. }, _) => F::Recv,
        (Action::Receive { .. }, _) => F::Irecv,
        (_, function) if function.class() == Class::Collective => function,
        _ => return None,
    })
}

fn action_of(function: Function) -> Action {
    use Function as F;
    match function {
        F::Init | F::Init_thread => Action::Init,
        F::Finalize => Action::Finalize,
        F::Wait | F::Waitall => Action::Complete { awaits: Await::All, blocking: true },
        F::Test | F::Testall => Action::Complete { awaits: Await::All, blocking: false },
        F::Waitany => Action::Complete { awaits: Await::Any, blocking: true },
        F::Testany => Action::Complete { awaits: Await::Any, blocking: false },
        F::Waitsome => Action::Complete { awaits: Await::Some, blocking: true },
        F::Testsome => Action::Complete { awaits: Await::Some, blocking: false },
        _ => Action::Other,
    }
}
