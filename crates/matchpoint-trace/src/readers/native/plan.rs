//! How to read the calls of each function, by the function's index in the head.

use crate::function::Function;
use crate::native::layout::{self, Field, FieldLayout, HandleKind};

use super::cursor::{Cursor, Fault};

/// The last handle of each kind. The next handle is stored as a difference.
#[derive(Clone, Copy, Default)]
pub(super) struct LastHandles([u64; 4]);

impl LastHandles {
    /// Reads a handle; 0 is null.
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

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub function: Function,
    pub shape: FieldLayout,
    pub remark: Option<Remark>,
    fields: Box<[Field]>,
    own: usize,
}

/// Kinds of remarks. Their names start with `+`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Remark {
    Members,
    Queues,
    Unknown,
}

impl Plan {
    pub fn new(name: &str, fields: &str) -> Result<Plan, String> {
        let remark = match name {
            layout::MEMBERS => Some(Remark::Members),
            layout::QUEUES => Some(Remark::Queues),
            _ => name.starts_with('+').then_some(Remark::Unknown),
        };
        let failed = name.strip_suffix(layout::FAILED);
        let function = Function::named(failed.unwrap_or(name)).unwrap_or(Function::Unknown);
        // A failed call has no effect.
        let shape = if failed.is_some() { FieldLayout::Other } else { FieldLayout::of(function) };
        let own = match remark {
            Some(Remark::Members) => layout::MEMBERS_FIELDS,
            Some(Remark::Queues) => layout::QUEUES_FIELDS,
            _ => shape.fields(),
        };
        let Some(more) = fields.strip_prefix(own) else {
            return Err(format!("the head has the fields `{fields}` for {name}, but `{own}` are expected"));
        };
        let unknown = more.chars().find(|&letter| Field::of(letter).is_none());
        if let Some(letter) = unknown {
            return Err(format!("the head has an unknown field `{letter}` for {name}"));
        }
        let fields = fields.chars().filter_map(Field::of).collect();
        Ok(Plan { function, shape, remark, fields, own: own.len() })
    }

    pub fn skip_fields(&self, cursor: &mut Cursor, last: &mut LastHandles) -> Result<(), Fault> {
        skip_fields(&self.fields, cursor, last)
    }

    /// Skips the fields after the standard fields. Returns the call site, or 0.
    #[inline]
    pub fn skip_extra_fields(&self, cursor: &mut Cursor, last: &mut LastHandles) -> Result<u64, Fault> {
        if self.own == self.fields.len() { Ok(0) } else { self.more(cursor, last) }
    }

    fn more(&self, cursor: &mut Cursor, last: &mut LastHandles) -> Result<u64, Fault> {
        match &self.fields[self.own..] {
            [Field::Handle(HandleKind::Address), rest @ ..] => {
                let site = last.handle(HandleKind::Address, cursor)?;
                skip_fields(rest, cursor, last)?;
                Ok(site)
            }
            more => skip_fields(more, cursor, last).map(|()| 0),
        }
    }
}

/// Skips fields. Handles among the fields are the base of later handles.
fn skip_fields(fields: &[Field], cursor: &mut Cursor, last: &mut LastHandles) -> Result<(), Fault> {
    for field in fields {
        match field {
            Field::Handle(kind) => drop(last.handle(*kind, cursor)?),
            Field::Signed | Field::Unsigned => drop(cursor.unsigned()?),
            Field::Status => skip_status(cursor)?,
            Field::Requests => {
                for _ in 0..cursor.count()? {
                    last.handle(HandleKind::Request, cursor)?;
                }
            }
            Field::Completions => {
                for _ in 0..cursor.count()? {
                    cursor.unsigned()?;
                    skip_status(cursor)?;
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

fn skip_status(cursor: &mut Cursor) -> Result<(), Fault> {
    if cursor.unsigned()? == 1 {
        for _ in 0..3 {
            cursor.unsigned()?;
        }
    }
    Ok(())
}
