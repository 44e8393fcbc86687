//! Statistics of engines, with words and units.

use matchpoint_replay::format::{bytes, count, digits, duration_ns, share};
use matchpoint_replay::measurements::{EngineMeasurements, Statistic};

/// Words for unclear names. Other names are printed as in the JSON.
const WORDS: &[(&str, &str)] = &[
    // adaptive
    ("moves", "migrations to another structure"),
    ("structure", "structure at the end (0 a list, 1 bins, 2 an array of ranks)"),
    // partner
    ("posted_levels", "levels of posted receives"),
    ("posted_partners", "partners of posted receives"),
    ("unexpected_levels", "levels of unexpected messages"),
    ("unexpected_partners", "partners of unexpected messages"),
    ("partners_bytes", "memory of partners"),
    ("extractions", "extractions of partners"),
    ("extractions_without_partner", "extractions without a partner"),
    ("rank_array_bytes", "memory of an array of ranks"),
    ("partners_bytes_per_rank_array_bytes", "memory of partners ÷ that"),
    // optimistic
    ("posted_no_wildcard", "posted receives without a wildcard"),
    ("posted_any_source", "posted receives with any source"),
    ("posted_any_tag", "posted receives with any tag"),
    ("posted_any_source_any_tag", "posted receives with any source and tag"),
    ("posted_collisions", "receives posted to a used bin"),
    ("bin_depth_mean", "receives in the bins that an arrival searches"),
    ("bin_others_mean", "other receives there"),
    ("bin_depth_max", "receives in the fullest bin"),
    ("empty_bins_no_wildcard_percent", "empty bins without wildcards"),
    ("empty_bins_any_source_percent", "empty bins for any source"),
    ("empty_bins_any_tag_percent", "empty bins for any tag"),
    ("runs", "runs of compatible receives"),
    ("run_length_mean", "receives of a run"),
    ("run_length_max", "receives of the longest run"),
    ("matches_followed_percent", "messages with more receives of their run"),
    ("fell_back", "fallbacks to another engine"),
    ("fell_back_moved", "entries migrated by fallbacks"),
    // optimistic_parallel
    ("blocks", "blocks of messages"),
    ("blocks_no_candidate", "messages in blocks without a candidate"),
    ("blocks_no_conflict", "messages in blocks without a conflict"),
    ("blocks_fast_path", "messages in blocks on the fast path"),
    ("blocks_waited", "messages in blocks that waited for others"),
    ("blocks_slow_path", "messages in blocks on the slow path"),
    ("shared", "messages matched by partitions"),
    ("ordered", "messages matched by one thread for all"),
    ("jobs", "jobs of all threads"),
    // hybrid
    ("slots", "slots of the table"),
    ("wildcard_classes", "wildcard classes with posted receives"),
    ("unexpected_indexes", "indexes of unexpected messages"),
    // vector, fuzzy
    ("posted_false_positives", "false positives of receives"),
    ("unexpected_false_positives", "false positives of messages"),
];

enum Unit {
    Count,
    Ns,
    Bytes,
    Percent,
    Share,
}

fn unit(name: &str) -> Unit {
    // Names contain `total_bytes` or `total bytes`.
    let ends = |unit: &str| name.strip_suffix(unit).is_some_and(|rest| rest.ends_with(['_', ' ']));
    match name {
        "partners_bytes_per_rank_array_bytes" => Unit::Share,
        _ if ends("ns") => Unit::Ns,
        _ if ends("bytes") => Unit::Bytes,
        _ if ends("percent") => Unit::Percent,
        _ => Unit::Count,
    }
}

pub(super) fn statistics(engine: &EngineMeasurements) -> Option<String> {
    let described: Vec<String> = engine.statistics.iter().filter(|of| of.max > 0.0).map(describe).collect();
    (!described.is_empty()).then(|| format!("{}.", described.join(", ")))
}

fn describe(of: &Statistic) -> String {
    let (mean, max) = (value(of.name, of.mean), value(of.name, of.max));
    let largest = if mean == max { String::new() } else { format!(" (at most {max})") };
    format!("{} {mean}{largest}", words(of.name))
}

fn words(name: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(of, _)| *of == name) {
        return (*words).to_owned();
    }
    let bare = match unit(name) {
        Unit::Ns => name.strip_suffix("ns"),
        Unit::Bytes => name.strip_suffix("bytes"),
        Unit::Percent => name.strip_suffix("percent"),
        Unit::Count | Unit::Share => None,
    };
    bare.unwrap_or(name).trim_end_matches(['_', ' ']).replace('_', " ")
}

fn value(name: &str, value: f64) -> String {
    match unit(name) {
        Unit::Ns => duration_ns(value),
        Unit::Bytes => bytes(value.round() as u64),
        Unit::Percent => share(value / 100.0),
        Unit::Share => share(value),
        Unit::Count if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        Unit::Count => digits(value),
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::engines::{create_counting, variants};

    use super::*;

    #[test]
    fn statistics_have_words_and_units() {
        for (name, mean, max, expected) in [
            ("rank_array_bytes", 181.4, 216.0, "memory of an array of ranks 181 B (at most 216 B)"),
            ("empty_bins_any_tag_percent", 100.0, 100.0, "empty bins for any tag 100 %"),
            ("partners_bytes_per_rank_array_bytes", 0.37, 0.37, "memory of partners ÷ that 37 %"),
            ("threads", 2.0, 2.0, "threads 2"),
            ("posted_partners", 1.5, 12_345.0, "partners of posted receives 1.50 (at most 12,345)"),
            ("log of arrivals bytes", 2048.0, 2048.0, "log of arrivals 2.00 KiB"),
            ("tree_walk_ns", 1.5, 1.5, "tree walk 1.50 ns"),
            ("columns", 3.0, 4.0, "columns 3 (at most 4)"),
        ] {
            assert_eq!(describe(&Statistic { name, mean, max }), expected);
        }
    }

    #[test]
    fn every_statistic_has_words() {
        let mut names = Vec::new();
        for variant in variants() {
            let engine = create_counting(&variant.name).unwrap();
            names.extend(engine.statistics().into_iter().map(|(name, _)| name));
        }
        for name in &names {
            let words = words(name);
            assert!(!words.is_empty() && !words.contains('_'), "{name}: {words}");
        }
        for (name, _) in WORDS {
            assert!(names.contains(name), "no engine reports {name}");
        }
    }
}
