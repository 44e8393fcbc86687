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

use serde_json::Value;

use crate::cli::{On, Predict, PredictWhat};
use crate::distinct::json_and_page;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::report::document::{Document, WIDTH};
use crate::report::{predict as prediction, schema, validate as validation};

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

/// What reports are made of.
trait Reported {
    fn document(&self) -> Document;
    fn json(&self) -> Value;
}

impl Reported for Predicted {
    fn document(&self) -> Document {
        prediction::document::document(self)
    }

    fn json(&self) -> Value {
        prediction::json::document(self)
    }
}

impl Reported for Validated {
    fn document(&self) -> Document {
        validation::document::document(self)
    }

    fn json(&self) -> Value {
        validation::json::document(self)
    }
}

/// Makes room for the files, predicts, and writes what was asked for.
fn deliver<R: Reported>(on: &On, predict: impl FnOnce() -> Result<R, Failure>) -> Result<(), Failure> {
    json_and_page(on.json.as_deref(), on.html.as_deref())?;
    let mut outputs = Outputs::default();
    let json = outputs.reserve_if(on.json.as_deref())?;
    let html = outputs.reserve_if(on.html.as_deref())?;
    let reported = predict()?;
    let document = reported.document();
    if let Some(place) = json {
        outputs.fill(place, |out| schema::write(&reported.json(), out))?;
    }
    if let Some(place) = html {
        outputs.fill(place, |out| out.write_all(document.page().as_bytes()))?;
    }
    outputs.finish(&document.text(WIDTH))
}
