//! The calls that most streams consist of, read in one go. What the layouts say of them is the same; the text form,
//! which goes by the layouts, is compared with this in tests.

use super::cursor::{Cursor, Fault, integers};
use super::decode::Statuses;
use super::ids;
use super::sizes::Sizes;
use crate::call::{Action, Await, Call, Completion, ReceiveArgs, RequestId, SendArgs, SendMode, Status};
use crate::function::Function;

/// Reads the fields of a frequent call, and says what it does. False for others: the cursor is where it was then.
#[inline]
pub(super) fn read(
    cursor: &mut Cursor,
    sizes: &Sizes,
    statuses: Statuses,
    call: &mut Call,
) -> Result<bool, Fault> {
    // Each arm assigns: a value that all arms led to was put together in memory and loaded again at once, in wider pieces
    // than the processor forwards, which took a fifth of this function's time.
    match call.function {
        Function::Isend | Function::Send => {
            // A record cut short is left to the layouts, field by field: they tell where it ends.
            let Some(transfer) = Transfer::read(cursor, sizes) else { return Ok(false) };
            let request = if call.function == Function::Isend { Some(request(cursor)?) } else { None };
            call.action = Action::Send { args: transfer.send(), request };
        }
        Function::Irecv => {
            let Some(transfer) = Transfer::read(cursor, sizes) else { return Ok(false) };
            let request = Some(request(cursor)?);
            call.action = Action::Receive { args: transfer.receive(), request, status: None };
        }
        Function::Recv => {
            let Some(transfer) = Transfer::read(cursor, sizes) else { return Ok(false) };
            let mut args = transfer.receive();
            let status = statuses.read(cursor)?.next();
            args.source = ids::known(args.source, status.map(|status| status.source));
            call.action = Action::Receive { args, request: None, status };
        }
        Function::Wait => {
            call.requests.push(request(cursor)?);
            complete(call, statuses.read(cursor)?);
        }
        Function::Waitall => {
            listed(cursor, call)?;
            complete(call, statuses.read(cursor)?);
        }
        Function::Start => {
            call.requests.push(request(cursor)?);
            call.action = Action::Start;
        }
        Function::Startall => {
            listed(cursor, call)?;
            call.action = Action::Start;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Gets past the fields of a frequent call that waits. False for others: the cursor is where it was then.
#[inline]
pub(super) fn skip_completed(
    cursor: &mut Cursor,
    statuses: Statuses,
    call: &mut Call,
) -> Result<bool, Fault> {
    match call.function {
        Function::Wait => drop(cursor.i32()?),
        Function::Waitall => {
            cursor.i32()?;
            cursor.counted(4)?;
        }
        _ => return Ok(false),
    }
    statuses.skip(cursor)?;
    call.action = Action::Complete { awaits: Await::All, blocking: true };
    Ok(true)
}

/// What the fields of sends and receives begin with: count, datatype, peer, tag, communicator.
struct Transfer {
    bytes: Option<u64>,
    peer: i32,
    tag: i32,
    comm: i32,
}

impl Transfer {
    #[inline]
    fn read(cursor: &mut Cursor, sizes: &Sizes) -> Option<Self> {
        let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = cursor.peek()?;
        cursor.skip(16);
        let datatype = u16::from_be_bytes([e, f]).into();
        Some(Transfer {
            bytes: sizes.bytes(i32::from_be_bytes([a, b, c, d]), datatype),
            peer: i32::from_be_bytes([g, h, i, j]),
            tag: i32::from_be_bytes([k, l, m, n]),
            comm: u16::from_be_bytes([o, p]).into(),
        })
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
fn request(cursor: &mut Cursor) -> Result<RequestId, Fault> {
    cursor.i32().map(ids::request)
}

/// A number that says nothing new, and a list of requests.
#[inline]
fn listed(cursor: &mut Cursor, call: &mut Call) -> Result<(), Fault> {
    cursor.i32()?;
    call.requests.extend(integers(cursor.counted(4)?).map(ids::request));
    Ok(())
}

/// All requests are complete, but null ones, which have a status too.
#[inline]
fn complete(call: &mut Call, mut statuses: impl Iterator<Item = Status>) {
    call.completions.reserve(call.requests.len());
    // Through adapters each status was copied three times, in pieces that the processor could not forward: a tenth of
    // the time that traces with long Waitalls took.
    for (index, &request) in (0..).zip(&call.requests) {
        let status = statuses.next();
        if request != RequestId::NULL {
            call.completions.push(Completion { index, status });
        }
    }
    call.action = Action::Complete { awaits: Await::All, blocking: true };
}
