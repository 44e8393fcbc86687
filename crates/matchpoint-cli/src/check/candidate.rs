//! The engines to check: those of Matchpoint, or of a library.

use std::path::Path;

use matchpoint::{Engine, engines};
use matchpoint_abi::{Function, Library};
use matchpoint_conformance::OptionalCalls;
use matchpoint_replay::analysis::stand_in::bare;

use crate::cli::{ALL, Check, expand_all};
use crate::failure::Failure;

pub(super) struct Candidate {
    pub title: String,
    pub make: Box<dyn Fn() -> Box<dyn Engine>>,
    pub lacks: Vec<Function>,
    pub fixed_table: bool,
}

impl Candidate {
    /// The calls that the engine supports.
    pub fn calls(&self) -> OptionalCalls {
        let has = |function| !self.lacks.contains(&function);
        OptionalCalls {
            retract: has(Function::Retract),
            readdress: has(Function::Readdress),
            set_hints: has(Function::SetHints),
            close: has(Function::Close),
            fail_source: has(Function::FailSource),
            arrive_batch: has(Function::ArriveBatch),
            visit: has(Function::Visit),
            footprint: has(Function::Footprint),
        }
    }
}

pub(super) fn candidates(arguments: &Check) -> Result<Vec<Candidate>, Failure> {
    match &arguments.library {
        Some(path) => of_library(path, &arguments.named()),
        None => of_registry(&arguments.named()),
    }
}

fn of_registry(named: &[String]) -> Result<Vec<Candidate>, Failure> {
    let names = if named.is_empty() { expand_all(&[ALL.to_owned()]) } else { expand_all(named) };
    let candidate = |name: String| {
        engines::create(&name)?;
        let called = name.clone();
        let make = move || engines::create(&called).unwrap_or_else(|error| panic!("{error}"));
        let fixed_table =
            engines::known_specs().any(|spec| spec.name == bare(&name) && !spec.tight.is_empty());
        Ok(Candidate { title: name, make: Box::new(make), lacks: Vec::new(), fixed_table })
    };
    names.into_iter().map(candidate).collect()
}

/// A library with one engine may ignore `named`.
fn of_library(path: &Path, named: &[String]) -> Result<Vec<Candidate>, Failure> {
    let library = Library::load(path)?;
    let names = if named.is_empty() { vec![String::new()] } else { named.to_vec() };
    let candidate = |name: String| {
        let first = library.create(&name).map_err(Failure::Message)?;
        let title = format!("{} {name}", path.display()).trim_end().to_owned();
        let lacks = first.missing_functions();
        let library = library.clone();
        let make = move || -> Box<dyn Engine> {
            Box::new(library.create(&name).unwrap_or_else(|error| panic!("{error}")))
        };
        Ok(Candidate { title, make: Box::new(make), lacks, fixed_table: false })
    };
    names.into_iter().map(candidate).collect()
}
