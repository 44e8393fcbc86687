//! Options of `matchpoint engines`.

use std::path::PathBuf;

use clap::Args;
use matchpoint::concurrent::KINDS;
use matchpoint::engines::{self, known_specs};
use matchpoint_replay::analysis::stand_in::bare;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint engines | less
  matchpoint engines list hybrid
  matchpoint engines --json -";

#[derive(Args, Debug)]
pub struct Engines {
    /// Engines to list; the text after a colon is ignored
    #[arg(value_name = "NAME", value_parser = listed_name)]
    pub names: Vec<String>,

    /// Write the list as JSON (docs/reference/json.md) to this file (- is standard output, instead of the list)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn listed_name(name: &str) -> Result<String, String> {
    let name = bare(name);
    let is_around = KINDS.iter().any(|(kind, _)| bare(kind) == name);
    if is_around || known_specs().any(|spec| spec.name == name) {
        return Ok(name.to_owned());
    }
    Err(engines::create(name)
        .err()
        .map_or_else(|| format!("unknown engine '{name}'"), |error| error.to_string()))
}
