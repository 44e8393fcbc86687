//! Calls that the format cannot represent, replaced by equivalent calls.

use std::collections::HashMap;

use crate::call::{Action, Call, HandleId, Peer, ReceiveArgs, RequestId, Status, TagArg};
use crate::function::Function;

/// Arguments of matched probes, by message id. A later receive replaces the probe.
#[derive(Default)]
pub(super) struct Replacements {
    taken: HashMap<HandleId, ReceiveArgs>,
}

pub(super) fn creation(function: Function) -> Function {
    match function {
        Function::Comm_dup_with_info | Function::Comm_idup | Function::Comm_idup_with_info => {
            Function::Comm_dup
        }
        other => other,
    }
}

impl Replacements {
    pub fn by(&self, call: &Call) -> Function {
        match (call.function, call.action) {
            (Function::Mprobe, _) => Function::Probe,
            (Function::Improbe, _) => Function::Iprobe,
            (function, Action::MatchedReceive { handle, status, request }) => {
                match (self.receive_args(handle, status), request) {
                    (None, _) => function,
                    (Some(_), None) => Function::Recv,
                    (Some(_), Some(_)) => Function::Irecv,
                }
            }
            (Function::Isendrecv | Function::Isendrecv_replace, _) => Function::Irecv,
            (function, _) => function,
        }
    }

    pub fn calls(&mut self, function: Function, call: &Call) -> Vec<Call> {
        let with = |function, action| Call { function, action, ..call.clone() };
        match call.action {
            Action::Probe { args, found, status, handle, .. } => {
                self.note_probe(&args, found, status, handle);
                vec![with(function, call.action)]
            }
            Action::MatchedReceive { handle, request, status } => {
                let Some(args) = self.receive_args(handle, status) else { return Vec::new() };
                self.taken.remove(&handle);
                vec![with(function, Action::Receive { args, request, status })]
            }
            // The request of the added send is freed at once, as by an application that does not wait for the
            // send.
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

    pub fn left_out(&mut self, call: &Call) {
        if let Action::MatchedReceive { handle, .. } = call.action {
            self.taken.remove(&handle);
        }
    }

    fn note_probe(
        &mut self,
        args: &ReceiveArgs,
        found: bool,
        status: Option<Status>,
        handle: Option<HandleId>,
    ) {
        let Some(handle) = handle.filter(|&handle| found && handle != HandleId::NULL) else { return };
        let source = status.map_or(args.source, |status| status.source);
        let tag = status.map_or(args.tag, |status| status.tag);
        let bytes = status.and_then(|status| status.bytes);
        self.taken.insert(handle, ReceiveArgs { source, tag, bytes, ..*args });
    }

    /// Arguments of a receive for exactly the message that a probe took.
    fn receive_args(&self, handle: HandleId, status: Option<Status>) -> Option<ReceiveArgs> {
        let mut args = *self.taken.get(&handle)?;
        if let Some(status) = status.filter(|status| !status.cancelled) {
            (args.source, args.tag) = (status.source, status.tag);
        }
        let exact = matches!((args.source, args.tag), (Peer::Rank(_), TagArg::Is(_)));
        exact.then_some(args)
    }
}
