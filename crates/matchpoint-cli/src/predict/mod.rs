//! `matchpoint predict`: predicts the cost of messages with the models of `matchpoint-model`.
//!
//! A prediction is a [`Predicted`], a comparison with measurements is a [`Validated`]. Both are inputs of reports.

mod amg;
mod engines;
mod figures;
mod matrices;
pub mod placement;
pub mod predicted;
mod sparse;
mod trace;
mod validate;

use std::sync::Arc;

use matchpoint_replay::Progress;
use serde_json::Value;

use crate::analyze::stop_on_interrupt;
use crate::cli::{Amg, On, Predict, PredictTrace, PredictWhat, Product, Spgemm, Spmv};
use crate::failure::Failure;
use crate::files::Files;
use crate::progress;
use crate::report::document::Document;
use crate::report::{predict as prediction, validate as validation};

pub use matchpoint_calibrate::validation::Validated;
pub use predicted::Predicted;

pub fn run(arguments: &Predict) -> Result<(), Failure> {
    match &arguments.what {
        PredictWhat::Figures(arguments) => figures::draw(arguments),
        PredictWhat::Validate(arguments) => deliver(&arguments.on, || {
            let of = validate::validate(arguments)?;
            Ok((validation::document(&of), validation::json(&of)))
        }),
        PredictWhat::Spmv(Spmv { product: Product { on, .. }, .. })
        | PredictWhat::Spgemm(Spgemm { product: Product { on, .. }, .. })
        | PredictWhat::Amg(Amg { on, .. })
        | PredictWhat::Trace(PredictTrace { on, .. }) => {
            let progress = Arc::new(Progress::default());
            stop_on_interrupt(&progress);
            deliver(on, || progress::shown(&progress, || predicted(arguments, &progress)))
        }
    }
}

fn predicted(arguments: &Predict, progress: &Progress) -> Result<(Document, Value), Failure> {
    let of = predict(arguments, progress)?;
    Ok((prediction::document(&of), prediction::json(&of)))
}

/// # Errors
/// An input cannot be used, or [`Progress::stop`] was called.
pub fn predict(arguments: &Predict, progress: &Progress) -> Result<Predicted, Failure> {
    match &arguments.what {
        PredictWhat::Spmv(arguments) => sparse::spmv(arguments, progress),
        PredictWhat::Spgemm(arguments) => sparse::spgemm(arguments, progress),
        PredictWhat::Amg(arguments) => amg::amg(arguments, progress),
        PredictWhat::Trace(arguments) => trace::trace(arguments, progress),
        PredictWhat::Figures(_) | PredictWhat::Validate(_) => {
            Err(Failure::usage("figures and validate make no prediction".to_owned()))
        }
    }
}

fn check_stop(progress: &Progress) -> Result<(), Failure> {
    if progress.stopped() { Err(Failure::Interrupted) } else { Ok(()) }
}

fn deliver(on: &On, predict: impl FnOnce() -> Result<(Document, Value), Failure>) -> Result<(), Failure> {
    let files = Files::reserve(on.json.as_deref(), on.html.as_deref())?;
    let (document, json) = predict()?;
    files.finish(&document, &json)
}
