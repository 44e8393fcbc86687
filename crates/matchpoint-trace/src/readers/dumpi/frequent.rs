//! Fast path for frequent calls. Tests compare this path with the text form, which uses the layouts.

use super::cursor::{Cursor, Fault, integers};
use super::decode::Statuses;
use super::ids;
use super::ids::Sizes;
use crate::call::{
    Action, Await, Call, CommId, Completion, ReceiveArgs, RequestId, SendArgs, SendMode, Status,
};
use crate::function::Function;

/// Reads a frequent call. Returns false for other calls, without advancing.
///
/// Inlined at two places: a result in memory took a tenth of the time of a short record.
#[inline(always)]
pub(super) fn read(
    cursor: &mut Cursor,
    sizes: &Sizes,
    statuses: Statuses,
    call: &mut Call,
) -> Result<bool, Fault> {
    // Each arm assigns the action: one assignment for all arms took a fifth of this function's time.
    match call.function {
        Function::Isend => {
            // After false, the layouts report the position of a truncated record.
            let Some((transfer, request)) = Transfer::with_request(cursor, sizes) else { return Ok(false) };
            call.action = Action::Send { args: transfer.send(), request: Some(request) };
        }
        Function::Irecv => {
            let Some((transfer, request)) = Transfer::with_request(cursor, sizes) else { return Ok(false) };
            call.action = Action::Receive { args: transfer.receive(), request: Some(request), status: None };
        }
        Function::Send => {
            let Some(transfer) = Transfer::read(cursor, sizes) else { return Ok(false) };
            call.action = Action::Send { args: transfer.send(), request: None };
        }
        Function::Recv => {
            let Some(transfer) = Transfer::read(cursor, sizes) else { return Ok(false) };
            let mut args = transfer.receive();
            let status = statuses.read(cursor)?.next();
            args.source = ids::known(args.source, status.map(|status| status.source));
            call.action = Action::Receive { args, request: None, status };
        }
        Function::Wait => {
            call.requests.push(read_request(cursor)?);
            complete_all(call, statuses.read(cursor)?);
        }
        Function::Waitall => {
            read_requests(cursor, call)?;
            complete_all(call, statuses.read(cursor)?);
        }
        Function::Start => {
            call.requests.push(read_request(cursor)?);
            call.action = Action::Start;
        }
        Function::Startall => {
            read_requests(cursor, call)?;
            call.action = Action::Start;
        }
        Function::Comm_rank => {
            let (comm, rank) = (read_comm(cursor)?, read_natural(cursor)?);
            call.action = Action::CommRank { comm, rank };
        }
        Function::Comm_size => {
            let (comm, size) = (read_comm(cursor)?, read_natural(cursor)?);
            call.action = Action::CommSize { comm, size };
        }
        Function::Iprobe => read_probe(cursor, statuses, call)?,
        Function::Allreduce => {
            let (count, datatype) = (cursor.i32()?, cursor.u16()?);
            cursor.u8()?;
            let (comm, bytes) = (read_comm(cursor)?, sizes.bytes(count, datatype.into()));
            call.action = Action::Collective { comm, root: None, bytes, request: None };
        }
        _ => return Ok(false),
    }
    Ok(true)
}

#[inline]
fn read_probe(cursor: &mut Cursor, statuses: Statuses, call: &mut Call) -> Result<(), Fault> {
    let (source, tag) = (ids::source(cursor.i32()?), ids::tag(cursor.i32()?));
    let (comm, found) = (read_comm(cursor)?, cursor.i32()? != 0);
    let status = statuses.read(cursor)?.next().filter(|_| found);
    let source = ids::known(source, status.map(|status| status.source));
    let args = ReceiveArgs { source, tag, comm, bytes: None };
    call.action = Action::Probe { args, blocking: false, found, status, handle: None };
    Ok(())
}

/// As [`read`], for the first pass.
#[inline(always)]
pub(super) fn skip_requests(cursor: &mut Cursor, statuses: Statuses, call: &mut Call) -> Result<bool, Fault> {
    match call.function {
        Function::Wait => drop(cursor.i32()?),
        Function::Waitall => drop(read_list(cursor)?),
        Function::Start => {
            cursor.i32()?;
            call.action = Action::Start;
            return Ok(true);
        }
        Function::Startall => {
            read_list(cursor)?;
            call.action = Action::Start;
            return Ok(true);
        }
        _ => return Ok(false),
    }
    statuses.skip(cursor)?;
    call.action = Action::Complete { awaits: Await::All, blocking: true };
    Ok(true)
}

struct Transfer {
    bytes: Option<u64>,
    peer: i32,
    tag: i32,
    comm: i32,
}

impl Transfer {
    #[inline]
    fn read(cursor: &mut Cursor, sizes: &Sizes) -> Option<Self> {
        let transfer = Self::from_bytes(cursor.peek()?, sizes);
        cursor.skip(16);
        Some(transfer)
    }

    #[inline]
    fn with_request(cursor: &mut Cursor, sizes: &Sizes) -> Option<(Self, RequestId)> {
        let bytes: &[u8; 20] = cursor.peek()?;
        let (fields, &request) = (bytes.first_chunk()?, bytes.last_chunk()?);
        cursor.skip(20);
        Some((Self::from_bytes(fields, sizes), ids::request(i32::from_be_bytes(request))))
    }

    #[inline]
    fn from_bytes(&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: &[u8; 16], sizes: &Sizes) -> Self {
        let datatype = u16::from_be_bytes([e, f]).into();
        Transfer {
            bytes: sizes.bytes(i32::from_be_bytes([a, b, c, d]), datatype),
            peer: i32::from_be_bytes([g, h, i, j]),
            tag: i32::from_be_bytes([k, l, m, n]),
            comm: u16::from_be_bytes([o, p]).into(),
        }
    }

    #[inline]
    fn send(self) -> SendArgs {
        let Transfer { bytes, peer, tag, comm } = self;
        SendArgs { mode: SendMode::Standard, dest: ids::dest(peer), tag, comm: ids::comm(comm), bytes }
    }

    #[inline]
    fn receive(self) -> ReceiveArgs {
        let Transfer { bytes, peer, tag, comm } = self;
        ReceiveArgs { source: ids::source(peer), tag: ids::tag(tag), comm: ids::comm(comm), bytes }
    }
}

#[inline]
fn read_request(cursor: &mut Cursor) -> Result<RequestId, Fault> {
    cursor.i32().map(ids::request)
}

#[inline]
fn read_comm(cursor: &mut Cursor) -> Result<CommId, Fault> {
    cursor.u16().map(|raw| ids::comm(raw.into()))
}

#[inline]
fn read_natural(cursor: &mut Cursor) -> Result<u32, Fault> {
    cursor.i32().map(|raw| u32::try_from(raw).unwrap_or(0))
}

#[inline]
fn read_list<'b>(cursor: &mut Cursor<'b>) -> Result<&'b [u8], Fault> {
    cursor.i32()?;
    cursor.counted(4)
}

#[inline]
fn read_requests(cursor: &mut Cursor, call: &mut Call) -> Result<(), Fault> {
    call.requests.extend(integers(read_list(cursor)?).map(ids::request));
    Ok(())
}

#[inline]
fn complete_all(call: &mut Call, mut statuses: impl Iterator<Item = Status>) {
    call.completions.reserve(call.requests.len());
    // A loop, because iterator adapters copied each status three times: a tenth of the time for traces with
    // long Waitalls.
    for (index, &request) in (0..).zip(&call.requests) {
        let status = statuses.next();
        if request != RequestId::NULL {
            call.completions.push(Completion { index, status });
        }
    }
    call.action = Action::Complete { awaits: Await::All, blocking: true };
}
