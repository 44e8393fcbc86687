//! Report files of `analyze`.

use std::path::Path;

use crate::cli::Analyze;
use crate::failure::Failure;
use crate::output::{OutputId, Outputs, json_and_page};
use crate::report::{Report, csv, html, json};

pub struct Delivery {
    outputs: Outputs,
    json: Option<OutputId>,
    html: Option<OutputId>,
    csv: Vec<OutputId>,
}

impl Delivery {
    pub fn prepare(arguments: &Analyze) -> Result<Self, Failure> {
        json_and_page(arguments.json.as_deref(), arguments.html.as_deref())?;
        let mut outputs = Outputs::default();
        let json = outputs.reserve_if(arguments.json.as_deref())?;
        let html = outputs.reserve_if(arguments.html.as_deref())?;
        let csv = match &arguments.csv {
            Some(folder) => tables(folder, &mut outputs)?,
            None => Vec::new(),
        };
        Ok(Delivery { outputs, json, html, csv })
    }

    pub fn fill(&mut self, report: &Report<'_>) -> Result<(), Failure> {
        if let Some(place) = self.json {
            self.outputs.fill(place, |out| json::write(report, out))?;
        }
        if let Some(place) = self.html {
            self.outputs.fill(place, |out| out.write_all(html::render(report).as_bytes()))?;
        }
        for (table, &place) in csv::TABLES.iter().zip(&self.csv) {
            self.outputs.fill(place, |out| (table.columns)(report).write(out))?;
        }
        Ok(())
    }

    pub fn finish(self, summary: &str) -> Result<(), Failure> {
        self.outputs.finish(summary)
    }
}

fn tables(folder: &Path, outputs: &mut Outputs) -> Result<Vec<OutputId>, Failure> {
    outputs.folder(folder)?;
    csv::TABLES.iter().map(|table| outputs.reserve(&folder.join(table.file))).collect()
}
