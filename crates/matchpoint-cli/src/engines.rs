//! `matchpoint engines`: what there is to choose from.

use std::fmt::Write as _;
use std::io::Write as _;

use matchpoint::concurrent;
use matchpoint::engines::{Spec, extend, known};

use crate::failure::Failure;

/// Gives the engines of graphics cards their names, once; the user is told when another has to take the place of one.
pub fn make_known() {
    extend(matchpoint_gpu::engines::SPECS);
    matchpoint_gpu::engine::listen(|sentence| anstream::eprintln!("matchpoint: {sentence}"));
}

/// Prints every engine with its parameters, and what several threads may call at once.
///
/// # Errors
/// Standard output cannot be written.
pub fn run() -> Result<(), Failure> {
    let mut text: String = known().map(describe).collect();
    text += "\nFor several threads at once, around any of these (bench --callers N --concurrent …):\n";
    for (kind, what) in concurrent::KINDS {
        let _ = writeln!(text, "{kind:<31} {what}");
    }
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
