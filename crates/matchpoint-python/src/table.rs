//! The Python class `Table`: Arrow arrays that the PyCapsule interface passes without copies.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use matchpoint_cli::report::columns::{Columns, Values};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::arrow_error;

/// Maximum number of rows that a notebook shows.
const SHOWN_ROWS: usize = 20;

/// A table of Arrow arrays.
///
/// Every library with the Arrow PyCapsule interface reads a table without a copy of the data::
///
///     polars.DataFrame(table)
///     pandas.DataFrame.from_arrow(table)      # pandas 3
///     pyarrow.table(table)
///     duckdb.sql("SELECT * FROM t")           # with t = pyarrow.table(table)
///
/// No other package is needed for the methods of the table itself.
///
/// >>> import matchpoint_mpi as mp
/// >>> engine = mp.Engine("list")
/// >>> _ = engine.post(1, source=0, tag=7)
/// >>> table = engine.entries("posted")
/// >>> table.column_names
/// ['id', 'context', 'source', 'tag']
/// >>> len(table), table["tag"]
/// (1, [7])
/// >>> table.rows()
/// [{'id': 1, 'context': 0, 'source': 0, 'tag': 7}]
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.is_nullable()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(schema, arrays).map(|batch| Table { batch }).map_err(arrow_error)
    }

    fn array(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            PyKeyError::new_err(format!("the table has no column '{name}', only {}", self.names().join(", ")))
        })
    }

    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            values.set_item(field.name(), value(py, array, row)?)?;
        }
        Ok(values)
    }
}

impl TryFrom<Columns> for Table {
    type Error = PyErr;

    fn try_from(columns: Columns) -> PyResult<Self> {
        let array = |values: Values| -> (ArrayRef, bool) {
            match values {
                Values::Text(values) => (Arc::new(StringArray::from(values)), true),
                Values::Unsigned(values) => (Arc::new(UInt64Array::from(values)), false),
                Values::Signed(values) => (Arc::new(Int64Array::from(values)), false),
                Values::Float(values) => (Arc::new(Float64Array::from(values)), true),
                Values::Truth(values) => (Arc::new(BooleanArray::from(values)), false),
            }
        };
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in columns.0 {
            let (array, may_be_unknown) = array(column.values);
            fields.push(Field::new(column.name, array.data_type().clone(), may_be_unknown));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        batch.map(|batch| Table { batch }).map_err(arrow_error)
    }
}

#[pymethods]
impl Table {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns, with their units.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    /// All rows, as dictionaries.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows: PyResult<Vec<_>> = (0..self.batch.num_rows()).map(|row| self.row(py, row)).collect();
        PyList::new(py, rows?)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column by name, or a row by number.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(number) = key.extract::<isize>() else {
            let array = self.array(&key.extract::<String>()?)?;
            let values: PyResult<Vec<_>> = (0..array.len()).map(|row| value(py, array, row)).collect();
            return Ok(PyList::new(py, values?)?.into_any());
        };
        let rows = self.batch.num_rows();
        let row = if number < 0 { number.checked_add_unsigned(rows) } else { Some(number) };
        let row = row.and_then(|row| usize::try_from(row).ok()).filter(|&row| row < rows);
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("the table has {rows} rows")))?;
        Ok(self.row(py, row)?.into_any())
    }

    /// The rows in order, as dictionaries.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let builtins = slf.py().import("builtins")?;
        let numbers = builtins.getattr("range")?.call1((slf.len()?,))?;
        builtins.getattr("map")?.call1((slf.getattr("__getitem__")?, numbers))
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.batch.num_rows(), self.names().join(", "))
    }

    /// The first rows, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::from("<table><thead><tr>");
        for name in self.names() {
            text += &format!("<th>{}</th>", escape_html(&name));
        }
        text += "</tr></thead><tbody>";
        let rows = self.batch.num_rows();
        for row in 0..rows.min(SHOWN_ROWS) {
            text += "<tr>";
            for array in self.batch.columns() {
                let value = value(py, array, row)?;
                let value = if value.is_none() { String::new() } else { value.str()?.to_string() };
                text += &format!("<td>{}</td>", escape_html(&value));
            }
            text += "</tr>";
        }
        text += "</tbody></table>";
        if rows > SHOWN_ROWS {
            text += &format!("<p>{SHOWN_ROWS} of {rows} rows</p>");
        }
        Ok(text)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    /// The table as an Arrow stream. The schema cannot be chosen.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        stream_capsule(py, Box::new(reader))
    }
}

pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(arrow_error)?;
    PyCapsule::new(py, schema, Some(c"arrow_schema".to_owned()))
}

pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new(py, FFI_ArrowArrayStream::new(reader), Some(c"arrow_array_stream".to_owned()))
}

/// Returns a value of an array as a Python object.
pub(crate) fn value<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_bound_py_any(py),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into_bound_py_any(py),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into_bound_py_any(py),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            let values: PyResult<Vec<_>> = (0..list.len()).map(|at| value(py, &list, at)).collect();
            Ok(PyList::new(py, values?)?.into_any())
        }
        other => Err(arrow_error(format!("values of the Arrow type {other} cannot be converted to Python"))),
    }
}

pub(crate) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
