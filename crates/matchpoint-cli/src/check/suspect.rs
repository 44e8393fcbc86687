//! The engines to be checked: ours, or those of a library.

use std::path::Path;

use matchpoint::{Engine, engines};
use matchpoint_abi::{Function, Library};
use matchpoint_conformance::Calls;

use crate::cli::{ALL, Check, engines_meant};
use crate::failure::Failure;

/// An engine to be checked: what it is called in the output, how one is made, which calls it lacks, and whether its
/// table is known to have a fixed size, which long streams may fill.
pub(super) struct Suspect {
    pub title: String,
    pub make: Box<dyn Fn() -> Box<dyn Engine>>,
    pub lacks: Vec<Function>,
    pub fixed_table: bool,
}

impl Suspect {
    /// What may be called.
    pub fn calls(&self) -> Calls {
        let has = |function| !self.lacks.contains(&function);
        Calls {
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

pub(super) fn suspects(arguments: &Check) -> Result<Vec<Suspect>, Failure> {
    match &arguments.library {
        Some(path) => of_library(path, &arguments.named()),
        None => of_registry(&arguments.named()),
    }
}

fn of_registry(named: &[String]) -> Result<Vec<Suspect>, Failure> {
    let names = if named.is_empty() { engines_meant(&[ALL.to_owned()]) } else { engines_meant(named) };
    let suspect = |name: String| {
        engines::create(&name).map_err(|error| Failure::Message(error.to_string()))?;
        let called = name.clone();
        let make = move || engines::create(&called).unwrap_or_else(|error| panic!("{error}"));
        let bare = name.split(':').next();
        let fixed_table =
            engines::known_specs().any(|spec| Some(spec.name) == bare && !spec.tight.is_empty());
        Ok(Suspect { title: name, make: Box::new(make), lacks: Vec::new(), fixed_table })
    };
    names.into_iter().map(suspect).collect()
}

/// What the engines are called is up to the library; one that has a single engine need not look at the name.
fn of_library(path: &Path, named: &[String]) -> Result<Vec<Suspect>, Failure> {
    let library = Library::load(path).map_err(|error| Failure::Message(error.to_string()))?;
    let names = if named.is_empty() { vec![String::new()] } else { named.to_vec() };
    let suspect = |name: String| {
        let first = library.create(&name).map_err(Failure::Message)?;
        let title = format!("{} {name}", path.display()).trim_end().to_owned();
        let lacks = first.lacks();
        let library = library.clone();
        let make = move || -> Box<dyn Engine> {
            Box::new(library.create(&name).unwrap_or_else(|error| panic!("{error}")))
        };
        Ok(Suspect { title, make: Box::new(make), lacks, fixed_table: false })
    };
    names.into_iter().map(suspect).collect()
}
