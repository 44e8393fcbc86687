//! `matchpoint predict`: what messages will cost, by the models of `matchpoint-model`.
//!
//! Every kind of prediction ends in a [`Predicted`], or, compared with measurements, in a [`Validated`], from which all
//! reports are made.

mod amg;
mod engines;
mod figures;
mod matrices;
pub mod place;
pub mod predicted;
mod sparse;
mod trace;
pub mod validate;

use std::io::{self, Write};

use crate::cli::{On, Predict, PredictWhat};
use crate::distinct::json_and_page;
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};
use crate::report::{predict as prediction, validate as validation};

pub use predicted::Predicted;
pub use validate::validated::Validated;

/// Runs the command.
///
/// # Errors
/// A file cannot be read or written, the machine lacks what is needed, or the user interrupted it.
pub fn run(arguments: &Predict) -> Result<(), Failure> {
    match &arguments.what {
        PredictWhat::Spmv(arguments) => deliver(&arguments.product.on, || sparse::spmv(arguments)),
        PredictWhat::Spgemm(arguments) => deliver(&arguments.product.on, || sparse::spgemm(arguments)),
        PredictWhat::Amg(arguments) => deliver(&arguments.on, || amg::amg(arguments)),
        PredictWhat::Trace(arguments) => deliver(&arguments.on, || trace::trace(arguments)),
        PredictWhat::Figures(arguments) => figures::draw(arguments),
        PredictWhat::Validate(arguments) => deliver(&arguments.on, || validate::validate(arguments)),
    }
}

/// What is written in three ways.
trait Reported {
    fn terminal(&self) -> String;
    fn html(&self) -> String;
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl Reported for Predicted {
    fn terminal(&self) -> String {
        prediction::terminal::render(self)
    }

    fn html(&self) -> String {
        prediction::html::render(self)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        prediction::json::write(self, out)
    }
}

impl Reported for Validated {
    fn terminal(&self) -> String {
        validation::terminal::render(self)
    }

    fn html(&self) -> String {
        validation::html::render(self)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        validation::json::write(self, out)
    }
}

/// Makes room for the files, predicts, and writes what was asked for.
fn deliver<R: Reported>(on: &On, predict: impl FnOnce() -> Result<R, Failure>) -> Result<(), Failure> {
    json_and_page(on.json.as_deref(), on.html.as_deref())?;
    let mut outputs = Outputs::default();
    let json_file = on.json.as_deref().filter(|path| !is_stdout(path));
    let json_file = json_file.map(|path| outputs.reserve(path)).transpose()?;
    let html_file = on.html.as_deref().map(|path| outputs.reserve(path)).transpose()?;
    let reported = predict()?;
    if let Some(index) = json_file {
        outputs.fill(index, |out| reported.json(out))?;
    }
    if let Some(index) = html_file {
        outputs.fill(index, |out| out.write_all(reported.html().as_bytes()))?;
    }
    let written = outputs.commit()?;
    let mut out = anstream::stdout().lock();
    let printed = if on.json.as_deref().is_some_and(is_stdout) {
        reported.json(&mut out)
    } else {
        out.write_all(reported.terminal().as_bytes())
    };
    for path in written {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    printed.and_then(|()| out.flush()).map_err(|error| Failure::printing(&error))
}
