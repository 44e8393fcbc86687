//! Default engines of each measurement.

use std::num::NonZero;
use std::thread;

use matchpoint_bench::rate::NO_MATCHING;

/// Engines of the message rate. As in the paper, the tables have twice as many bins as the 1024 expected receives.
pub const RATED: [&str; 7] = [
    NO_MATCHING,
    "hybrid",
    "list",
    "bins:n=2048",
    "optimistic:bins=2048,capacity=0",
    "optimistic_parallel:bins=2048,capacity=0",
    "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32",
];

pub const THROUGH_C: [&str; 1] = ["hybrid"];

pub fn threads() -> Vec<usize> {
    threads_of(thread::available_parallelism().map_or(1, NonZero::get))
}

fn threads_of(processors: usize) -> Vec<usize> {
    (0..6).map(|power| 1 << power).filter(|&threads| threads <= processors.max(1)).collect()
}

/// Concurrent engines with one lock, and with one lock for each communicator (or source, if assertions permit).
pub const CONCURRENT: [&str; 2] = ["locked:engine=hybrid", "sharded:shards=64,engine=hybrid"];

pub const OFFLOADED: [&str; 3] = ["hybrid", "list", "optimistic:bins=2048,capacity=0"];

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
