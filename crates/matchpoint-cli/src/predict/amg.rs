//! `matchpoint predict amg`: both products on every level of a hierarchy, as in the paper's figures 10 and 11.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Partition, predict};
use matchpoint_replay::Progress;
use matchpoint_replay::format::count;

use super::check_stop;
use super::matrices::{self, Matrix};
use super::placement::Placement;
use super::predicted::{Predicted, Row};
use super::sparse::{begin, require_matching_sizes, searched, sizes};
use crate::cli::Amg;
use crate::failure::Failure;

const LEVELS_MAX: usize = 64;

pub(super) fn amg(arguments: &Amg, progress: &Progress) -> Result<Predicted, Failure> {
    let placement = Placement::read(&arguments.on)?;
    let hierarchy = Hierarchy::find(&arguments.levels)?;
    let order = arguments.exchanged.order;
    let subject = format!("{} levels in {}", hierarchy.levels.len(), arguments.levels.display());
    let mut predicted = begin("amg", subject, &placement, searched(order));
    predicted.row_name = "level";
    for product in hierarchy.products(arguments.processes, sizes(&arguments.exchanged.sizes), progress)? {
        check_stop(progress)?;
        let setting = placement.setting(product.processes, order);
        let prediction = predict(&setting, &product.exchange)
            .map_err(|problem| placement.missing_parameter(product.processes, problem))?;
        let (name, layout) = (product.level.to_string(), placement.layout(product.processes));
        let row = Row::new(name, product.operation, layout, &product.exchange, prediction);
        predicted.rows.push(Row { matrix: Some(product.of_matrix), ..row });
    }
    predicted.notes.extend(hierarchy.notes());
    let fewer = predicted.rows.iter().filter(|row| row.layout.processes != arguments.processes).count();
    if fewer > 0 {
        predicted.notes.push(format!(
            "Levels with fewer rows than {} processes use one process per row.",
            count(arguments.processes.get().into())
        ));
    }
    Ok(predicted)
}

struct Files {
    matrix: PathBuf,
    interpolation: Option<PathBuf>,
}

pub(super) struct Hierarchy {
    levels: Vec<Files>,
}

pub(super) struct Product {
    /// 0 is the finest level.
    pub level: usize,
    pub operation: &'static str,
    pub processes: NonZeroU32,
    pub exchange: Exchange,
    pub of_matrix: (u64, u64),
}

impl Hierarchy {
    pub fn find(folder: &Path) -> Result<Self, Failure> {
        let file = |letter: char, number: usize| {
            let path = folder.join(format!("{letter}{number}.mtx"));
            path.is_file().then_some(path)
        };
        let of = |number: usize| Some(Files { matrix: file('A', number)?, interpolation: file('P', number) });
        let levels: Vec<Files> = (0..LEVELS_MAX).map_while(of).collect();
        if levels.is_empty() {
            return Err(Failure::Message(format!(
                "'{}' contains no A0.mtx\nhint: name a folder with A0.mtx, A1.mtx, … and P0.mtx, P1.mtx, …, as \
                 examples/python/amg_levels.py writes it",
                folder.display()
            )));
        }
        Ok(Hierarchy { levels })
    }

    /// The products of all levels: with vectors, then with interpolations.
    pub fn products(
        &self,
        processes: NonZeroU32,
        sizes: Sizes,
        progress: &Progress,
    ) -> Result<Vec<Product>, Failure> {
        for files in &self.levels {
            let paths = [&files.matrix, &files.matrix].into_iter().chain(&files.interpolation);
            matrices::add_sizes(paths.map(PathBuf::as_path), progress);
        }
        let level = |(number, files)| Level { number, files, processes, sizes, progress };
        let levels: Vec<Level<'_>> = self.levels.iter().enumerate().map(level).collect();
        let spmv = levels.iter().map(Level::spmv);
        spmv.chain(levels.iter().map(Level::spgemm)).collect()
    }

    pub fn notes(&self) -> Vec<String> {
        let last = self.levels.len() - 1;
        let lacks = self.levels[..last].iter().enumerate().filter(|(_, files)| files.interpolation.is_none());
        lacks
            .map(|(number, _)| {
                format!("Level {number} has no interpolation P{number}.mtx: its product squares the matrix.")
            })
            .collect()
    }
}

struct Level<'a> {
    number: usize,
    files: &'a Files,
    processes: NonZeroU32,
    sizes: Sizes,
    progress: &'a Progress,
}

impl Level<'_> {
    fn spmv(&self) -> Result<Product, Failure> {
        let matrix = Matrix::open(&self.files.matrix, self.progress)?;
        matrix.require_square()?;
        let rows = matrix.header().rows;
        let (exchanges, entries) = matrices::spmv(matrix, vec![self.partition(rows)?], self.sizes)?;
        Ok(self.product("spmv", exchanges, rows, entries))
    }

    /// A·P, the first half of the product for the next level. On the last level, A·A.
    fn spgemm(&self) -> Result<Product, Failure> {
        let matrix = Matrix::open(&self.files.matrix, self.progress)?;
        let rows = matrix.header().rows;
        let second = self.files.interpolation.as_deref();
        let second = second.map(|path| Matrix::open(path, self.progress)).transpose()?;
        require_matching_sizes(&matrix, second.as_ref())?;
        let partition = self.partition(rows)?;
        let partitions = vec![(partition.clone(), partition)];
        let (exchanges, entries) = matrices::spgemm(matrix, second, partitions, self.sizes)?;
        Ok(self.product("spgemm", exchanges, rows, entries))
    }

    fn partition(&self, rows: u32) -> Result<Partition, Failure> {
        Partition::contiguous(rows, self.processes(rows)).map_err(Failure::Message)
    }

    fn processes(&self, rows: u32) -> NonZeroU32 {
        NonZeroU32::new(rows).map_or(self.processes, |rows| rows.min(self.processes))
    }

    fn product(&self, operation: &'static str, exchanges: Vec<Exchange>, rows: u32, entries: u64) -> Product {
        Product {
            level: self.number,
            operation,
            processes: self.processes(rows),
            exchange: exchanges.into_iter().next().unwrap_or_default(),
            of_matrix: (rows.into(), entries),
        }
    }
}
