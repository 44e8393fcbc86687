//! JSON documents and tables. Manual pages describe every member. Members never change or disappear.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

/// Increased if a member changes its meaning.
pub const SCHEMA: u32 = 1;

pub fn write(document: &impl Serialize, out: &mut (dyn Write + Send)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

pub fn headed(mut document: Value) -> Value {
    document["schema"] = json!(SCHEMA);
    document["matchpoint"] = json!(env!("CARGO_PKG_VERSION"));
    document
}

pub fn measured(load: Option<f64>, mut document: Value) -> Value {
    document["host"] = json!(matchpoint_replay::host::host());
    document["load"] = json!(load);
    headed(document)
}

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

/// `columns` has the names of the columns and the paths of the members.
pub fn members(
    columns: &[(String, String)],
    documents: impl Iterator<Item = Value>,
    cell: impl Fn(&str, &Value) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let row = |document: Value| -> Vec<String> {
        let member = |pointer: &str| document.pointer(pointer).unwrap_or(&Value::Null).clone();
        columns.iter().map(|(name, pointer)| cell(name, &member(pointer))).collect()
    };
    table(columns.iter().map(|(name, _)| name), documents.map(row), out)
}

/// Empty if missing. Fractions have this number of decimals.
pub fn cell(value: &Value, decimals: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.decimals$}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
