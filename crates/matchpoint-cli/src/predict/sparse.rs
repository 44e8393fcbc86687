//! `matchpoint predict spmv` and `spgemm`.

use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Partition, SearchOrder, predict};

use super::engines;
use super::matrices::{self, Matrix};
use super::place::Place;
use super::predicted::{Predicted, Row};
use crate::cli::{Numbers, Product, Spgemm, Spmv};
use crate::failure::Failure;
use crate::format::count;

pub(super) fn spmv(arguments: &Spmv) -> Result<Predicted, Failure> {
    let place = Place::read(&arguments.product.on)?;
    let matrix = Matrix::open(&arguments.matrix)?;
    matrix.require_square()?;
    let rows = matrix.header().rows;
    let processes = arguments.product.processes.all();
    let partitions: Result<Vec<Partition>, Failure> = processes
        .iter()
        .map(|&processes| matrix.partition(arguments.product.partition.as_deref(), processes))
        .collect();
    let (exchanges, entries) =
        matrices::spmv(matrix, partitions?, sizes(&arguments.product.exchanged.sizes))?;
    let subject = format!("{} and a vector", arguments.matrix.display());
    let of_matrix = (rows.into(), entries);
    predicted("spmv", subject, &arguments.product, of_matrix, &place, &exchanges)
}

pub(super) fn spgemm(arguments: &Spgemm) -> Result<Predicted, Failure> {
    let place = Place::read(&arguments.product.on)?;
    let first = Matrix::open(&arguments.matrix)?;
    let second = arguments.second.as_deref().map(Matrix::open).transpose()?;
    require_matching_sizes(&first, second.as_ref())?;
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
    let subject = format!("{} and {second}", arguments.matrix.display());
    let of_matrix = (rows.into(), entries);
    predicted("spgemm", subject, &arguments.product, of_matrix, &place, &exchanges)
}

/// Checks that the columns of the first are the rows of the second.
pub(super) fn require_matching_sizes(first: &Matrix, second: Option<&Matrix>) -> Result<(), Failure> {
    let Some(second) = second else { return first.require_square() };
    let (columns, rows) = (first.header().columns, second.header().rows);
    if columns == rows {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "'{}' has {columns} columns, but '{}' has {rows} rows: a product needs equal numbers",
        first.path().display(),
        second.path().display()
    )))
}

pub(super) fn sizes(numbers: &Numbers) -> Sizes {
    Sizes { value_bytes: numbers.value_bytes, index_bytes: numbers.index_bytes }
}

/// Creates a prediction without rows.
pub(super) fn begin(command: &'static str, subject: String, place: &Place, searched: String) -> Predicted {
    Predicted {
        command,
        subject,
        machine: place.machine.clone(),
        network: place.network(),
        searched,
        row_name: "processes",
        rows: Vec::new(),
        without_messages: "No messages: every process has all the data that it needs.".to_owned(),
        engines: Vec::new(),
        notes: Vec::new(),
    }
}

/// Description of a search order.
pub(super) fn searched(order: SearchOrder) -> String {
    let words = match order {
        SearchOrder::Bound => {
            "γ n² (equation 3): an upper bound, for messages in reversed order of their receives"
        }
        SearchOrder::Reversed => "n (n + 1) ÷ 2 entries, for messages in reversed order of their receives",
        SearchOrder::Third => "n² ÷ 3 entries, as in the paper's applications (§5)",
        SearchOrder::InOrder => {
            "n entries, for messages in the order of their receives: the minimum of a list"
        }
    };
    words.to_owned()
}

/// The prediction for each number of processes. `matrix`: rows and entries.
fn predicted(
    command: &'static str,
    subject: String,
    product: &Product,
    matrix: (u64, u64),
    place: &Place,
    exchanges: &[Exchange],
) -> Result<Predicted, Failure> {
    let order = product.exchanged.order;
    let (rows, entries) = (count(matrix.0), count(matrix.1));
    let subject = format!("product of {subject}: {rows} rows, {entries} entries");
    let mut predicted = begin(command, subject, place, searched(order));
    for (processes, exchange) in product.processes.all().into_iter().zip(exchanges) {
        let prediction = predict(&place.setting(processes, order), exchange)
            .map_err(|problem| place.missing_parameter(processes, problem))?;
        let layout = place.layout(processes);
        let row = Row::new(processes.to_string(), command, layout, exchange, prediction);
        predicted.engines.extend(engines::at(place, &row)?);
        predicted.rows.push(Row { matrix: Some(matrix), ..row });
    }
    Ok(predicted)
}
