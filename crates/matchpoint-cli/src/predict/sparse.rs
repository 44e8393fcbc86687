//! `matchpoint predict spmv` and `spgemm`.

use std::num::NonZeroU32;

use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Partition, SearchOrder, predict};

use super::engines;
use super::matrices::{self, Matrix};
use super::place::Place;
use super::predicted::{Predicted, Row};
use crate::cli::{Numbers, Spgemm, Spmv};
use crate::failure::Failure;
use crate::format::count;

/// A product with a vector.
pub(super) fn spmv(arguments: &Spmv) -> Result<Predicted, Failure> {
    let place = Place::read(&arguments.product.on)?;
    let matrix = Matrix::open(&arguments.matrix)?;
    matrix.must_be_square()?;
    let rows = matrix.header().rows;
    let processes = arguments.product.processes.all();
    let partitions: Result<Vec<Partition>, Failure> = processes
        .iter()
        .map(|&processes| matrix.partition(arguments.product.partition.as_deref(), processes))
        .collect();
    let (exchanges, entries) =
        matrices::spmv(matrix, partitions?, sizes(&arguments.product.exchanged.sizes))?;
    let subject = format!(
        "product of {} and a vector: {} rows, {} entries",
        arguments.matrix.display(),
        count(rows.into()),
        count(entries)
    );
    let order = arguments.product.exchanged.order;
    let mut predicted = begin("spmv", subject, &place, order);
    let of_matrix = (u64::from(rows), entries);
    add(&mut predicted, &place, &processes, &exchanges, order, of_matrix)?;
    Ok(predicted)
}

/// A product of two matrices.
pub(super) fn spgemm(arguments: &Spgemm) -> Result<Predicted, Failure> {
    let place = Place::read(&arguments.product.on)?;
    let first = Matrix::open(&arguments.matrix)?;
    let second = arguments.second.as_deref().map(Matrix::open).transpose()?;
    must_fit(&first, second.as_ref())?;
    let rows = first.header().rows;
    let processes = arguments.product.processes.all();
    let listed = arguments.product.partition.as_deref();
    let partitions: Result<Vec<(Partition, Partition)>, Failure> = processes
        .iter()
        .map(|&processes| {
            let of_rows = first.partition(listed, processes)?;
            let of_columns = match &second {
                Some(second) if second.header().rows != rows => second.partition(None, processes)?,
                _ => of_rows.clone(),
            };
            Ok((of_rows, of_columns))
        })
        .collect();
    let (exchanges, entries) =
        matrices::spgemm(first, second, partitions?, sizes(&arguments.product.exchanged.sizes))?;
    let second = arguments.second.as_ref().map_or("itself".to_owned(), |path| path.display().to_string());
    let subject = format!(
        "product of {} and {second}: {} rows, {} entries",
        arguments.matrix.display(),
        count(rows.into()),
        count(entries)
    );
    let order = arguments.product.exchanged.order;
    let mut predicted = begin("spgemm", subject, &place, order);
    let of_matrix = (u64::from(rows), entries);
    add(&mut predicted, &place, &processes, &exchanges, order, of_matrix)?;
    Ok(predicted)
}

/// Columns of the first are rows of the second.
pub(super) fn must_fit(first: &Matrix, second: Option<&Matrix>) -> Result<(), Failure> {
    let Some(second) = second else { return first.must_be_square() };
    let (columns, rows) = (first.header().columns, second.header().rows);
    if columns == rows {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "{} has {columns} columns, {} {rows} rows: a product needs as many of both",
        first.path().display(),
        second.path().display()
    )))
}

pub(super) fn sizes(numbers: &Numbers) -> Sizes {
    Sizes { value_bytes: numbers.value_bytes, index_bytes: numbers.index_bytes }
}

/// A prediction without rows.
pub(super) fn begin(command: &'static str, subject: String, place: &Place, order: SearchOrder) -> Predicted {
    Predicted {
        command,
        subject,
        machine: place.machine.clone(),
        network: place.network(),
        searched: searched(order).to_owned(),
        row_name: "processes",
        rows: Vec::new(),
        without_messages: "No messages: every process has all it needs.".to_owned(),
        engines: Vec::new(),
        notes: Vec::new(),
    }
}

fn searched(order: SearchOrder) -> &'static str {
    match order {
        SearchOrder::Bound => {
            "γ n² (equation 3): an upper bound, of messages in the opposite order of their receives"
        }
        SearchOrder::Reversed => "n (n + 1) ÷ 2 entries, of messages in the opposite order of their receives",
        SearchOrder::Third => "n² ÷ 3 entries, what the paper found in its applications (§5)",
        SearchOrder::InOrder => {
            "n entries, of messages in the order of their receives: the least that a list can do"
        }
    }
}

fn add(
    predicted: &mut Predicted,
    place: &Place,
    processes: &[NonZeroU32],
    exchanges: &[Exchange],
    order: SearchOrder,
    of_matrix: (u64, u64),
) -> Result<(), Failure> {
    for (&processes, exchange) in processes.iter().zip(exchanges) {
        let prediction = predict(&place.setting(processes, order), exchange)
            .map_err(|problem| place.lacking(processes, problem))?;
        let row =
            Row::new(processes.to_string(), predicted.command, place.layout(processes), exchange, prediction);
        predicted.engines.extend(engines::at(place, &row)?);
        predicted.rows.push(Row { matrix: Some(of_matrix), ..row });
    }
    Ok(())
}
