//! Matrices from files to exchanges, in one pass through each file.

use std::fs::File;
use std::io::{self, BufReader};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use indicatif::ProgressBar;
use matchpoint_model::matrix_market::{Header, Reader};
use matchpoint_model::sparse::{Needs, RowSizes, Sizes};
use matchpoint_model::{Exchange, Partition};

use crate::failure::Failure;
use crate::progress::bar;

/// An open matrix file, with its header.
pub struct Matrix {
    path: PathBuf,
    bytes: u64,
    reader: Reader<BufReader<File>>,
}

const BUFFER_BYTES: usize = 1 << 20;

impl Matrix {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a sparse matrix.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: io::Error| {
            Failure::Message(format!(
                "cannot read '{}': {error}\nhint: name a Matrix Market file",
                path.display()
            ))
        };
        let file = File::open(path).map_err(cannot)?;
        let known = file.metadata().map_err(cannot)?;
        if !known.is_file() {
            return Err(Failure::Message(format!(
                "'{}' is not a file\nhint: name a Matrix Market file",
                path.display()
            )));
        }
        let reader = Reader::new(BufReader::with_capacity(BUFFER_BYTES, file), known.len(), path);
        Ok(Matrix { path: path.to_owned(), bytes: known.len(), reader: reader? })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows, columns, entries.
    pub fn header(&self) -> Header {
        self.reader.header()
    }

    /// Fails unless the matrix is square.
    pub fn require_square(&self) -> Result<(), Failure> {
        let Header { rows, columns, .. } = self.header();
        if rows == columns {
            return Ok(());
        }
        Err(self.wrong(&format!("{rows} rows and {columns} columns, but the product needs a square matrix")))
    }

    /// Owners of the rows: as listed in a file, or consecutive rows.
    pub fn partition(&self, listed: Option<&Path>, processes: NonZeroU32) -> Result<Partition, Failure> {
        let rows = self.header().rows;
        let Some(path) = listed else {
            return Partition::contiguous(rows, processes).map_err(|problem| self.wrong(&problem));
        };
        let wrong = |problem: String| Failure::Message(format!("{}: {problem}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        Partition::listed(BufReader::new(file), rows, processes).map_err(wrong)
    }

    /// Reads all entries, passes them to `needs`, and counts the entries of each row.
    ///
    /// # Errors
    /// The file is damaged, or a row has no entry.
    pub fn read(mut self, needs: &mut [Needs]) -> Result<RowSizes, Failure> {
        self.reader.check_enough_entries()?;
        let sizes = self.count(needs)?;
        match sizes.first_empty() {
            None => Ok(sizes),
            Some(row) => {
                let row = u64::from(row) + 1;
                Err(self.wrong(&format!(
                    "row {row} has no entry, so the matrix is singular\nhint: remove the row"
                )))
            }
        }
    }

    /// Counts the entries of each row. Rows of an interpolation may be empty.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn row_sizes(mut self) -> Result<RowSizes, Failure> {
        self.count(&mut [])
    }

    fn count(&mut self, needs: &mut [Needs]) -> Result<RowSizes, Failure> {
        let mut sizes = RowSizes::new(self.header().rows);
        let each = |row, column| {
            sizes.entry(row);
            needs.iter_mut().for_each(|needs| needs.entry(row, column));
        };
        let reading = Reading::new(self.bytes);
        let is_whole = self.reader.entries(each, |bytes| reading.look(bytes))?;
        if !is_whole {
            return Err(Failure::Interrupted);
        }
        Ok(sizes)
    }

    fn wrong(&self, problem: &str) -> Failure {
        Failure::Message(format!("{}: {problem}", self.path.display()))
    }
}

/// Progress of a file: a bar on a terminal, and a check for an interrupt.
struct Reading(ProgressBar);

/// Whether the user interrupted. Only one handler is possible.
static STOPPED: AtomicBool = AtomicBool::new(false);

impl Reading {
    fn new(bytes: u64) -> Self {
        // A second handler is refused; the first does the same.
        let _ = ctrlc::set_handler(|| STOPPED.store(true, Relaxed));
        let bar = bar("{percent:>3} %  {bytes} of {total_bytes}  {eta} left");
        bar.set_length(bytes);
        Reading(bar)
    }

    fn look(&self, bytes: u64) -> bool {
        self.0.set_position(bytes);
        !STOPPED.load(Relaxed)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The messages of a matrix-vector product, for each partition.
pub fn spmv(
    matrix: Matrix,
    partitions: Vec<Partition>,
    sizes: Sizes,
) -> Result<(Vec<Exchange>, u64), Failure> {
    let mut needs: Vec<Needs> = partitions.into_iter().map(|rows| Needs::new(rows.clone(), rows)).collect();
    let entries = matrix.read(&mut needs)?.sum();
    Ok((needs.into_iter().map(|needs| needs.exchange(|_| sizes.element())).collect(), entries))
}

/// The messages of a product of two matrices, for each pair of row partitions. Without a second matrix, the first is
/// squared.
pub fn spgemm(
    first: Matrix,
    second: Option<Matrix>,
    partitions: Vec<(Partition, Partition)>,
    sizes: Sizes,
) -> Result<(Vec<Exchange>, u64), Failure> {
    let mut needs: Vec<Needs> =
        partitions.into_iter().map(|(rows, columns)| Needs::new(rows, columns)).collect();
    let of_first = first.read(&mut needs)?;
    let entries = of_first.sum();
    let of_second = second.map(Matrix::row_sizes).transpose()?.unwrap_or(of_first);
    let bytes_of = |column| sizes.row(of_second.of(column));
    Ok((needs.into_iter().map(|needs| needs.exchange(bytes_of)).collect(), entries))
}
