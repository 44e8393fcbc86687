//! Options of `matchpoint engines`.

use std::path::PathBuf;

use clap::Args;
use matchpoint::concurrent::KINDS;
use matchpoint::engines::{self, known_specs};

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

/// The name of an engine, or of a concurrent wrapper, without parameters.
fn listed_name(name: &str) -> Result<String, String> {
    let bare = name.split(':').next().unwrap_or(name);
    let is_around = KINDS.iter().any(|(kind, _)| kind.split(':').next() == Some(bare));
    if is_around || known_specs().any(|spec| spec.name == bare) {
        return Ok(bare.to_owned());
    }
    Err(engines::create(bare)
        .err()
        .map_or_else(|| format!("unknown engine '{bare}'"), |error| error.to_string()))
}
