//! The calls that most streams consist of, read in one go. What the layouts say of them is the same; the text form,
//! which goes by the layouts, is compared with this in tests.

use super::cursor::{Cursor, Fault};
use super::ids;
use super::sizes::Sizes;
use crate::call::{Action, ReceiveArgs, SendArgs, SendMode};
use crate::function::Function;

/// The fields of `MPI_Isend` and `MPI_Irecv`: count, datatype, peer, tag, communicator, request.
struct Immediate([u8; 20]);

impl Immediate {
    #[inline]
    fn int(&self, at: usize) -> i32 {
        i32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    #[inline]
    fn half(&self, at: usize) -> i32 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]]).into()
    }
}

/// What a call does, if it is a frequent one; the cursor is behind its fields then, and else where it was.
#[inline]
pub(super) fn read(function: Function, cursor: &mut Cursor, sizes: &Sizes) -> Result<Option<Action>, Fault> {
    if !matches!(function, Function::Isend | Function::Irecv) {
        return Ok(None);
    }
    let fields = Immediate(cursor.array()?);
    let bytes = sizes.bytes(fields.int(0), fields.half(4));
    let (peer, tag, comm) = (fields.int(6), fields.int(10), ids::comm(fields.half(14)));
    let request = Some(ids::request(fields.int(16)));
    Ok(Some(if function == Function::Isend {
        let args = SendArgs { mode: SendMode::Standard, dest: ids::dest(peer), tag, comm, bytes };
        Action::Send { args, request }
    } else {
        let args = ReceiveArgs { source: ids::source(peer), tag: ids::tag(tag), comm, bytes };
        Action::Receive { args, request, status: None }
    }))
}
