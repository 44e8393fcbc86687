//! Decoder of a call's fields.

use super::comms::Comms;
use super::cursor::{Cursor, Fault};
use super::plan::{LastHandles, Plan};
use super::requests::Table;
use crate::call::{
    Action, Call, CommId, Completion, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, SendMode,
    Status, TagArg,
};
use crate::native::MOST_RANKS;
use crate::native::layout::{FieldLayout, HandleKind};

#[derive(Default)]
pub(super) struct Ids {
    comms: Comms,
    requests: Table,
    messages: Table,
}

pub(super) struct Fields<'c, 'b> {
    pub cursor: &'c mut Cursor<'b>,
    pub last: &'c mut LastHandles,
    pub ids: &'c mut Ids,
}

impl Fields<'_, '_> {
    #[inline]
    pub fn read(&mut self, plan: &Plan, call: &mut Call) -> Result<(), Fault> {
        call.requests.clear();
        call.completions.clear();
        call.integers.clear();
        call.function = plan.function;
        self.ids.requests.thread = call.thread;
        self.read_action(plan.shape, call)?;
        call.site = plan.skip_extra_fields(self.cursor, self.last)?;
        Ok(())
    }

    #[inline]
    fn read_action(&mut self, shape: FieldLayout, call: &mut Call) -> Result<(), Fault> {
        // Each arm assigns the action: one assignment for all arms would assemble the action in memory first.
        match shape {
            FieldLayout::Isend(mode) => {
                let args = self.send(mode)?;
                call.action = Action::Send { args, request: Some(self.begin(false)?) };
            }
            FieldLayout::Irecv => {
                let args = self.receive()?;
                call.action = Action::Receive { args, request: Some(self.begin(false)?), status: None };
            }
            FieldLayout::Send(mode) => call.action = Action::Send { args: self.send(mode)?, request: None },
            FieldLayout::Recv => {
                let (args, status) = (self.receive()?, self.status()?);
                call.action = Action::Receive { args, request: None, status };
            }
            FieldLayout::Complete(awaits, blocking) => {
                self.requests(call)?;
                self.completions(call, true)?;
                call.action = Action::Complete { awaits, blocking };
            }
            FieldLayout::Start => {
                self.requests(call)?;
                call.action = Action::Start;
            }
            FieldLayout::Collective => {
                let (comm, root, bytes) = self.collective()?;
                call.action = Action::Collective { comm, root, bytes, request: None };
            }
            FieldLayout::Other => call.action = Action::Other,
            _ => call.action = self.read_rare(shape, call)?,
        }
        Ok(())
    }

    /// Reads rare calls. The function is separate, so that frequent calls stay short.
    fn read_rare(&mut self, shape: FieldLayout, call: &mut Call) -> Result<Action, Fault> {
        Ok(match shape {
            FieldLayout::SendInit(mode) => {
                Action::SendInit { args: self.send(mode)?, request: self.begin(true)? }
            }
            FieldLayout::RecvInit => {
                Action::ReceiveInit { args: self.receive()?, request: self.begin(true)? }
            }
            FieldLayout::PartitionedInit => {
                self.receive()?;
                self.begin(true)?;
                Action::Partitioned
            }
            FieldLayout::Sendrecv | FieldLayout::Isendrecv => self.send_receive(shape)?,
            FieldLayout::Cancel => {
                self.requests(call)?;
                Action::Cancel
            }
            FieldLayout::RequestFree => {
                self.requests(call)?;
                call.requests.iter().for_each(|request| self.ids.requests.end(request.0));
                Action::RequestFree
            }
            FieldLayout::Probe | FieldLayout::Iprobe | FieldLayout::Mprobe | FieldLayout::Improbe => {
                self.probe(shape)?
            }
            FieldLayout::Mrecv => {
                let handle = self.message()?;
                self.bytes()?;
                Action::MatchedReceive { handle, request: None, status: self.status()? }
            }
            FieldLayout::Imrecv => {
                let handle = self.message()?;
                self.bytes()?;
                Action::MatchedReceive { handle, request: Some(self.begin(false)?), status: None }
            }
            FieldLayout::RequestStatus => {
                self.requests(call)?;
                self.completions(call, false)?;
                Action::RequestStatus
            }
            FieldLayout::Pready | FieldLayout::Parrived => {
                self.raw(HandleKind::Request)?;
                if shape == FieldLayout::Parrived {
                    self.cursor.unsigned()?;
                }
                Action::Partitioned
            }
            FieldLayout::Icollective => {
                let (comm, root, bytes) = self.collective()?;
                Action::Collective { comm, root, bytes, request: Some(self.begin(false)?) }
            }
            FieldLayout::CollectiveInit => {
                let (comm, root, bytes) = self.collective()?;
                Action::CollectiveInit { comm, root, bytes, request: self.begin(true)? }
            }
            FieldLayout::CommFree => {
                let handle = self.raw(HandleKind::Communicator)?;
                Action::CommFree { comm: self.ids.comms.free(handle) }
            }
            FieldLayout::Init => Action::Init,
            FieldLayout::Finalize => Action::Finalize,
            _ => self.create(shape)?,
        })
    }

    /// Reads the members of a new communicator from the remark after its creation.
    pub fn members(&mut self, size: u32, call: &mut Call) -> Result<(), Fault> {
        self.raw(HandleKind::Communicator)?;
        call.integers.clear();
        self.processes(size, &mut call.integers)?;
        let own = call.integers.len() as u32;
        self.processes(size, &mut call.integers)?;
        if let Action::CommCreate { how, .. } = &mut call.action {
            match how {
                NewComm::Unknown | NewComm::Split { .. } => *how = NewComm::Listed { own, tag: None },
                NewComm::Listed { own: members, .. } => *members = own,
                // A duplicate has the parent's members. The replay matches the two groups of an
                // inter-communicator.
                _ => call.integers.clear(),
            }
        }
        Ok(())
    }

    fn processes(&mut self, size: u32, into: &mut Vec<i32>) -> Result<(), Fault> {
        let most = size.max(into.len() as u32).max(1024).saturating_mul(2).min(MOST_RANKS) as usize;
        for _ in 0..self.cursor.count()? {
            let (first, step) = (self.cursor.signed()?, self.cursor.signed()?);
            let many = self.cursor.unsigned()?;
            if many > (most - into.len().min(most)) as u64 {
                return Err(Fault::Count(many));
            }
            let rank = |at: u64| {
                let rank = first.wrapping_add(step.wrapping_mul(at as i64));
                i32::try_from(rank).ok().filter(|&rank| rank >= 0 && (rank as u32) < size).unwrap_or(-1)
            };
            into.extend((0..many).map(rank));
        }
        Ok(())
    }

    fn create(&mut self, shape: FieldLayout) -> Result<Action, Fault> {
        let parent = if shape == FieldLayout::CreateFromGroup { CommId::NULL } else { self.comm()? };
        let how = match shape {
            FieldLayout::Dup | FieldLayout::Idup => NewComm::Dup,
            FieldLayout::Split => {
                let (color, key) = (self.int()?, self.int()?);
                NewComm::Split { color: Some(color).filter(|&color| color >= 0), key }
            }
            FieldLayout::CreateGroup | FieldLayout::CreateFromGroup => {
                NewComm::Listed { own: 0, tag: Some(self.cursor.signed()?) }
            }
            FieldLayout::InterCreate => {
                let local_leader = self.natural()?;
                let (peer_comm, remote_leader) = (self.comm()?, self.natural()?);
                NewComm::Inter { local_leader, peer_comm, remote_leader, tag: self.int()? }
            }
            FieldLayout::Merge => NewComm::Merge { high: self.cursor.unsigned()? != 0 },
            _ => NewComm::Unknown,
        };
        let handle = self.raw(HandleKind::Communicator)?;
        let comm = self.ids.comms.make(handle);
        // A process with a null communicator is not a member.
        let how = match how {
            NewComm::Unknown if comm == CommId::NULL => NewComm::Listed { own: 0, tag: None },
            how => how,
        };
        let request = if shape == FieldLayout::Idup { Some(self.begin(false)?) } else { None };
        Ok(Action::CommCreate { parent, how, comm, request })
    }

    fn send_receive(&mut self, shape: FieldLayout) -> Result<Action, Fault> {
        let send = self.send(SendMode::Standard)?;
        let receive =
            ReceiveArgs { comm: send.comm, source: self.peer()?, tag: self.tag()?, bytes: self.bytes()? };
        let (request, status) = match shape {
            FieldLayout::Isendrecv => (Some(self.begin(false)?), None),
            _ => (None, self.status()?),
        };
        Ok(Action::SendReceive { send, receive, request, status })
    }

    fn probe(&mut self, shape: FieldLayout) -> Result<Action, Fault> {
        let comm = self.comm()?;
        let args = ReceiveArgs { comm, source: self.peer()?, tag: self.tag()?, bytes: None };
        let blocking = matches!(shape, FieldLayout::Probe | FieldLayout::Mprobe);
        let found = blocking || self.cursor.unsigned()? != 0;
        let handle = match shape {
            FieldLayout::Mprobe | FieldLayout::Improbe => {
                let raw = self.raw(HandleKind::Message)?;
                let id = if raw == 0 || !found { 0 } else { self.ids.messages.begin(raw, false) };
                Some(HandleId(id))
            }
            _ => None,
        };
        let status = self.status()?;
        Ok(Action::Probe { args, blocking, found, status: status.filter(|_| found), handle })
    }

    fn collective(&mut self) -> Result<(CommId, Option<u32>, Option<u64>), Fault> {
        let comm = self.comm()?;
        let root = u32::try_from(self.cursor.signed()?).ok();
        Ok((comm, root, self.bytes()?))
    }

    #[inline]
    fn send(&mut self, mode: SendMode) -> Result<SendArgs, Fault> {
        let comm = self.comm()?;
        let dest = self.peer()?;
        Ok(SendArgs { mode, dest, tag: self.int()?, comm, bytes: self.bytes()? })
    }

    #[inline]
    fn receive(&mut self) -> Result<ReceiveArgs, Fault> {
        let comm = self.comm()?;
        let source = self.peer()?;
        Ok(ReceiveArgs { source, tag: self.tag()?, comm, bytes: self.bytes()? })
    }

    #[inline]
    fn raw(&mut self, kind: HandleKind) -> Result<u64, Fault> {
        self.last.handle(kind, self.cursor)
    }

    #[inline]
    fn comm(&mut self) -> Result<CommId, Fault> {
        let handle = self.raw(HandleKind::Communicator)?;
        Ok(self.ids.comms.named(handle))
    }

    #[inline]
    fn begin(&mut self, persistent: bool) -> Result<RequestId, Fault> {
        let handle = self.raw(HandleKind::Request)?;
        if handle == 0 {
            return Ok(RequestId::NULL);
        }
        Ok(RequestId(self.ids.requests.begin(handle, persistent)))
    }

    /// Reads the handle of a matched probe's message, and ends the message.
    fn message(&mut self) -> Result<HandleId, Fault> {
        let handle = self.raw(HandleKind::Message)?;
        self.ids.messages.next_call();
        let id = if handle == 0 { None } else { self.ids.messages.name(handle) };
        id.into_iter().for_each(|id| self.ids.messages.end(id));
        Ok(id.map_or(HandleId::NULL, HandleId))
    }

    #[inline]
    fn requests(&mut self, call: &mut Call) -> Result<(), Fault> {
        let count = self.cursor.count()?;
        call.requests.reserve(count);
        self.ids.requests.next_call();
        for _ in 0..count {
            let id = match self.raw(HandleKind::Request)? {
                0 => RequestId::NULL,
                handle => self.ids.requests.name(handle).map_or(RequestId::UNKNOWN, RequestId),
            };
            call.requests.push(id);
        }
        Ok(())
    }

    #[inline]
    fn completions(&mut self, call: &mut Call, ends: bool) -> Result<(), Fault> {
        let count = self.cursor.count()?;
        call.completions.reserve(count);
        let mut next = 0u64;
        for _ in 0..count {
            let index = next.wrapping_add_signed(self.cursor.signed()?);
            next = index.wrapping_add(1);
            let status = self.status()?;
            let Some(&request) = usize::try_from(index).ok().and_then(|at| call.requests.get(at)) else {
                return Err(Fault::Count(index));
            };
            if request != RequestId::NULL {
                call.completions.push(Completion { index: index as u32, status });
                if ends {
                    self.ids.requests.complete(request.0);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn status(&mut self) -> Result<Option<Status>, Fault> {
        let none = Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled: false };
        Ok(match self.cursor.unsigned()? {
            0 => None,
            1 => Some(Status {
                source: self.peer()?,
                tag: self.tag()?,
                bytes: self.bytes()?,
                cancelled: false,
            }),
            2 => Some(Status { cancelled: true, ..none }),
            3 => Some(Status { bytes: Some(0), ..none }),
            other => return Err(Fault::Status(other)),
        })
    }

    #[inline]
    fn bytes(&mut self) -> Result<Option<u64>, Fault> {
        self.cursor.unsigned().map(|written| written.checked_sub(1))
    }

    #[inline]
    fn peer(&mut self) -> Result<Peer, Fault> {
        Ok(match self.cursor.signed()? {
            -1 => Peer::Any,
            rank => u32::try_from(rank).map_or(Peer::Null, Peer::Rank),
        })
    }

    #[inline]
    fn tag(&mut self) -> Result<TagArg, Fault> {
        Ok(match self.int()? {
            -1 => TagArg::Any,
            tag => TagArg::Is(tag),
        })
    }

    #[inline]
    fn int(&mut self) -> Result<i32, Fault> {
        i32::try_from(self.cursor.signed()?).map_err(|_| Fault::Number)
    }

    fn natural(&mut self) -> Result<u32, Fault> {
        Ok(u32::try_from(self.cursor.signed()?).unwrap_or(0))
    }
}
