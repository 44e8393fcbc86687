//! Reads columns of Arrow tables from Python: integers and texts in any of Arrow's types.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Opens the Arrow stream of a Python object.
#[allow(unsafe_code)]
pub(crate) fn stream(table: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let Ok(export) = table.getattr("__arrow_c_stream__") else {
        let kind = table.get_type().name()?;
        return Err(PyTypeError::new_err(format!("'{kind}' is not a table: it has no __arrow_c_stream__")));
    };
    let capsule = export.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the PyCapsule interface, a capsule with this name has a valid stream. The stream is moved out of the
    // capsule: `from_raw` leaves a released stream, which the capsule's destructor ignores.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    ArrowArrayStreamReader::try_new(stream).map_err(crate::errors::arrow_error)
}

pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a dyn Array> {
    let missing = || PyValueError::new_err(format!("the events have no column '{name}'"));
    batch.column_by_name(name).map(|array| array.as_ref()).ok_or_else(missing)
}

/// Returns the integers of a column; `None` for null.
pub(crate) fn integers(array: &dyn Array, name: &str) -> PyResult<Vec<Option<i128>>> {
    macro_rules! read_as {
        ($kind:ty) => {
            array.as_primitive::<$kind>().iter().map(|value| value.map(i128::from)).collect()
        };
    }
    Ok(match array.data_type() {
        DataType::Int8 => read_as!(Int8Type),
        DataType::Int16 => read_as!(Int16Type),
        DataType::Int32 => read_as!(Int32Type),
        DataType::Int64 => read_as!(Int64Type),
        DataType::UInt8 => read_as!(UInt8Type),
        DataType::UInt16 => read_as!(UInt16Type),
        DataType::UInt32 => read_as!(UInt32Type),
        DataType::UInt64 => read_as!(UInt64Type),
        DataType::Null => vec![None; array.len()],
        other => {
            return Err(PyTypeError::new_err(format!(
                "the column '{name}' has the type {other} instead of integers"
            )));
        }
    })
}

/// Calls `take` with the index and the text of each row of a column. Error messages number the rows of the
/// whole table: `first` is the number of the batch's first row.
pub(crate) fn for_each_text(
    array: &dyn Array,
    name: &str,
    first: usize,
    take: &mut dyn FnMut(usize, &str) -> PyResult<()>,
) -> PyResult<()> {
    let missing = |row: usize| {
        PyValueError::new_err(format!("the column '{name}' has no value in row {}", first + row))
    };
    let mut pass = |words: &mut dyn Iterator<Item = Option<&str>>| {
        words.enumerate().try_for_each(|(row, word)| take(row, word.ok_or_else(|| missing(row))?))
    };
    match array.data_type() {
        DataType::Utf8 => pass(&mut array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => pass(&mut array.as_string::<i64>().iter()),
        DataType::Utf8View => pass(&mut array.as_string_view().iter()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let mut words = Vec::new();
            for_each_text(dictionary.values().as_ref(), name, 0, &mut |_, word| {
                words.push(word.to_owned());
                Ok(())
            })?;
            // `normalized_keys` panics for an empty dictionary. All its rows are null.
            let keys = if words.is_empty() {
                vec![0; dictionary.keys().len()]
            } else {
                dictionary.normalized_keys()
            };
            let word = |(row, &key): (usize, &usize)| {
                if dictionary.keys().is_null(row) { None } else { words.get(key).map(String::as_str) }
            };
            pass(&mut keys.iter().enumerate().map(word))
        }
        other => {
            Err(PyTypeError::new_err(format!("the column '{name}' has the type {other} instead of text")))
        }
    }
}
