//! Documents and tables for programs: their head, and how they are written. Pages of the manual describe every member; members never
//! change their meaning or disappear.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

/// Raised when a member changes its meaning.
pub const SCHEMA: u32 = 1;

/// Writes a document.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &impl Serialize, out: &mut (dyn Write + Send)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

/// A document with the members that all have.
pub fn headed(mut document: Value) -> Value {
    document["schema"] = json!(SCHEMA);
    document["matchpoint"] = json!(env!("CARGO_PKG_VERSION"));
    document
}

/// A document of what was measured on this host, and the load of the host before, where it is known.
pub fn measured(load: Option<f64>, mut document: Value) -> Value {
    document["host"] = json!(matchpoint_replay::host::host());
    document["load"] = json!(load);
    headed(document)
}

/// Writes a table as CSV.
///
/// # Errors
/// Those of `out`.
pub fn table<R: Serialize>(
    header: impl IntoIterator<Item = impl AsRef<[u8]>>,
    rows: impl IntoIterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(header)?;
    for row in rows {
        table.serialize(row)?;
    }
    table.flush()
}
