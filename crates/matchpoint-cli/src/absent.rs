//! Missing ranks of a trace.

use matchpoint_trace::Description;

use crate::format;

pub fn print_missing_ranks(of: &str, trace: &Description, meaning: &str) {
    if let Some(missing) = sentence(trace.missing.len(), trace.ranks) {
        anstream::eprintln!("matchpoint: {of}note: {missing}: {meaning}");
    }
}

pub fn sentence(missing: usize, ranks: u32) -> Option<String> {
    let are = if missing == 1 { "is" } else { "are" };
    let counts = format!("{} of {} ranks {are}", format::count(missing as u64), format::count(ranks.into()));
    (missing > 0).then(|| format!("{counts} missing from the trace"))
}
