//! The table of all calls of a trace, read batch by batch (`read_trace` in Python).

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::builder::{BooleanBuilder, UInt64Builder};
use arrow_array::builder::{
    Int32Builder, Int64Builder, ListBuilder, StringBuilder, UInt16Builder, UInt32Builder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use matchpoint_cli::convert::columns::{Column, Kind, LISTS, Row, VALUES};
use matchpoint_cli::failure::Failure;
use matchpoint_trace::{Call, Function, Trace, TraceError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::exception;
use crate::table::{schema_capsule, stream_capsule};
use crate::wait::thread_error;

/// Maximum rows of a batch: some megabytes.
const BATCH_ROWS: usize = 32_768;

/// Number of list elements after which a batch ends, because a call may have any number of requests.
const BATCH_ELEMENTS: usize = 1 << 20;

/// Calls of a trace, in the order of ranks. The columns are those of `matchpoint convert`.
///
/// The table is read when a library asks for the Arrow stream, batch by batch. Each stream reads the trace again.
/// Times are nanoseconds of the rank's clock; `bytes` is the length of a message or buffer.
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Calls {
    trace: Arc<dyn Trace>,
    ranks: Vec<u32>,
}

#[pymethods]
impl Calls {
    /// Opens a trace. `ranks`: only these ranks.
    #[new]
    #[pyo3(signature = (path, ranks = None))]
    fn new(path: PathBuf, ranks: Option<Vec<u32>>) -> PyResult<Self> {
        let open_error = |error: TraceError| exception(Failure::from(error));
        let trace: Arc<dyn Trace> = Arc::from(matchpoint_trace::open(&path).map_err(open_error)?);
        let ranks = ranks.unwrap_or_else(|| trace.present().to_vec());
        match ranks.iter().find(|rank| !trace.present().contains(rank)) {
            Some(rank) => Err(PyValueError::new_err(format!("the trace has no calls of rank {rank}"))),
            None => Ok(Calls { trace, ranks }),
        }
    }

    /// Ranks with calls in this table, ascending.
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.ranks.clone()
    }

    /// Number of processes of the traced program.
    #[getter]
    fn num_ranks(&self) -> u32 {
        self.trace.description().ranks
    }

    /// Format of the trace, with its version.
    #[getter]
    fn format(&self) -> &str {
        &self.trace.description().format
    }

    /// Path of the trace.
    #[getter]
    fn path(&self) -> &Path {
        &self.trace.description().path
    }

    /// Version string of the MPI library; None if unknown.
    #[getter]
    fn library(&self) -> Option<&str> {
        self.trace.description().library.as_deref()
    }

    /// Limitations of the trace, as full sentences.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.trace.description().notes.clone()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&'static str> {
        VALUES.iter().chain(&LISTS).map(|column| column.name).collect()
    }

    fn __repr__(&self) -> String {
        let trace = self.trace.description();
        format!("<Calls of '{}': {}, {} ranks>", trace.path.display(), trace.format, self.ranks.len())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &schema())
    }

    /// The calls as an Arrow stream. The schema cannot be chosen.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let (trace, ranks) = (Arc::clone(&self.trace), self.ranks.clone());
        // The channel buffers one batch while the reader of the stream uses another.
        let (sender, batches) = sync_channel(1);
        let reader = thread::Builder::new().name("matchpoint-reader".to_owned());
        let read = move || {
            let sent =
                panic::catch_unwind(AssertUnwindSafe(|| send_batches(trace.as_ref(), &ranks, &sender)));
            // A panic becomes an error. Otherwise the stream would end as if the trace had no more calls.
            if let Err(cause) = sent {
                let _ = sender.send(Err(panic_error(cause.as_ref())));
            }
        };
        reader.spawn(read).map_err(thread_error)?;
        stream_capsule(py, Box::new(Batches { schema: schema(), batches }))
    }
}

/// The batches from the reading thread. The thread ends after this value is dropped.
struct Batches {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The error for a panic of the reading thread.
fn panic_error(cause: &(dyn Any + Send)) -> ArrowError {
    let text = cause.downcast_ref::<&str>().copied();
    let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
    ArrowError::ComputeError(format!("the reader of the trace panicked: {text}"))
}

/// Reads one rank after the other and sends batches, until the end or until the stream is closed.
fn send_batches(trace: &dyn Trace, ranks: &[u32], out: &SyncSender<Result<RecordBatch, ArrowError>>) {
    let mut batch = Batch::default();
    for &rank in ranks {
        let read = each_call(trace, rank, |number, call| {
            batch.add(rank, number, call);
            !batch.is_full() || out.send(batch.finish()).is_ok()
        });
        match read {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                let _ = out.send(Err(ArrowError::ExternalError(Box::new(error))));
                return;
            }
        }
    }
    if batch.rows > 0 {
        let _ = out.send(batch.finish());
    }
}

/// Passes the calls of a rank to `take` until `take` returns false. Returns the last result of `take`, or
/// true.
fn each_call(
    trace: &dyn Trace,
    rank: u32,
    mut take: impl FnMut(u64, &Call) -> bool,
) -> Result<bool, TraceError> {
    let (mut stream, mut call) = (trace.rank(rank)?, Call::default());
    let mut number = 0;
    while stream.read(&mut call)? {
        if !take(number, &call) {
            return Ok(false);
        }
        number += 1;
    }
    Ok(true)
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Name => DataType::Utf8,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::I32 => DataType::Int32,
        Kind::U64 => DataType::UInt64,
        Kind::I64 => DataType::Int64,
        Kind::Bool => DataType::Boolean,
    }
}

/// The schema of the Parquet files of `matchpoint convert`.
fn schema() -> SchemaRef {
    let values =
        VALUES.iter().map(|column| Field::new(column.name, data_type(column.kind), !column.required));
    let lists = LISTS
        .iter()
        .map(|column| Field::new(column.name, DataType::List(Arc::new(element_field(column))), false));
    Arc::new(Schema::new(values.chain(lists).collect::<Vec<_>>()))
}

fn element_field(column: &Column) -> Field {
    Field::new("element", data_type(column.kind), true)
}

enum ValueColumn {
    Name(StringBuilder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    I32(Int32Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    Bool(BooleanBuilder),
}

impl ValueColumn {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Name => ValueColumn::Name(StringBuilder::new()),
            Kind::U16 => ValueColumn::U16(UInt16Builder::new()),
            Kind::U32 => ValueColumn::U32(UInt32Builder::new()),
            Kind::I32 => ValueColumn::I32(Int32Builder::new()),
            Kind::U64 => ValueColumn::U64(UInt64Builder::new()),
            Kind::I64 => ValueColumn::I64(Int64Builder::new()),
            Kind::Bool => ValueColumn::Bool(BooleanBuilder::new()),
        }
    }

    /// Adds a value of [`Row`]: 64 bits, or none.
    fn push(&mut self, value: Option<i64>) {
        match self {
            ValueColumn::Name(to) => to.append_option(value.map(|at| Function::ALL[at as usize].name())),
            ValueColumn::U16(to) => to.append_option(value.map(|value| value as u16)),
            ValueColumn::U32(to) => to.append_option(value.map(|value| value as u32)),
            ValueColumn::I32(to) => to.append_option(value.map(|value| value as i32)),
            ValueColumn::U64(to) => to.append_option(value.map(|value| value as u64)),
            ValueColumn::I64(to) => to.append_option(value),
            ValueColumn::Bool(to) => to.append_option(value.map(|value| value != 0)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ValueColumn::Name(column) => Arc::new(column.finish()),
            ValueColumn::U16(column) => Arc::new(column.finish()),
            ValueColumn::U32(column) => Arc::new(column.finish()),
            ValueColumn::I32(column) => Arc::new(column.finish()),
            ValueColumn::U64(column) => Arc::new(column.finish()),
            ValueColumn::I64(column) => Arc::new(column.finish()),
            ValueColumn::Bool(column) => Arc::new(column.finish()),
        }
    }
}

enum ListColumn {
    U32(ListBuilder<UInt32Builder>),
    I32(ListBuilder<Int32Builder>),
    U64(ListBuilder<UInt64Builder>),
    Bool(ListBuilder<BooleanBuilder>),
}

impl ListColumn {
    fn of(column: &Column) -> Self {
        let field = element_field(column);
        match column.kind {
            Kind::U32 => ListColumn::U32(ListBuilder::new(UInt32Builder::new()).with_field(field)),
            Kind::I32 => ListColumn::I32(ListBuilder::new(Int32Builder::new()).with_field(field)),
            Kind::U64 => ListColumn::U64(ListBuilder::new(UInt64Builder::new()).with_field(field)),
            Kind::Bool => ListColumn::Bool(ListBuilder::new(BooleanBuilder::new()).with_field(field)),
            other => unreachable!("no list of the table has the type {other:?}"),
        }
    }

    fn push(&mut self, list: &[Option<i64>]) {
        let values = list.iter().copied();
        match self {
            ListColumn::U32(to) => to.append_value(values.map(|value| value.map(|value| value as u32))),
            ListColumn::I32(to) => to.append_value(values.map(|value| value.map(|value| value as i32))),
            ListColumn::U64(to) => to.append_value(values.map(|value| value.map(|value| value as u64))),
            ListColumn::Bool(to) => to.append_value(values.map(|value| value.map(|value| value != 0))),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ListColumn::U32(column) => Arc::new(column.finish()),
            ListColumn::I32(column) => Arc::new(column.finish()),
            ListColumn::U64(column) => Arc::new(column.finish()),
            ListColumn::Bool(column) => Arc::new(column.finish()),
        }
    }
}

struct Batch {
    schema: SchemaRef,
    row: Row,
    rows: usize,
    elements: usize,
    values: Vec<ValueColumn>,
    lists: Vec<ListColumn>,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            schema: schema(),
            row: Row::default(),
            rows: 0,
            elements: 0,
            values: VALUES.iter().map(|column| ValueColumn::of(column.kind)).collect(),
            lists: LISTS.iter().map(ListColumn::of).collect(),
        }
    }
}

impl Batch {
    fn add(&mut self, rank: u32, number: u64, call: &Call) {
        self.row.fill(rank, number, call);
        for (part, value) in self.values.iter_mut().zip(&self.row.values) {
            part.push(*value);
        }
        for (part, list) in self.lists.iter_mut().zip(&self.row.lists) {
            part.push(list);
            self.elements += list.len();
        }
        self.rows += 1;
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.elements >= BATCH_ELEMENTS
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        (self.rows, self.elements) = (0, 0);
        let values = self.values.iter_mut().map(ValueColumn::finish);
        let arrays = values.chain(self.lists.iter_mut().map(ListColumn::finish)).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}
