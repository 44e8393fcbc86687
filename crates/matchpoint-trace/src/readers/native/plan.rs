//! What the head says of the functions, made ready for reading: a call's index leads to what its fields mean without
//! any name being compared.

use crate::function::Function;
use crate::native::layout::{self, Field, HandleKind, Shape};

use super::cursor::{Cursor, Fault};

/// The last handle of each kind, from which the next one in the block is counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Last([u64; 4]);

impl Last {
    /// Reads a handle; 0 for none.
    #[inline]
    pub fn handle(&mut self, kind: HandleKind, cursor: &mut Cursor) -> Result<u64, Fault> {
        let written = cursor.unsigned()?;
        if written == 0 {
            return Ok(0);
        }
        let last = &mut self.0[kind as usize];
        *last = last.wrapping_add_signed(crate::native::varint::unzigzag(written - 1));
        Ok(*last)
    }
}

/// A function of the head.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub function: Function,
    pub shape: Shape,
    /// What is no call, but says something of the call before.
    pub remark: Option<Remark>,
    /// All fields of its calls.
    fields: Box<[Field]>,
    /// How many of them are those that the function should have.
    own: usize,
}

/// What a name with `+` before it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Remark {
    /// Who belongs to a new communicator.
    Members,
    /// How long the library's queues are.
    Queues,
    Unknown,
}

impl Plan {
    /// Of a name and its fields.
    ///
    /// # Errors
    /// A letter is not known, or a known function lacks fields. In words.
    pub fn new(name: &str, fields: &str) -> Result<Plan, String> {
        let remark = match name {
            layout::MEMBERS => Some(Remark::Members),
            layout::QUEUES => Some(Remark::Queues),
            _ => name.starts_with('+').then_some(Remark::Unknown),
        };
        let failed = name.strip_suffix(layout::FAILED);
        let function = Function::named(failed.unwrap_or(name)).unwrap_or(Function::Unknown);
        // What failed was called, and did nothing.
        let shape = if failed.is_some() { Shape::Other } else { Shape::of(function) };
        let own = match remark {
            Some(Remark::Members) => layout::MEMBERS_FIELDS,
            Some(Remark::Queues) => layout::QUEUES_FIELDS,
            _ => shape.fields(),
        };
        let Some(more) = fields.strip_prefix(own) else {
            return Err(format!(
                "the head says that {name} has the fields `{fields}`, which should be `{own}`"
            ));
        };
        let unknown = more.chars().find(|&letter| Field::of(letter).is_none());
        if let Some(letter) = unknown {
            return Err(format!("the head says that {name} has a field `{letter}`, which is not known"));
        }
        let fields = fields.chars().filter_map(Field::of).collect();
        Ok(Plan { function, shape, remark, fields, own: own.len() })
    }

    /// Passes over all fields of a call.
    pub fn pass(&self, cursor: &mut Cursor, last: &mut Last) -> Result<(), Fault> {
        pass(&self.fields, cursor, last)
    }

    /// Passes over fields behind those that the function should have; gives the call site, if that is among them.
    #[inline]
    pub fn pass_more(&self, cursor: &mut Cursor, last: &mut Last) -> Result<u64, Fault> {
        if self.own == self.fields.len() { Ok(0) } else { self.more(cursor, last) }
    }

    fn more(&self, cursor: &mut Cursor, last: &mut Last) -> Result<u64, Fault> {
        match &self.fields[self.own..] {
            [Field::Handle(HandleKind::Address), rest @ ..] => {
                let site = last.handle(HandleKind::Address, cursor)?;
                pass(rest, cursor, last)?;
                Ok(site)
            }
            more => pass(more, cursor, last).map(|()| 0),
        }
    }
}

/// Passes over fields that nobody asks for. Handles among them count for those that follow.
fn pass(fields: &[Field], cursor: &mut Cursor, last: &mut Last) -> Result<(), Fault> {
    for field in fields {
        match field {
            Field::Handle(kind) => drop(last.handle(*kind, cursor)?),
            Field::Signed | Field::Unsigned => drop(cursor.unsigned()?),
            Field::Status => pass_status(cursor)?,
            Field::Requests => {
                for _ in 0..cursor.count()? {
                    last.handle(HandleKind::Request, cursor)?;
                }
            }
            Field::Completions => {
                for _ in 0..cursor.count()? {
                    cursor.unsigned()?;
                    pass_status(cursor)?;
                }
            }
            Field::Integers => {
                for _ in 0..cursor.count()? {
                    cursor.unsigned()?;
                }
            }
            Field::Processes => {
                for _ in 0..3 * cursor.count()? {
                    cursor.unsigned()?;
                }
            }
        }
    }
    Ok(())
}

fn pass_status(cursor: &mut Cursor) -> Result<(), Fault> {
    if cursor.unsigned()? == 1 {
        for _ in 0..3 {
            cursor.unsigned()?;
        }
    }
    Ok(())
}
