//! The engines that each measurement compares where the user names none.

use std::num::NonZero;
use std::thread;

use matchpoint_bench::rate::NO_MATCHING;

/// Under the message-rate benchmark: the paper's tables have twice as many bins as it expects receives in flight, 1024; the
/// last matches as the paper does, whatever is posted.
pub const RATED: [&str; 7] = [
    NO_MATCHING,
    "hybrid",
    "list",
    "bins:n=2048",
    "optimistic:bins=2048,capacity=0",
    "optimistic_parallel:bins=2048,capacity=0",
    "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32",
];

/// Called from C, next to the stand-ins.
pub const THROUGH_C: [&str; 1] = ["hybrid"];

/// Threads under the message-rate benchmark: none that would only wait for a processor.
pub fn threads() -> Vec<usize> {
    threads_of(thread::available_parallelism().map_or(1, NonZero::get))
}

fn threads_of(processors: usize) -> Vec<usize> {
    (0..6).map(|power| 1 << power).filter(|&threads| threads <= processors.max(1)).collect()
}

/// Of several callers: one lock; a lock for each communicator, and where hints allow for each source.
pub const CONCURRENT: [&str; 2] = ["locked:engine=hybrid", "sharded:shards=64,engine=hybrid"];

/// Where another thread matches.
pub const OFFLOADED: [&str; 3] = ["hybrid", "list", "optimistic:bins=2048,capacity=0"];

/// All of them, as the help of the command lists them: one a line, for they are to be copied.
pub fn help() -> String {
    let rated = format!("--message-rate ({NO_MATCHING}: no matching at all, one thread delivers messages)");
    let mut help = "Engines, where none is named; those that are take their place:\n  \
                    workloads, --latency: all, those of the processor\n"
        .to_owned();
    for (what, names) in [
        ("--through c", &THROUGH_C[..]),
        (rated.as_str(), &RATED),
        ("--offload", &OFFLOADED),
        ("--callers (--concurrent names others)", &CONCURRENT),
    ] {
        help += &format!("  {what}:\n");
        names.iter().for_each(|name| help += &format!("    {name}\n"));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::threads_of;

    #[test]
    fn default_threads_do_not_exceed_processors() {
        assert_eq!(threads_of(1), [1]);
        assert_eq!(threads_of(6), [1, 2, 4]);
        assert_eq!(threads_of(192), [1, 2, 4, 8, 16, 32]);
    }
}
