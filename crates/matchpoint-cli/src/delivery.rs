//! Which reports go to which files.

use std::path::{Path, PathBuf};

use crate::cli::Analyze;
use crate::distinct::json_and_page;
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};
use crate::report::{Report, csv, html, json};

/// The files asked for, by their number in [`Outputs`].
pub struct Delivery {
    outputs: Outputs,
    json: Option<usize>,
    html: Option<usize>,
    csv: Vec<usize>,
}

impl Delivery {
    /// Makes room for every file.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn prepare(arguments: &Analyze) -> Result<Self, Failure> {
        json_and_page(arguments.json.as_deref(), arguments.html.as_deref())?;
        let mut outputs = Outputs::default();
        let json = arguments.json.as_deref().filter(|path| !is_stdout(path));
        let json = json.map(|path| outputs.reserve(path)).transpose()?;
        let html = arguments.html.as_deref().map(|path| outputs.reserve(path)).transpose()?;
        let csv = match &arguments.csv {
            Some(folder) => tables(folder, &mut outputs)?,
            None => Vec::new(),
        };
        Ok(Delivery { outputs, json, html, csv })
    }

    /// Writes every report, under names that nobody sees yet.
    ///
    /// # Errors
    /// A disk is full.
    pub fn fill(&mut self, report: &Report<'_>) -> Result<(), Failure> {
        if let Some(index) = self.json {
            self.outputs.fill(index, |out| json::write(report, out))?;
        }
        if let Some(index) = self.html {
            self.outputs.fill(index, |out| out.write_all(html::render(report).as_bytes()))?;
        }
        for (table, &index) in csv::TABLES.iter().zip(&self.csv) {
            self.outputs.fill(index, |out| (table.write)(report, out))?;
        }
        Ok(())
    }

    /// Gives every file its name, and tells which there are.
    ///
    /// # Errors
    /// A rename fails.
    pub fn commit(self) -> Result<Vec<PathBuf>, Failure> {
        self.outputs.commit()
    }
}

fn tables(folder: &Path, outputs: &mut Outputs) -> Result<Vec<usize>, Failure> {
    outputs.folder(folder)?;
    csv::TABLES.iter().map(|table| outputs.reserve(&folder.join(table.file))).collect()
}
