//! Events of a trace.

use std::path::Path;

use matchpoint::engines;
use matchpoint_replay::{Arrivals, LogGp, Progress, events};

fn trace() -> Box<dyn matchpoint_trace::Trace> {
    matchpoint_trace::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/lulesh-8")).unwrap()
}

#[test]
fn events_have_results_of_matcher() {
    let (ranks, has_more) =
        events(&*trace(), Arrivals::default(), LogGp::default(), None, usize::MAX, &Progress::default())
            .unwrap();
    assert!(!has_more);
    assert_eq!(ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    for rank in ranks {
        let mut engine = engines::create("list").unwrap();
        assert!(rank.events.len() > 100, "rank {}", rank.rank);
        for (event, outcome) in rank.events {
            assert_eq!(event.play(&mut *engine), outcome, "rank {}: {event}", rank.rank);
        }
    }
}

#[test]
fn events_stop_at_limit() {
    let (ranks, has_more) =
        events(&*trace(), Arrivals::Timestamps, LogGp::default(), None, 10, &Progress::default()).unwrap();
    assert!(has_more);
    assert_eq!(ranks.iter().map(|rank| rank.events.len()).sum::<usize>(), 10);
}

#[test]
fn limit_counts_events_of_one_rank() {
    let of_rank = |only, limit| {
        let (mut ranks, has_more) =
            events(&*trace(), Arrivals::default(), LogGp::default(), only, limit, &Progress::default())
                .unwrap();
        assert_eq!(
            ranks.iter().filter(|rank| !rank.events.is_empty()).count(),
            if only.is_some() { 1 } else { 8 }
        );
        (ranks.swap_remove(3).events, has_more)
    };
    let (all, _) = of_rank(None, usize::MAX);
    assert!(of_rank(Some(3), all.len()) == (all.clone(), false));
    assert!(of_rank(Some(3), all.len() - 1) == (all[..all.len() - 1].to_vec(), true));
}
