//! Fallback engines.

use crate::program::*;
use matchpoint_replay::measurements::Substitute;
use matchpoint_replay::{Options, Progress};

#[test]
fn substitute_is_reported_with_its_ranks() {
    let sender = Rank::new().send(to(1, 1)).send(to(2, 1));
    let receiver = || Rank::new().recv(from(0, 1), None);
    let trace =
        program(vec![sender, receiver().irecv(from(0, 2), 1).irecv(from(0, 2), 2), receiver(), Rank::new()]);
    let engines = vec!["list".into(), "optimistic:capacity=1,full=software".into()];
    let options = Options { engines, ..Options::default() };
    let run = matchpoint_replay::replay(&trace, &options, &Progress::default()).unwrap();
    assert_eq!(run.engines[0].substitute, None);
    // Ranks 0 and 3 have no matching operations.
    let expected = Substitute { name: "hybrid".into(), ranks: 1, of_ranks: 2 };
    assert_eq!(run.engines[1].substitute, Some(expected));
    assert_eq!((run.engines[1].matched, run.engines[1].unmatched_receives), (2, 2));
}
