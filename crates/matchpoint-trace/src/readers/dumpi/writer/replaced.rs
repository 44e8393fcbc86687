//! Calls that the format has no record of, and others that it has which do the same.

use std::collections::HashMap;

use crate::call::{Action, Call, HandleId, Peer, ReceiveArgs, RequestId, Status, TagArg};
use crate::function::Function;

/// The messages that matched probes have taken, by who sent them.
#[derive(Default)]
pub(super) struct Replaced {
    taken: HashMap<HandleId, ReceiveArgs>,
}

/// The function that makes the same communicator.
pub(super) fn creation(function: Function) -> Function {
    match function {
        Function::Comm_dup_with_info | Function::Comm_idup | Function::Comm_idup_with_info => {
            Function::Comm_dup
        }
        other => other,
    }
}

impl Replaced {
    /// The function that a call is written as: its own, if there is no other.
    pub fn by(&self, call: &Call) -> Function {
        match (call.function, call.action) {
            (Function::Mprobe, _) => Function::Probe,
            (Function::Improbe, _) => Function::Iprobe,
            (function, Action::MatchedReceive { handle, status, request }) => {
                match (self.envelope(handle, status), request) {
                    (None, _) => function,
                    (Some(_), None) => Function::Recv,
                    (Some(_), Some(_)) => Function::Irecv,
                }
            }
            (Function::Isendrecv | Function::Isendrecv_replace, _) => Function::Irecv,
            (function, _) => function,
        }
    }

    /// The calls that stand for one that is written as one of that function.
    pub fn calls(&mut self, function: Function, call: &Call) -> Vec<Call> {
        let with = |function, action| Call { function, action, ..call.clone() };
        match call.action {
            Action::Probe { args, found, status, handle, .. } => {
                self.take(&args, found, status, handle);
                vec![with(function, call.action)]
            }
            Action::MatchedReceive { handle, request, status } => {
                let Some(args) = self.envelope(handle, status) else { return Vec::new() };
                self.taken.remove(&handle);
                vec![with(function, Action::Receive { args, request, status })]
            }
            // The send's request is freed at once, as an application may do that asks no more after it.
            Action::SendReceive { send, receive, request, .. } => {
                let sent = Action::Send { args: send, request: Some(RequestId::UNKNOWN) };
                let received = Action::Receive { args: receive, request, status: None };
                vec![
                    with(Function::Isend, sent),
                    with(Function::Request_free, Action::RequestFree),
                    with(Function::Irecv, received),
                ]
            }
            action => vec![with(function, action)],
        }
    }

    /// A call is left out.
    pub fn left_out(&mut self, call: &Call) {
        if let Action::MatchedReceive { handle, .. } = call.action {
            self.taken.remove(&handle);
        }
    }

    fn take(&mut self, args: &ReceiveArgs, found: bool, status: Option<Status>, handle: Option<HandleId>) {
        let Some(handle) = handle.filter(|&handle| found && handle != HandleId::NULL) else { return };
        let source = status.map_or(args.source, |status| status.source);
        let tag = status.map_or(args.tag, |status| status.tag);
        let bytes = status.and_then(|status| status.bytes);
        self.taken.insert(handle, ReceiveArgs { source, tag, bytes, ..*args });
    }

    /// What a receive must ask for to get the message that a probe took: no wildcard.
    fn envelope(&self, handle: HandleId, status: Option<Status>) -> Option<ReceiveArgs> {
        let mut args = *self.taken.get(&handle)?;
        if let Some(status) = status.filter(|status| !status.cancelled) {
            (args.source, args.tag) = (status.source, status.tag);
        }
        let exact = matches!((args.source, args.tag), (Peer::Rank(_), TagArg::Is(_)));
        exact.then_some(args)
    }
}
