//! Ranks that a trace lacks, told by commands whose result has no place for that.

use matchpoint_trace::Description;

use crate::format;

/// Says on standard error which ranks the trace lacks, if any, and what that means for the result.
pub fn tell_missing(of: &str, trace: &Description, meaning: &str) {
    if let Some(sentence) = sentence(trace.missing.len() as u64, trace.ranks.into(), meaning) {
        anstream::eprintln!("matchpoint: {of}note: {sentence}");
    }
}

fn sentence(missing: u64, ranks: u64, meaning: &str) -> Option<String> {
    let are = if missing == 1 { "is" } else { "are" };
    let counts = format!("{} of {} ranks {are}", format::count(missing), format::count(ranks));
    (missing > 0).then(|| format!("{counts} missing from the trace: {meaning}"))
}
