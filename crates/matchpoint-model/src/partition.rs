//! Distribution of rows to processes.

use std::io::BufRead;
use std::num::NonZeroU32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Partition {
    /// Consecutive rows, as even as possible; the first processes have one more row.
    Contiguous {
        rows: u32,
        /// At most one per row.
        processes: NonZeroU32,
    },
    /// The owner of each row.
    Listed(Vec<u32>),
}

impl Partition {
    /// # Errors
    /// If there are more processes than rows.
    pub fn contiguous(rows: u32, processes: NonZeroU32) -> Result<Self, String> {
        check_one_row_each(rows, processes)?;
        Ok(Partition::Contiguous { rows, processes })
    }

    /// Line n has the process of row n, from 0, as METIS writes.
    ///
    /// # Errors
    /// There are more processes than rows, a line has no valid process, or the numbers of lines and rows
    /// differ. The error has the line.
    pub fn listed(input: impl BufRead, rows: u32, processes: NonZeroU32) -> Result<Self, String> {
        check_one_row_each(rows, processes)?;
        // Memory grows with the lines of the file, not with the requested rows.
        let mut owners = Vec::new();
        for (at, line) in input.lines().enumerate() {
            let number = at + 1;
            let line = line.map_err(|error| format!("line {number}: {error}"))?;
            if owners.len() == rows as usize {
                return Err(format!("line {number}: more lines than the {rows} rows of the matrix"));
            }
            let owner = line.trim().parse::<u32>().ok().filter(|&owner| owner < processes.get());
            owners.push(owner.ok_or_else(|| {
                format!(
                    "line {number}: `{}` is not a process from 0 to {}",
                    line.trim().escape_debug(),
                    processes.get() - 1
                )
            })?);
        }
        if owners.len() < rows as usize {
            return Err(format!(
                "{} lines, but the matrix has {rows} rows\nhint: write one line per row",
                owners.len()
            ));
        }
        Ok(Partition::Listed(owners))
    }

    pub fn owner(&self, row: u32) -> u32 {
        match self {
            Partition::Listed(owners) => owners[row as usize],
            Partition::Contiguous { rows, processes } => {
                let (rows, processes) = (*rows, *processes);
                let (each, more) = (rows / processes, rows % processes);
                let first = more * (each + 1);
                if row < first { row / (each + 1) } else { more + (row - first) / each }
            }
        }
    }
}

fn check_one_row_each(rows: u32, processes: NonZeroU32) -> Result<(), String> {
    if processes.get() <= rows {
        return Ok(());
    }
    Err(format!("{rows} rows are too few for {processes} processes\nhint: use fewer processes"))
}
