//! Outputs of `matchpoint bench`: files, and standard output.

use std::io::{self, Write};
use std::path::Path;

use matchpoint_bench::{Job, Results};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{self, OutputId, Outputs, columns};
use crate::report::bench::plot;
use crate::report::chart::alone;
use crate::report::document::Document;
use crate::report::schema;

pub(super) struct Files {
    outputs: Outputs,
    csv: Option<OutputId>,
    json: Option<OutputId>,
    plot: Option<(OutputId, plot::Form)>,
}

impl Files {
    pub(super) fn prepare([csv, json, plot]: [Option<&Path>; 3]) -> Result<Self, Failure> {
        output::check_distinct(&[("--csv", csv), ("--json", json), ("--plot", plot)])?;
        let mut outputs = Outputs::default();
        let (csv, json) = (outputs.reserve_if(csv)?, outputs.reserve_if(json)?);
        let mut drawn = None;
        if let Some(path) = plot {
            let form = plot::Form::of(path).ok_or_else(|| unknown_form(path))?;
            drawn = Some((outputs.reserve(path)?, form));
        }
        Ok(Files { outputs, csv, json, plot: drawn })
    }

    pub(super) fn may_draw(&self, jobs: &[Job]) -> Result<(), Failure> {
        let has_sizes = |job: &Job| jobs.iter().filter(|other| other.name() == job.name()).count() > 1;
        match self.plot {
            Some((_, plot::Form::Svg)) if !jobs.iter().any(has_sizes) => Err(Failure::usage(
                "--plot needs a workload at several sizes\nhint: use -w last:64 -w last:1024, or name a page (.html), which \
                 has tables"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn write_csv(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(place) = self.csv else { return Ok(()) };
        self.outputs.fill(place, |out| write(out))
    }

    pub(super) fn draw(&mut self, svg: &str, document: &Document) -> Result<(), Failure> {
        let Some((place, form)) = self.plot else { return Ok(()) };
        let text = match form {
            plot::Form::Svg => alone(svg),
            plot::Form::Html => document.page(),
        };
        self.outputs.fill(place, |out| out.write_all(text.as_bytes()))
    }

    pub(super) fn mention_undrawn(&self, results: &Results) {
        let lone = plot::of_one_size(results);
        if self.plot.is_none() || lone.is_empty() {
            return;
        }
        anstream::eprintln!(
            "matchpoint: --plot omits workloads with one size: {} measured at one size\nhint: use -w {}:64 -w {}:1024",
            if lone.len() == 1 { format!("{} was", lone[0]) } else { format!("{} were", lone.join(", ")) },
            lone[0],
            lone[0]
        );
    }

    pub(super) fn finish(mut self, document: &Document, json: &Value) -> Result<(), Failure> {
        if let Some(place) = self.json {
            self.outputs.fill(place, |out| schema::write(json, out))?;
        }
        self.outputs.finish(&document.text(columns().unwrap_or(80).clamp(60, 240)))
    }
}

fn unknown_form(path: &Path) -> Failure {
    Failure::usage(format!(
        "--plot '{}' has an unknown format\nhint: use a name that ends in .svg or .html",
        path.display()
    ))
}
