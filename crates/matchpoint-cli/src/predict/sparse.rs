//! `matchpoint predict spmv` and `spgemm`.

use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Partition, SearchOrder, predict};
use matchpoint_replay::Progress;
use matchpoint_replay::format::count;

use super::check_stop;
use super::engines;
use super::matrices::{self, Matrix};
use super::placement::Placement;
use super::predicted::{Predicted, Row};
use crate::cli::{Numbers, Product, Spgemm, Spmv};
use crate::failure::Failure;

pub(super) fn spmv(arguments: &Spmv, progress: &Progress) -> Result<Predicted, Failure> {
    let placement = Placement::read(&arguments.product.on)?;
    matrices::add_sizes([arguments.matrix.as_path()], progress);
    let matrix = Matrix::open(&arguments.matrix, progress)?;
    matrix.require_square()?;
    let rows = matrix.header().rows;
    let processes = arguments.product.processes.all();
    let partitions: Result<Vec<Partition>, Failure> = processes
        .iter()
        .map(|&processes| matrix.partition(arguments.product.partition.as_deref(), processes))
        .collect();
    let exchanged = matrices::spmv(matrix, partitions?, sizes(&arguments.product.exchanged.sizes))?;
    let factors = format!("{} and a vector", arguments.matrix.display());
    predicted("spmv", factors, &arguments.product, &placement, rows, exchanged, progress)
}

pub(super) fn spgemm(arguments: &Spgemm, progress: &Progress) -> Result<Predicted, Failure> {
    let placement = Placement::read(&arguments.product.on)?;
    let (first, second) = (arguments.matrix.as_path(), arguments.second.as_deref());
    matrices::add_sizes([first].into_iter().chain(second), progress);
    let first = Matrix::open(first, progress)?;
    let second = second.map(|path| Matrix::open(path, progress)).transpose()?;
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
    let exchanged = matrices::spgemm(first, second, partitions?, sizes(&arguments.product.exchanged.sizes))?;
    let second = arguments.second.as_ref().map_or("itself".to_owned(), |path| path.display().to_string());
    let factors = format!("{} and {second}", arguments.matrix.display());
    predicted("spgemm", factors, &arguments.product, &placement, rows, exchanged, progress)
}

pub(super) fn require_matching_sizes(first: &Matrix<'_>, second: Option<&Matrix<'_>>) -> Result<(), Failure> {
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

pub(super) fn begin(
    command: &'static str,
    subject: String,
    placement: &Placement,
    searched: String,
) -> Predicted {
    Predicted {
        command,
        subject,
        machine: placement.machine.clone(),
        network: placement.network.clone(),
        searched,
        row_name: "processes",
        rows: Vec::new(),
        without_messages: "No messages: every process has all the data that it needs.".to_owned(),
        engines: Vec::new(),
        notes: Vec::new(),
    }
}

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

fn predicted(
    command: &'static str,
    factors: String,
    product: &Product,
    placement: &Placement,
    rows: u32,
    exchanged: (Vec<Exchange>, u64),
    progress: &Progress,
) -> Result<Predicted, Failure> {
    let order = product.exchanged.order;
    let matrix = (rows.into(), exchanged.1);
    let subject = format!("product of {factors}: {} rows, {} entries", count(matrix.0), count(matrix.1));
    let mut predicted = begin(command, subject, placement, searched(order));
    for (processes, exchange) in product.processes.all().into_iter().zip(&exchanged.0) {
        check_stop(progress)?;
        let prediction = predict(&placement.setting(processes, order), exchange)
            .map_err(|problem| placement.missing_parameter(processes, problem))?;
        let layout = placement.layout(processes);
        let row = Row::new(processes.to_string(), command, layout, exchange, prediction);
        predicted.engines.extend(engines::at(placement, &row, progress)?);
        predicted.rows.push(Row { matrix: Some(matrix), ..row });
    }
    Ok(predicted)
}
