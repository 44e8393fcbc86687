//! The table of calls as CSV. Spaces separate list elements, and unknown values are empty.

use std::io::{self, Write};

use matchpoint_replay::Progress;
use matchpoint_trace::columns::{Column, Kind, LISTS, Row, VALUES};
use matchpoint_trace::{Function, Trace};

use super::origin::Origin;
use super::ranks::each_row;

const AT_ONCE: usize = 64 << 10;

pub(super) fn write(
    trace: &dyn Trace,
    origin: &Origin,
    out: &mut dyn Write,
    progress: &Progress,
) -> io::Result<u64> {
    let names: Vec<&str> = VALUES.iter().chain(&LISTS).map(|column| column.name).collect();
    out.write_all(names.join(",").as_bytes())?;
    out.write_all(b"\n")?;
    let mut text = Vec::with_capacity(2 * AT_ONCE);
    let rows = each_row(trace, origin, progress, |row| {
        line(&mut text, row);
        if text.len() >= AT_ONCE {
            out.write_all(&text)?;
            text.clear();
        }
        Ok(())
    })?;
    out.write_all(&text)?;
    Ok(rows)
}

fn line(text: &mut Vec<u8>, row: &Row) {
    for (column, value) in VALUES.iter().zip(&row.values) {
        if let Some(value) = value {
            put(text, column, *value);
        }
        text.push(b',');
    }
    for (column, list) in LISTS.iter().zip(&row.lists) {
        for (at, value) in list.iter().enumerate() {
            if at > 0 {
                text.push(b' ');
            }
            match value {
                Some(value) => put(text, column, *value),
                // A placeholder keeps the indexes of list elements equal across columns.
                None => text.push(b'-'),
            }
        }
        text.push(b',');
    }
    text.pop();
    text.push(b'\n');
}

fn put(text: &mut Vec<u8>, column: &Column, value: i64) {
    match column.kind {
        Kind::Name => text.extend(Function::ALL[value as usize].name().as_bytes()),
        Kind::Bool => text.extend(if value == 0 { &b"false"[..] } else { b"true" }),
        _ => text.extend(itoa::Buffer::new().format(value).as_bytes()),
    }
}
