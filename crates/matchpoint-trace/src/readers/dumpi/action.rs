//! Actions of message and request functions in DUMPI traces.

use super::ids;
use super::ids::Sizes;
use super::layout::Name;
use super::record::Record;
use crate::call::{
    Action, Await, Call, Completion, Peer, ReceiveArgs, RequestId, SendArgs, SendMode, Status,
};
use crate::function::Function;

pub(super) struct Arguments<'a> {
    pub(super) record: &'a Record,
    pub(super) sizes: &'a Sizes,
}

/// The caller has set the function, requests and integers of `call`.
#[inline]
pub(super) fn interpret(record: &Record, sizes: &Sizes, call: &mut Call) {
    let arguments = Arguments { record, sizes };
    call.action = match call.function {
        Function::Isend => arguments.send(SendMode::Standard, true),
        Function::Irecv => arguments.receive(true),
        Function::Send => arguments.send(SendMode::Standard, false),
        Function::Recv => arguments.receive(false),
        Function::Wait | Function::Test | Function::Waitall | Function::Testall | Function::Waitany => {
            arguments.complete(call)
        }
        Function::Testany | Function::Waitsome | Function::Testsome => arguments.complete(call),
        other if other as u16 <= Function::Parrived as u16 => arguments.interpret_point_to_point(call),
        _ => arguments.interpret_other(call),
    };
}

impl Arguments<'_> {
    #[inline]
    pub(super) fn get(&self, name: Name) -> i32 {
        self.record.get(name)
    }

    fn request(&self) -> RequestId {
        ids::request(self.get(Name::request))
    }

    fn status(&self) -> Option<Status> {
        self.record.statuses.first().copied()
    }

    fn reported_source(&self) -> Option<Peer> {
        self.status().map(|status| status.source)
    }

    #[inline]
    fn send_args(&self, mode: SendMode) -> SendArgs {
        SendArgs {
            mode,
            dest: ids::dest(self.get(Name::dest)),
            tag: self.get(Name::tag),
            comm: ids::comm(self.get(Name::comm)),
            bytes: self.sizes.bytes(self.get(Name::count), self.get(Name::datatype)),
        }
    }

    #[inline]
    fn receive_args(&self) -> ReceiveArgs {
        ReceiveArgs {
            source: ids::source(self.get(Name::source)),
            tag: ids::tag(self.get(Name::tag)),
            comm: ids::comm(self.get(Name::comm)),
            bytes: self.sizes.bytes(self.get(Name::count), self.get(Name::datatype)),
        }
    }

    #[inline]
    fn send(&self, mode: SendMode, immediate: bool) -> Action {
        Action::Send { args: self.send_args(mode), request: immediate.then(|| self.request()) }
    }

    #[inline]
    fn receive(&self, immediate: bool) -> Action {
        let mut args = self.receive_args();
        args.source = ids::known(args.source, self.reported_source());
        Action::Receive { args, request: immediate.then(|| self.request()), status: self.status() }
    }

    fn send_init(&self, mode: SendMode) -> Action {
        Action::SendInit { args: self.send_args(mode), request: self.request() }
    }

    fn interpret_point_to_point(&self, call: &mut Call) -> Action {
        use Function as F;
        use SendMode::{Buffered, Ready, Standard, Synchronous};
        match call.function {
            F::Bsend => self.send(Buffered, false),
            F::Ssend => self.send(Synchronous, false),
            F::Rsend => self.send(Ready, false),
            F::Ibsend => self.send(Buffered, true),
            F::Issend => self.send(Synchronous, true),
            F::Irsend => self.send(Ready, true),
            F::Send_init => self.send_init(Standard),
            F::Bsend_init => self.send_init(Buffered),
            F::Ssend_init => self.send_init(Synchronous),
            F::Rsend_init => self.send_init(Ready),
            F::Recv_init => Action::ReceiveInit { args: self.receive_args(), request: self.request() },
            F::Sendrecv => {
                self.send_receive((Name::sendcount, Name::sendtype), (Name::recvcount, Name::recvtype))
            }
            F::Sendrecv_replace => {
                self.send_receive((Name::count, Name::datatype), (Name::count, Name::datatype))
            }
            F::Probe => self.probe(true, true),
            F::Iprobe => self.probe(false, self.get(Name::flag) != 0),
            F::Startall => Action::Start,
            F::Start => self.with_request(call, Action::Start),
            F::Cancel => self.with_request(call, Action::Cancel),
            _ => Action::Other,
        }
    }

    fn with_request(&self, call: &mut Call, action: Action) -> Action {
        call.requests.push(self.request());
        action
    }

    fn send_receive(&self, sent: (Name, Name), received: (Name, Name)) -> Action {
        let comm = ids::comm(self.get(Name::comm));
        let bytes = |(number, of)| self.sizes.bytes(self.get(number), self.get(of));
        let dest = ids::dest(self.get(Name::dest));
        let source = ids::known(ids::source(self.get(Name::source)), self.reported_source());
        let (send_tag, receive_tag) = (self.get(Name::sendtag), ids::tag(self.get(Name::recvtag)));
        Action::SendReceive {
            send: SendArgs { mode: SendMode::Standard, dest, tag: send_tag, comm, bytes: bytes(sent) },
            receive: ReceiveArgs { source, tag: receive_tag, comm, bytes: bytes(received) },
            request: None,
            status: self.status(),
        }
    }

    fn probe(&self, blocking: bool, found: bool) -> Action {
        let status = self.status().filter(|_| found);
        let mut args = ReceiveArgs { bytes: None, ..self.receive_args() };
        args.source = ids::known(args.source, status.map(|status| status.source));
        Action::Probe { args, blocking, found, status, handle: None }
    }

    #[inline]
    fn complete(&self, call: &mut Call) -> Action {
        use Function as F;
        let flag = self.get(Name::flag) != 0;
        let (awaits, blocking) = match call.function {
            F::Wait | F::Test => {
                call.requests.push(self.request());
                (Await::All, call.function == F::Wait)
            }
            F::Waitall => (Await::All, true),
            F::Testall => (Await::All, false),
            F::Waitany => (Await::Any, true),
            F::Testany => (Await::Any, false),
            F::Waitsome => (Await::Some, true),
            _ => (Await::Some, false),
        };
        match awaits {
            Await::All if blocking || flag => self.complete_all(call),
            Await::Any if blocking || flag => self.complete_one(call, self.get(Name::index), 0),
            Await::Some => self.complete_some(call),
            _ => {}
        }
        Action::Complete { awaits, blocking }
    }

    fn complete_all(&self, call: &mut Call) {
        let statuses = &self.record.statuses;
        let complete = (0..).zip(&call.requests).filter(|(_, request)| **request != RequestId::NULL);
        let complete =
            complete.map(|(index, _)| Completion { index, status: statuses.get(index as usize).copied() });
        call.completions.extend(complete);
    }

    fn complete_some(&self, call: &mut Call) {
        for (status, &index) in self.record.list.iter().enumerate() {
            self.complete_one(call, index, status);
        }
    }

    /// An index that is `MPI_UNDEFINED` or out of bounds completes no request.
    fn complete_one(&self, call: &mut Call, index: i32, status: usize) {
        let Ok(index) = u32::try_from(index) else { return };
        if call.requests.get(index as usize).is_some_and(|request| *request != RequestId::NULL) {
            call.completions.push(Completion { index, status: self.record.statuses.get(status).copied() });
        }
    }

    fn interpret_other(&self, call: &mut Call) -> Action {
        use Function as F;
        match call.function {
            F::Request_free => self.with_request(call, Action::RequestFree),
            F::Request_get_status => {
                call.requests.push(self.request());
                if self.get(Name::flag) != 0 {
                    self.complete_all(call);
                }
                Action::RequestStatus
            }
            F::Init | F::Init_thread => Action::Init,
            F::Finalize => Action::Finalize,
            F::Comm_size => Action::CommSize { comm: self.comm(Name::comm), size: self.natural(Name::size) },
            F::Comm_rank => Action::CommRank { comm: self.comm(Name::comm), rank: self.natural(Name::rank) },
            F::Comm_free | F::Comm_disconnect => Action::CommFree { comm: self.comm(Name::comm) },
            F::Group_free => Action::GroupFree { group: ids::group(self.get(Name::group)) },
            function => self
                .collective(function)
                .or_else(|| self.new_comm(function))
                .or_else(|| self.new_group(function))
                .unwrap_or(Action::Other),
        }
    }
}
