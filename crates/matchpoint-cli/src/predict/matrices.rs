//! Reads matrices in one pass, and computes their exchanges.

use std::fs::File;
use std::io::{self, BufReader};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use matchpoint_model::FileError;
use matchpoint_model::matrix_market::{Header, Reader};
use matchpoint_model::sparse::{Needs, RowSizes, Sizes};
use matchpoint_model::{Exchange, Partition};
use matchpoint_replay::Progress;

use super::check_stop;
use crate::failure::Failure;

pub struct Matrix<'a> {
    path: PathBuf,
    progress: &'a Progress,
    reader: Reader<BufReader<File>>,
}

const BUFFER_BYTES: usize = 1 << 20;

impl<'a> Matrix<'a> {
    pub fn open(path: &Path, progress: &'a Progress) -> Result<Self, Failure> {
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
        Ok(Matrix { path: path.to_owned(), progress, reader: reader.map_err(failure)? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> Header {
        self.reader.header()
    }

    pub fn require_square(&self) -> Result<(), Failure> {
        let Header { rows, columns, .. } = self.header();
        if rows == columns {
            return Ok(());
        }
        Err(self.wrong(&format!("{rows} rows and {columns} columns, but the product needs a square matrix")))
    }

    pub fn partition(&self, listed: Option<&Path>, processes: NonZeroU32) -> Result<Partition, Failure> {
        let rows = self.header().rows;
        let Some(path) = listed else {
            return Partition::contiguous(rows, processes).map_err(|problem| self.wrong(&problem));
        };
        let wrong = |problem: String| Failure::Message(format!("{}: {problem}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        Partition::listed(BufReader::new(file), rows, processes).map_err(wrong)
    }

    pub fn read(mut self, needs: &mut [Needs]) -> Result<RowSizes, Failure> {
        self.reader.check_enough_entries().map_err(failure)?;
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

    pub fn row_sizes(mut self) -> Result<RowSizes, Failure> {
        self.count(&mut [])
    }

    fn count(&mut self, needs: &mut [Needs]) -> Result<RowSizes, Failure> {
        let mut sizes = RowSizes::new(self.header().rows);
        let each = |row, column| {
            sizes.entry(row);
            needs.iter_mut().for_each(|needs| needs.entry(row, column));
        };
        let (progress, mut counted) = (self.progress, 0);
        let look = |bytes| {
            progress.bytes.fetch_add(bytes - counted, Relaxed);
            counted = bytes;
            !progress.stopped()
        };
        let is_whole = self.reader.entries(each, look).map_err(failure)?;
        if is_whole { Ok(sizes) } else { Err(Failure::Interrupted) }
    }

    fn wrong(&self, problem: &str) -> Failure {
        Failure::Message(format!("{}: {problem}", self.path.display()))
    }
}

pub fn add_sizes<'a>(paths: impl IntoIterator<Item = &'a Path>, progress: &Progress) {
    let bytes = paths.into_iter().map(|path| path.metadata().map_or(0, |known| known.len())).sum();
    progress.bytes_total.fetch_add(bytes, Relaxed);
}

fn failure(error: FileError) -> Failure {
    Failure::Message(error.to_string())
}

pub fn spmv(
    matrix: Matrix<'_>,
    partitions: Vec<Partition>,
    sizes: Sizes,
) -> Result<(Vec<Exchange>, u64), Failure> {
    let mut needs: Vec<Needs> = partitions.into_iter().map(|rows| Needs::new(rows.clone(), rows)).collect();
    let progress = matrix.progress;
    let entries = matrix.read(&mut needs)?.sum();
    Ok((exchanges(needs, |_| sizes.element(), progress)?, entries))
}

/// Without a second matrix, of the square.
pub fn spgemm(
    first: Matrix<'_>,
    second: Option<Matrix<'_>>,
    partitions: Vec<(Partition, Partition)>,
    sizes: Sizes,
) -> Result<(Vec<Exchange>, u64), Failure> {
    let mut needs: Vec<Needs> =
        partitions.into_iter().map(|(rows, columns)| Needs::new(rows, columns)).collect();
    let progress = first.progress;
    let of_first = first.read(&mut needs)?;
    let entries = of_first.sum();
    let of_second = second.map(Matrix::row_sizes).transpose()?.unwrap_or(of_first);
    let bytes_of = |column| sizes.row(of_second.of(column));
    Ok((exchanges(needs, bytes_of, progress)?, entries))
}

fn exchanges(
    needs: Vec<Needs>,
    bytes_of: impl Fn(u32) -> u64,
    progress: &Progress,
) -> Result<Vec<Exchange>, Failure> {
    let exchange = |needs: Needs| check_stop(progress).map(|()| needs.exchange(&bytes_of));
    needs.into_iter().map(exchange).collect()
}
