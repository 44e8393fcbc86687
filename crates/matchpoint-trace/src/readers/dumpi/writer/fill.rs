//! Arguments of a written call, by their names in the format.

use super::super::layout::Name;
use super::deviations::Deviations;
use super::lengths::Datatypes;
use super::members::Members;
use super::numbers::{Numbers, NumbersExhausted, Requests, UNDEFINED, peer, tag};
use super::record::{RawStatus, Values};
use crate::call::{
    Action, Await, Call, CommId, GroupId, NewComm, NewGroup, Peer, ReceiveArgs, RequestId, SendArgs, Status,
    TagArg,
};
use crate::function::Function;

/// Rank of an unknown process, never equal to the rank of the root.
const NOT_KNOWN: i32 = -2;

pub(super) struct ArgumentWriter<'w> {
    pub values: &'w mut Values,
    pub comms: &'w mut Numbers,
    pub groups: &'w mut Numbers,
    pub requests: &'w mut Requests,
    pub lengths: &'w mut Datatypes,
    pub members: &'w mut Members,
    pub deviations: &'w mut Deviations,
}

impl ArgumentWriter<'_> {
    pub fn call(&mut self, function: Function, call: &Call) -> Result<(), NumbersExhausted> {
        match call.action {
            Action::Send { args, request } => {
                self.send(&args)?;
                self.begin(request, false);
            }
            Action::SendInit { args, request } => {
                self.send(&args)?;
                self.begin(Some(request), true);
            }
            Action::Receive { args, request, status } => {
                self.receive(&args)?;
                self.set_status(args.source, status);
                self.begin(request, false);
            }
            Action::ReceiveInit { args, request } => {
                self.receive(&args)?;
                self.begin(Some(request), true);
            }
            Action::SendReceive { send, receive, status, .. } => {
                self.send_receive(&send, &receive, status)?
            }
            Action::Probe { args, found, status, .. } => {
                self.receive(&args)?;
                self.values.set(Name::flag, i32::from(found));
                self.set_status(args.source, status);
            }
            Action::Complete { awaits, .. } => self.complete(awaits, call),
            Action::RequestStatus => self.complete(Await::All, call),
            Action::Start | Action::Cancel => self.set_requests(call),
            Action::RequestFree => {
                self.set_requests(call);
                call.requests.iter().for_each(|&request| self.requests.omit(request));
            }
            Action::Collective { comm, root, bytes, .. } => self.set_collective(comm, root, bytes)?,
            Action::CommCreate { parent, how, comm, .. } => {
                self.create(function, call, (parent, how, comm))?
            }
            Action::CommFree { comm } => {
                let raw = self.comms.free(comm.0)?;
                self.values.set(Name::comm, raw);
                self.members.freed(comm);
            }
            Action::CommSize { comm, size } => {
                self.set_comm(Name::comm, comm)?;
                self.values.set(Name::size, size as i32);
            }
            Action::CommRank { comm, rank } => {
                self.set_comm(Name::comm, comm)?;
                self.values.set(Name::rank, rank as i32);
            }
            Action::GroupCreate { how, group } => self.set_group(call, how, group)?,
            Action::GroupFree { group } => {
                let raw = self.groups.free(group.0)?;
                self.values.set(Name::group, raw);
            }
            Action::MatchedReceive { .. }
            | Action::CollectiveInit { .. }
            | Action::Partitioned
            | Action::Init
            | Action::Finalize
            | Action::Other => self.values.set(Name::commrank, NOT_KNOWN),
        }
        Ok(())
    }

    fn set_comm(&mut self, name: Name, comm: CommId) -> Result<(), NumbersExhausted> {
        let raw = self.comms.number_of(comm.0)?;
        self.values.set(name, raw);
        Ok(())
    }

    fn begin(&mut self, request: Option<RequestId>, persistent: bool) {
        if let Some(request) = request {
            let raw = self.requests.begin(request, persistent);
            self.values.set(Name::request, raw);
        }
    }

    fn set_length(&mut self, bytes: Option<u64>, count_is: Name, datatype_is: Name) {
        let (number, of) = self.lengths.of(bytes).unwrap_or_else(|unknown| {
            self.deviations.lengths += 1;
            unknown
        });
        self.values.set(count_is, number);
        self.values.set(datatype_is, of);
    }

    pub fn send(&mut self, args: &SendArgs) -> Result<(), NumbersExhausted> {
        self.values.set(Name::dest, peer(args.dest));
        self.values.set(Name::tag, args.tag);
        self.set_length(args.bytes, Name::count, Name::datatype);
        self.set_comm(Name::comm, args.comm)
    }

    pub fn receive(&mut self, args: &ReceiveArgs) -> Result<(), NumbersExhausted> {
        self.values.set(Name::source, peer(args.source));
        self.values.set(Name::tag, tag(args.tag));
        self.set_length(args.bytes, Name::count, Name::datatype);
        self.set_comm(Name::comm, args.comm)
    }

    fn send_receive(
        &mut self,
        send: &SendArgs,
        receive: &ReceiveArgs,
        status: Option<Status>,
    ) -> Result<(), NumbersExhausted> {
        self.values.set(Name::dest, peer(send.dest));
        self.set_comm(Name::comm, send.comm)?;
        self.set_length(send.bytes, Name::sendcount, Name::sendtype);
        // `MPI_Sendrecv_replace` replaces the sent data, so both counts are equal.
        self.values.copy(Name::sendcount, Name::count);
        self.values.copy(Name::sendtype, Name::datatype);
        self.values.set(Name::sendtag, send.tag);
        self.values.set(Name::source, peer(receive.source));
        self.values.set(Name::recvtag, tag(receive.tag));
        self.set_length(receive.bytes, Name::recvcount, Name::recvtype);
        self.set_status(receive.source, status);
        Ok(())
    }

    /// Adds a source to a status without a source. Otherwise a receive from any source would look like a
    /// receive from `MPI_PROC_NULL`.
    fn set_status(&mut self, source: Peer, status: Option<Status>) {
        let Some(status) = status else { return };
        if source == Peer::Any && !matches!(status.source, Peer::Rank(_)) {
            self.deviations.statuses += 1;
            return;
        }
        self.values.statuses = Some(vec![raw_status(Some(status))]);
    }

    fn set_requests(&mut self, call: &Call) {
        self.values.requests.extend(call.requests.iter().map(|&request| self.requests.number_of(request)));
        self.values.set(Name::request, self.values.requests.first().copied().unwrap_or(1));
    }

    fn complete(&mut self, awaits: Await, call: &Call) {
        self.set_requests(call);
        let found = &call.completions;
        self.values.set(Name::flag, i32::from(!found.is_empty()));
        self.values.set(Name::index, found.first().map_or(UNDEFINED, |found| found.index as i32));
        self.values.indices.extend(found.iter().map(|found| found.index as i32));
        let known = found.iter().filter(|found| found.status.is_some()).count();
        if known > 0 {
            self.deviations.statuses += (found.len() - known) as u64;
            let mut statuses: Vec<RawStatus> = Vec::new();
            match awaits {
                Await::All => {
                    statuses.resize(call.requests.len(), raw_status(None));
                    found.iter().for_each(|found| statuses[found.index as usize] = raw_status(found.status));
                }
                _ => statuses.extend(found.iter().map(|found| raw_status(found.status))),
            }
            self.values.statuses = Some(statuses);
        }
        let live = call.requests.iter().filter(|&&request| request != RequestId::NULL).count();
        if awaits == Await::All && found.len() != live && !found.is_empty() {
            self.deviations.partial += 1;
        }
        if matches!(call.action, Action::Complete { .. }) {
            found.iter().for_each(|found| self.requests.complete(call.requests[found.index as usize]));
        }
    }

    fn set_collective(
        &mut self,
        comm: CommId,
        root: Option<u32>,
        bytes: Option<u64>,
    ) -> Result<(), NumbersExhausted> {
        self.values.set(Name::commrank, NOT_KNOWN);
        self.values.set(Name::root, root.map_or(-1, |root| root as i32));
        let (number, of) = self.lengths.of(bytes).unwrap_or_else(|unknown| {
            self.deviations.lengths += 1;
            unknown
        });
        for name in [Name::count, Name::sendcount, Name::recvcount] {
            self.values.set(name, number);
        }
        for name in [Name::datatype, Name::sendtype, Name::recvtype] {
            self.values.set(name, of);
        }
        // Only the sum over all processes is known.
        self.values.counts.push(number);
        self.set_comm(Name::comm, comm)
    }

    fn create(
        &mut self,
        function: Function,
        call: &Call,
        (parent, how, new): (CommId, NewComm, CommId),
    ) -> Result<(), NumbersExhausted> {
        self.values.set(Name::commrank, NOT_KNOWN);
        for name in [Name::oldcomm, Name::localcomm, Name::comm] {
            self.set_comm(name, parent)?;
        }
        match how {
            NewComm::Dup | NewComm::CartSub | NewComm::Unknown => {}
            NewComm::Split { color, key } => {
                self.values.set(Name::color, color.unwrap_or(UNDEFINED));
                self.values.set(Name::key, key);
            }
            NewComm::Listed { own, .. } => {
                let (color, key) = self.members.color(&call.integers[..own as usize], new);
                self.values.set(Name::color, color);
                self.values.set(Name::key, key);
                self.values.set(Name::nodes, own as i32);
            }
            NewComm::Group(group) => {
                let raw = self.groups.number_of(group.0)?;
                self.values.set(Name::group, raw);
            }
            NewComm::Cart { reorder } => self.values.set(Name::reorder, i32::from(reorder)),
            NewComm::Graph { nodes, reorder } => {
                self.values.set(Name::nodes, nodes as i32);
                self.values.set(Name::reorder, i32::from(reorder));
            }
            NewComm::Inter { local_leader, peer_comm, remote_leader, tag } => {
                self.values.set(Name::localleader, local_leader as i32);
                self.values.set(Name::remoteleader, remote_leader as i32);
                self.values.set(Name::tag, tag);
                self.set_comm(Name::remotecomm, peer_comm)?;
            }
            NewComm::Merge { high } => self.values.set(Name::high, i32::from(high)),
        }
        self.set_integers(call, how);
        let is_known = match how {
            NewComm::Unknown => false,
            NewComm::Listed { .. } => Members::listed(function),
            _ => true,
        };
        self.deviations.members += u64::from(!is_known && new != CommId::NULL);
        self.members.made(parent, how, new, &call.integers);
        let raw = if new == CommId::NULL { 1 } else { self.comms.create(new.0)? };
        self.values.set(Name::newcomm, raw);
        self.values.set(Name::parent, raw);
        if function == Function::Comm_join {
            self.values.set(Name::comm, raw);
        }
        Ok(())
    }

    /// A grid with listed members has one dimension with all members.
    fn set_integers(&mut self, call: &Call, how: NewComm) {
        match how {
            NewComm::Listed { own, .. } => self.values.integers.push(own as i32),
            _ => self.values.integers.extend(&call.integers),
        }
    }

    fn set_group(&mut self, call: &Call, how: NewGroup, new: GroupId) -> Result<(), NumbersExhausted> {
        let first = match how {
            NewGroup::OfComm(comm) | NewGroup::OfRemote(comm) => {
                self.set_comm(Name::comm, comm)?;
                None
            }
            NewGroup::Include(of) | NewGroup::Exclude(of) => Some(of),
            NewGroup::RangeInclude(of) | NewGroup::RangeExclude(of) => Some(of),
            NewGroup::Union(first, second)
            | NewGroup::Intersection(first, second)
            | NewGroup::Difference(first, second) => {
                let raw = self.groups.number_of(second.0)?;
                self.values.set(Name::group2, raw);
                Some(first)
            }
        };
        if let Some(first) = first {
            let raw = self.groups.number_of(first.0)?;
            self.values.set(Name::group, raw);
            self.values.set(Name::group1, raw);
        }
        self.values.integers.extend(&call.integers);
        let raw = self.groups.create(new.0)?;
        self.values.set(Name::newgroup, raw);
        if first.is_none() {
            self.values.set(Name::group, raw);
        }
        Ok(())
    }
}

/// Unknown values, and values of more than 31 bits, become negative.
fn raw_status(status: Option<Status>) -> RawStatus {
    let none = Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled: false };
    let Status { source, tag: reported, bytes, cancelled } = status.unwrap_or(none);
    let source = if let Peer::Rank(_) = source { peer(source) } else { -1 };
    let bytes = bytes.and_then(|bytes| i32::try_from(bytes).ok()).unwrap_or(-1);
    (bytes, source, tag(reported), cancelled)
}
