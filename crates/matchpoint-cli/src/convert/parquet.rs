//! The table of calls as one Parquet file, compressed with zstd.

use std::io::{self, Write};
use std::sync::Arc;

use matchpoint_replay::Progress;
use matchpoint_trace::columns::{Column, Kind, LISTS, Row, VALUES};
use matchpoint_trace::{Function, Trace};
use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::origin::Origin;
use super::ranks::each_row;

/// The default of DuckDB, some dozen megabytes of memory.
const GROUP_ROWS: usize = 122_880;
/// Maximum number of list elements in a group, because an MPI call may have many requests.
const GROUP_ELEMENTS: usize = 2 << 20;

pub(super) fn write(
    trace: &dyn Trace,
    origin: &Origin,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    let properties = Arc::new(properties(trace));
    let mut file = SerializedFileWriter::new(out, schema()?, properties).map_err(io::Error::other)?;
    let mut group = Group {
        values: VALUES.iter().map(|_| Part::default()).collect(),
        lists: LISTS.iter().map(|_| Part::default()).collect(),
        names: Function::ALL.iter().map(|function| ByteArray::from(function.name())).collect(),
        ..Group::default()
    };
    let rows = each_row(trace, origin, progress, |row| {
        group.add(row);
        if group.is_full() { group.flush(&mut file) } else { Ok(()) }
    })?;
    if group.rows > 0 {
        group.flush(&mut file)?;
    }
    file.close().map_err(io::Error::other)?;
    Ok(rows)
}

fn properties(trace: &dyn Trace) -> WriterProperties {
    let description = trace.description();
    let about = |key: &str, value: String| KeyValue::new(format!("matchpoint.{key}"), value);
    let about = vec![
        about("trace_format", description.format.clone()),
        about("ranks", description.ranks.to_string()),
        about("notes", description.notes.join("\n")),
    ];
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("matchpoint ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about))
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    // These columns have ascending values, so differences are small.
    for name in ["call", "enter_ns", "leave_ns"] {
        let path = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

fn schema() -> io::Result<TypePtr> {
    let values = VALUES.iter().map(|column| {
        let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        leaf(column, column.name, repetition)
    });
    let fields: parquet::errors::Result<Vec<TypePtr>> = values.chain(LISTS.iter().map(list)).collect();
    let schema = Type::group_type_builder("calls").with_fields(fields.map_err(io::Error::other)?);
    schema.build().map(Arc::new).map_err(io::Error::other)
}

fn leaf(column: &Column, name: &str, repetition: Repetition) -> parquet::errors::Result<TypePtr> {
    let integer = |bit_width, is_signed| Some(LogicalType::integer(bit_width, is_signed));
    let (physical, logical) = match column.kind {
        Kind::Name => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::U16 => (Physical::INT32, integer(16, false)),
        Kind::U32 => (Physical::INT32, integer(32, false)),
        Kind::I32 => (Physical::INT32, None),
        Kind::U64 => (Physical::INT64, integer(64, false)),
        Kind::I64 => (Physical::INT64, None),
        Kind::Bool => (Physical::BOOLEAN, None),
    };
    let leaf = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    leaf.with_logical_type(logical).build().map(Arc::new)
}

/// A list with optional elements, in the standard three-level form.
fn list(column: &Column) -> parquet::errors::Result<TypePtr> {
    let element = leaf(column, "element", Repetition::OPTIONAL)?;
    let repeated =
        Type::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![element]);
    Type::group_type_builder(column.name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(repeated.build()?)])
        .build()
        .map(Arc::new)
}

#[derive(Default)]
struct Part {
    values: Vec<i64>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl Part {
    fn value(&mut self, value: Option<i64>, required: bool) {
        self.values.extend(value);
        if !required {
            self.definition.push(value.is_some().into());
        }
    }

    fn list(&mut self, list: &[Option<i64>]) {
        if list.is_empty() {
            self.definition.push(0);
            self.repetition.push(0);
        }
        for (at, value) in list.iter().enumerate() {
            self.values.extend(value);
            self.definition.push(if value.is_some() { 2 } else { 1 });
            self.repetition.push((at > 0).into());
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.definition.clear();
        self.repetition.clear();
    }

    fn write(
        &self,
        mut column: SerializedColumnWriter<'_>,
        names: &[ByteArray],
    ) -> parquet::errors::Result<()> {
        let definition = (!self.definition.is_empty()).then_some(&self.definition[..]);
        let repetition = (!self.repetition.is_empty()).then_some(&self.repetition[..]);
        let values = self.values.iter().copied();
        match column.untyped() {
            ColumnWriter::Int32ColumnWriter(writer) => {
                let values: Vec<i32> = values.map(|value| value as i32).collect();
                writer.write_batch(&values, definition, repetition)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&self.values, definition, repetition)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                let values: Vec<bool> = values.map(|value| value != 0).collect();
                writer.write_batch(&values, definition, repetition)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let values: Vec<ByteArray> =
                    values.map(|function| names[function as usize].clone()).collect();
                writer.write_batch(&values, definition, repetition)?;
            }
            _ => unreachable!("the schema has only these types"),
        }
        column.close()
    }
}

#[derive(Default)]
struct Group {
    rows: usize,
    elements: usize,
    values: Vec<Part>,
    lists: Vec<Part>,
    names: Vec<ByteArray>,
}

impl Group {
    fn add(&mut self, row: &Row) {
        for ((part, column), value) in self.values.iter_mut().zip(&VALUES).zip(&row.values) {
            part.value(*value, column.required);
        }
        for (part, list) in self.lists.iter_mut().zip(&row.lists) {
            part.list(list);
            self.elements += list.len();
        }
        self.rows += 1;
    }

    fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS || self.elements >= GROUP_ELEMENTS
    }

    fn flush<W: Write + Send>(&mut self, file: &mut SerializedFileWriter<W>) -> io::Result<()> {
        let mut write = || {
            let mut group = file.next_row_group()?;
            for part in self.values.iter().chain(&self.lists) {
                let column = group.next_column()?.expect("as many as the schema has");
                part.write(column, &self.names)?;
            }
            group.close()
        };
        write().map_err(io::Error::other)?;
        self.values.iter_mut().chain(&mut self.lists).for_each(Part::clear);
        (self.rows, self.elements) = (0, 0);
        Ok(())
    }
}
