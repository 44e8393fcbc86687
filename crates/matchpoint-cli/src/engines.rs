//! `matchpoint engines`: what there is to choose from.

use std::fmt::Write as _;
use std::io::Write as _;

use matchpoint::engines::{REGISTRY, Spec};

use crate::failure::Failure;

/// Prints every engine with its parameters.
///
/// # Errors
/// Standard output cannot be written.
pub fn run() -> Result<(), Failure> {
    let text: String = REGISTRY.iter().map(describe).collect();
    anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

fn describe(spec: &Spec) -> String {
    let mut text = format!("{:<12}  {}\n", spec.name, spec.summary);
    for parameter in spec.parameters {
        let given = format!("{}={}", parameter.key, parameter.default);
        let _ = writeln!(text, "{:<12}    {given:<16} {}", "", parameter.meaning);
    }
    text
}
