//! `matchpoint predict amg`: both products on every level of a hierarchy, as in the paper's figures 10 and 11.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Order, Partition, predict};

use super::matrices::{self, Matrix};
use super::place::Place;
use super::predicted::{Predicted, Row};
use super::sparse::{begin, must_fit, sizes};
use crate::cli::Amg;
use crate::failure::Failure;
use crate::format::count;

/// More levels has no hierarchy: each is smaller than the one before.
const LEVELS_MAX: usize = 64;

/// The prediction.
pub(super) fn amg(arguments: &Amg) -> Result<Predicted, Failure> {
    let place = Place::read(&arguments.on)?;
    let levels = levels(&arguments.levels)?;
    let order = arguments.exchanged.order;
    let subject = format!("{} levels in {}", levels.len(), arguments.levels.display());
    let mut predicted = begin("amg", subject, &place, order);
    predicted.row_name = "level";
    let mut products = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let with = Level {
            number,
            level,
            place: &place,
            processes: arguments.processes,
            order,
            sizes: sizes(&arguments.exchanged),
        };
        predicted.rows.push(with.spmv()?);
        products.push(with.spgemm()?);
        if with.level.interpolation.is_none() && number + 1 < levels.len() {
            predicted.notes.push(format!(
                "Level {number} has no interpolation P{number}.mtx: its matrix product is of the matrix with itself."
            ));
        }
    }
    predicted.rows.extend(products);
    let fewer = predicted.rows.iter().filter(|row| row.layout.processes != arguments.processes).count();
    if fewer > 0 {
        predicted.notes.push(format!(
            "Levels with fewer rows than {} processes are on as many processes as they have rows, the first ones.",
            count(arguments.processes.get().into())
        ));
    }
    Ok(predicted)
}

/// The files of a level.
struct Files {
    matrix: PathBuf,
    interpolation: Option<PathBuf>,
}

fn levels(folder: &Path) -> Result<Vec<Files>, Failure> {
    let file = |letter: char, number: usize| {
        let path = folder.join(format!("{letter}{number}.mtx"));
        path.is_file().then_some(path)
    };
    let of = |number: usize| Some(Files { matrix: file('A', number)?, interpolation: file('P', number) });
    let levels: Vec<Files> = (0..LEVELS_MAX).map_while(of).collect();
    if levels.is_empty() {
        return Err(Failure::Message(format!(
            "{}: no A0.mtx in it: a hierarchy is a folder with A0.mtx, A1.mtx, … and P0.mtx, P1.mtx, …, as \
             examples/python/amg_levels.py writes it",
            folder.display()
        )));
    }
    Ok(levels)
}

struct Level<'a> {
    number: usize,
    level: &'a Files,
    place: &'a Place,
    processes: NonZeroU32,
    order: Order,
    sizes: Sizes,
}

impl Level<'_> {
    fn spmv(&self) -> Result<Row, Failure> {
        let matrix = Matrix::open(&self.level.matrix)?;
        matrix.must_be_square()?;
        let rows = matrix.header().rows;
        let (exchanges, entries) = matrices::spmv(matrix, vec![self.partition(rows)?], self.sizes)?;
        self.row("spmv", &exchanges, (rows.into(), entries))
    }

    /// A P, the first half of the product that makes the next level; A A on the last one.
    fn spgemm(&self) -> Result<Row, Failure> {
        let matrix = Matrix::open(&self.level.matrix)?;
        let rows = matrix.header().rows;
        let second = self.level.interpolation.as_deref().map(Matrix::open).transpose()?;
        must_fit(&matrix, second.as_ref())?;
        let partition = self.partition(rows)?;
        let partitions = vec![(partition.clone(), partition)];
        let (exchanges, entries) = matrices::spgemm(matrix, second, partitions, self.sizes)?;
        self.row("spgemm", &exchanges, (rows.into(), entries))
    }

    fn partition(&self, rows: u32) -> Result<Partition, Failure> {
        Partition::contiguous(rows, self.processes(rows)).map_err(Failure::Message)
    }

    fn processes(&self, rows: u32) -> NonZeroU32 {
        NonZeroU32::new(rows).map_or(self.processes, |rows| rows.min(self.processes))
    }

    fn row(
        &self,
        operation: &'static str,
        exchanges: &[Exchange],
        of_matrix: (u64, u64),
    ) -> Result<Row, Failure> {
        let processes = self.processes(of_matrix.0 as u32);
        let exchange = &exchanges[0];
        let prediction =
            predict(&self.place.setting(processes, self.order), exchange).map_err(Failure::Message)?;
        let row =
            Row::new(self.number.to_string(), operation, self.place.layout(processes), exchange, prediction);
        Ok(Row { matrix: Some(of_matrix), ..row })
    }
}
