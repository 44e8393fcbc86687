//! `matchpoint predict`: predicts the cost of messages with the models of `matchpoint-model`.
//!
//! A prediction ends in a [`Predicted`], a comparison with measurements in a [`Validated`]. Both are the input of the
//! reports.

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
use crate::files::Files;
use crate::report::document::Document;
use crate::report::{predict as prediction, validate as validation};

pub use predicted::Predicted;
pub use validate::validated::Validated;

/// Runs the command.
///
/// # Errors
/// A file cannot be read or written, the machine lacks a parameter, or the user interrupted.
pub fn run(arguments: &Predict) -> Result<(), Failure> {
    match &arguments.what {
        PredictWhat::Spmv(arguments) => {
            deliver(&arguments.product.on, || predicted(&sparse::spmv(arguments)?))
        }
        PredictWhat::Spgemm(arguments) => {
            deliver(&arguments.product.on, || predicted(&sparse::spgemm(arguments)?))
        }
        PredictWhat::Amg(arguments) => deliver(&arguments.on, || predicted(&amg::amg(arguments)?)),
        PredictWhat::Trace(arguments) => deliver(&arguments.on, || predicted(&trace::trace(arguments)?)),
        PredictWhat::Figures(arguments) => figures::draw(arguments),
        PredictWhat::Validate(arguments) => deliver(&arguments.on, || {
            let of = validate::validate(arguments)?;
            Ok((validation::document::document(&of), validation::json::document(&of)))
        }),
    }
}

/// Document and JSON of a prediction.
fn predicted(of: &Predicted) -> Result<(Document, Value), Failure> {
    Ok((prediction::document::document(of), prediction::json::document(of)))
}

/// Reserves the files, predicts, and writes the reports.
fn deliver(on: &On, predict: impl FnOnce() -> Result<(Document, Value), Failure>) -> Result<(), Failure> {
    json_and_page(on.json.as_deref(), on.html.as_deref())?;
    let files = Files::reserve(on.json.as_deref(), on.html.as_deref())?;
    let (document, json) = predict()?;
    files.finish(&document, &json)
}
