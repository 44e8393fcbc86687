//! Instructions of the libfabric provider per message. Only functions of Matchpoint and code inlined into them count.
//! The core provider is fake.

use super::{Counts, dump, dumps};
use crate::Failure;

const PACKAGE: &str = "matchpoint-fabric";
const EXAMPLE: &str = "fabric_instructions";
const FUNCTION: &str = "fabric_instructions::counted_messages";

/// Expected or unexpected messages: one at a time, many matched last to first, and one at a time among many receives
/// without a match.
const PATTERNS: [&str; 5] = ["expected:1", "unexpected:1", "expected:1024", "unexpected:1024", "among:8192"];
/// Messages of each pattern in the example.
const MESSAGES: f64 = 1024.0;

/// Parts of names of Matchpoint's functions and files.
const OURS: [&str; 3] = ["matchpoint_fabric::", "matchpoint_process::", "matchpoint::"];
const OUR_FILES: [&str; 3] = ["/matchpoint-fabric/src/", "/matchpoint-process/src/", "/matchpoint/src/"];

pub(super) fn count() -> Result<Counts, Failure> {
    let environment = [("MATCHPOINT_CORE", "mock"), ("MATCHPOINT_ENGINE", "hybrid:seed=0")];
    let folder = dumps((PACKAGE, EXAMPLE), FUNCTION, PATTERNS, &environment)?;
    let number = |(at, pattern): (usize, &str)| -> Result<_, Failure> {
        let executed = own_instructions(&dump(folder.path(), FUNCTION, at + 1)?);
        if executed == 0 {
            return Err(format!("callgrind saw nothing of ours in {pattern}").into());
        }
        Ok((("fabric".to_owned(), pattern.to_owned()), executed as f64 / MESSAGES))
    };
    PATTERNS.into_iter().enumerate().map(number).collect()
}

/// Instructions of Matchpoint's functions, without their callees, from a file of callgrind.
fn own_instructions(dump: &str) -> u64 {
    let (mut executed, mut by_function, mut by_file, mut is_call) = (0, false, false, false);
    for line in dump.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            by_function = OURS.iter().any(|ours| name.contains(ours));
        } else if let Some(file) = ["fl=", "fi=", "fe="].iter().find_map(|key| line.strip_prefix(key)) {
            by_file = OUR_FILES.iter().any(|ours| file.contains(ours));
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            if (by_function || by_file) && !is_call {
                executed += cost;
            }
            is_call = false;
        }
    }
    executed
}

#[cfg(test)]
mod tests {
    use super::own_instructions;

    #[test]
    fn only_own_functions_count() {
        let dump = "events: Ir\n\
                    fl=/src/matchpoint-fabric/src/queue.rs\nfn=matchpoint_fabric::queue::read\n10 5\n+1 2\n\
                    cfn=core_read\ncalls=3 20\n* 1000\n12 1\n\
                    fi=/rust/library/core/src/ptr.rs\n7 30\n\
                    fl=/mock.rs\nfn=mock::core_read\n20 900\n\
                    fl=/rust/library/core/src/iter.rs\nfn=core::iter::fold\n1 50\n\
                    fi=/src/matchpoint/src/engines/list.rs\n3 4\n";
        assert_eq!(own_instructions(dump), 5 + 2 + 1 + 30 + 4);
    }
}
