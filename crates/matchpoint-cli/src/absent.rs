//! Missing ranks of a trace.

use matchpoint_replay::format;
use matchpoint_trace::Description;

pub fn print_missing_ranks(of: &str, trace: &Description, meaning: &str) {
    if let Some(missing) = format::missing_ranks(trace.missing.len(), trace.ranks) {
        anstream::eprintln!("matchpoint: {of}note: {missing}: {meaning}");
    }
}
