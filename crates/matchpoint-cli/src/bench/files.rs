//! What `matchpoint bench` writes: files, and what stands on standard output.

use std::io::{self, Write};
use std::path::Path;

use matchpoint_bench::{Job, Results};

use crate::cli::Bench;
use crate::distinct;
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};
use crate::report::bench::plot;

/// What is written beside the tables, or in their place.
pub(super) struct Files {
    outputs: Outputs,
    csv: Option<Place>,
    json: Option<Place>,
    plot: Option<(usize, plot::Form)>,
    /// What goes to standard output in place of the tables.
    printed: Option<Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Place {
    /// By its number in [`Outputs`].
    File(usize),
    Stdout,
}

impl Files {
    /// Makes room for every file, before anything is measured.
    pub(super) fn prepare(arguments: &Bench) -> Result<Self, Failure> {
        let [csv, json, plot] = [&arguments.csv, &arguments.json, &arguments.plot].map(Option::as_deref);
        distinct::each_has_its_own(&[("--csv", csv), ("--json", json), ("--plot", plot)])?;
        let mut outputs = Outputs::default();
        let mut place = |path: &Path| {
            if is_stdout(path) { Ok(Place::Stdout) } else { outputs.reserve(path).map(Place::File) }
        };
        let csv = csv.map(&mut place).transpose()?;
        let json = json.map(&mut place).transpose()?;
        let mut drawn = None;
        if let Some(path) = plot {
            let form = plot::Form::of(path).ok_or_else(|| unknown_form(path))?;
            drawn = Some((outputs.reserve(path)?, form));
        }
        Ok(Files { outputs, csv, json, plot: drawn, printed: None })
    }

    /// Whoever asks for a picture is told before anything is measured that it would show nothing.
    pub(super) fn may_draw(&self, jobs: &[Job]) -> Result<(), Failure> {
        let has_sizes = |job: &Job| jobs.iter().filter(|other| other.name() == job.name()).count() > 1;
        match self.plot {
            Some((_, plot::Form::Svg)) if !jobs.iter().any(has_sizes) => Err(Failure::usage(
                "--plot: nothing is measured at several sizes, which a picture shows; give several, as -w last:64 -w \
                 last:1024, or name a page (.html), which has the tables"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn write_json(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.write(self.json, write)
    }

    pub(super) fn write_csv(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.write(self.csv, write)
    }

    fn write(
        &mut self,
        place: Option<Place>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match place {
            None => Ok(()),
            Some(Place::File(index)) => self.outputs.fill(index, |out| write(out)),
            Some(Place::Stdout) => {
                // Not before the files have their names.
                write(self.printed.insert(Vec::new())).map_err(|error| Failure::printing(&error))
            }
        }
    }

    pub(super) fn draw(&mut self, render: impl FnOnce(plot::Form) -> String) -> Result<(), Failure> {
        let Some((index, form)) = self.plot else { return Ok(()) };
        self.outputs.fill(index, |out| out.write_all(render(form).as_bytes()))
    }

    pub(super) fn write_plot(&mut self, results: &Results, load: Option<f64>) -> Result<(), Failure> {
        if self.plot.is_none() {
            return Ok(());
        }
        let lone = plot::of_one_size(results);
        if !lone.is_empty() {
            anstream::eprintln!(
                "matchpoint: --plot: {} measured at one size, which makes no line, so not drawn; give several, as \
                 -w {}:64 -w {}:1024",
                if lone.len() == 1 {
                    format!("{} was", lone[0])
                } else {
                    format!("{} were", lone.join(", "))
                },
                lone[0],
                lone[0]
            );
        }
        self.draw(|form| plot::render(results, load, form))
    }

    /// Gives files their names, and prints the tables, or what takes their place.
    pub(super) fn finish(self, tables: &str) -> Result<(), Failure> {
        let written = self.outputs.commit()?;
        let mut out = anstream::stdout().lock();
        let printed = out.write_all(self.printed.as_deref().unwrap_or(tables.as_bytes()));
        printed.and_then(|()| out.flush()).map_err(|error| Failure::printing(&error))?;
        for path in written {
            anstream::eprintln!("matchpoint: wrote {}", path.display());
        }
        Ok(())
    }
}

fn unknown_form(path: &Path) -> Failure {
    Failure::usage(format!("--plot {}: its name must end in .svg or .html", path.display()))
}
