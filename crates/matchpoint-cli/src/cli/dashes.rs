//! The message for a missing `--` before the launcher.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use matchpoint_replay::format;

const STARTERS: &[&[&str]] = &[&["record"], &["run"], &["calibrate"], &["predict", "validate"]];

/// The error and its hint, if `--` is missing. `words` are the arguments after the program's name.
pub(super) fn missing_dashes(error: &Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = STARTERS
        .iter()
        .find(|names| words.iter().zip(**names).filter(|(a, b)| a == b).count() == names.len())?;
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = format!("matchpoint {}", command.join(" "));
    if unknown.starts_with('-') {
        return Some(format!(
            "{name} has no option '{unknown}'\nhint: for an option of the launcher, use {name} -- mpiexec {unknown} …"
        ));
    }
    let at = words.iter().position(|word| word == unknown)?;
    let quoted =
        |words: &[String]| words.iter().map(|word| format::shell_word(word)).collect::<Vec<_>>().join(" ");
    let behind: Vec<String> = words[at..].iter().filter(|word| *word != "--").cloned().collect();
    Some(format!(
        "'--' is missing before the launcher '{unknown}'\nhint: use matchpoint {} -- {}",
        quoted(&words[..at]),
        quoted(&behind)
    ))
}
