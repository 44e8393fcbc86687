//! Tests of concurrent engines with full inner tables.

use super::*;

#[test]
fn laws_hold_with_small_inner_tables() {
    // One shard, because the entries of several shards may not fit into one table after a hint is withdrawn.
    for name in [
        "locked:engine=optimistic:bins=3,capacity=2",
        "sharded:shards=1,engine=optimistic:bins=3,capacity=2",
        "locked:engine=optimistic_parallel:threads=2,bins=3,capacity=2",
    ] {
        check_one_thread(name, Options { fixed_table: true, ..Options::quick() });
    }
    // With `full=software`, the table does not limit the entries.
    check_one_thread("sharded:shards=3,engine=optimistic:bins=3,capacity=2,full=software", Options::quick());
}

/// All other calls have the results that `list` has without the refused calls.
#[test]
fn full_shard_refusal_has_no_effect() {
    let seeds = if cfg!(miri) { 2 } else { 2000 };
    let shape = HistoryParameters { calls: 60, is_hinted: true, rare: u64::MAX };
    let hints = |no_any_source| {
        let hints = Hints { no_any_source, ..Hints::default() };
        [0, 1].map(|context| Request::Event(Event::SetHints(ContextId(context), hints)))
    };
    let mut refused = HashMap::new();
    for seed in 0..seeds {
        let name = [
            "sharded:shards=4,engine=optimistic:bins=3,capacity=2",
            "sharded:shards=3,engine=optimistic_parallel:capacity=1",
        ][seed as usize % 2];
        let (engine, mut list) = (create(name), engines::create("list").unwrap());
        let mut request = events(&mut Choices::Seed(seed), 9, shape);
        // At this point, more entries may be queued than one table holds.
        request.splice(30..30, hints(false));
        request.splice(0..0, hints(true));
        for request in request {
            let before = queued_entries(&*engine);
            let calls = play(&request, &*engine, &AtomicU64::new(0));
            let is_one = calls.len() == 1;
            for Call { request, answer: tested, .. } in calls {
                let (what, is_full) = match &tested {
                    Answer::Outcome(Outcome::Posted(answer)) => ("a receive", *answer == Err(Refused::Full)),
                    Answer::Outcome(Outcome::Arrived(answer)) => ("a message", *answer == Err(Refused::Full)),
                    Answer::Outcome(Outcome::Hinted(answer)) => ("hints", *answer == Err(Refused::Full)),
                    _ => ("", false),
                };
                if is_full {
                    *refused.entry(what).or_insert(0) += 1;
                    assert!(
                        !is_one || queued_entries(&*engine) == before,
                        "{name}, seed {seed}: the refused call {request:?} changed a queue"
                    );
                } else {
                    assert_eq!(tested, play_request(&request, &mut *list), "{name}, {seed}: {request:?}");
                }
            }
        }
        assert_eq!(
            (engine.posted_len(), engine.unexpected_len()),
            (list.posted_len(), list.unexpected_len())
        );
    }
    if !cfg!(miri) {
        assert!(["a receive", "a message", "hints"].iter().all(|what| refused[what] > 10), "{refused:?}");
    }
}

fn queued_entries(engine: &dyn Concurrent) -> Vec<Entry> {
    let mut entries = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| entries.push(entry));
    }
    entries
}

/// The withdrawal of hints moves the entries of all shards to one engine, where they may not fit.
#[test]
fn large_context_stays_spread_over_tables() {
    let engine = create("sharded:shards=4,engine=optimistic:bins=3,capacity=4");
    let context = ContextId(0);
    engine.set_hints(context, Hints { no_any_source: true, ..Hints::default() }).unwrap();
    let receive = |id| {
        let selector = Selector::new(context, Wild::Is(Rank(id)), Wild::Any);
        Receive::new(RecvId(id.into()), selector)
    };
    // More receives than one table can hold, from sources in several shards.
    let posted: Vec<u32> = (0..40).filter(|&id| engine.post(receive(id)).is_ok()).collect();
    assert!((5..40).contains(&posted.len()), "{posted:?}");
    assert_eq!(engine.posted_len(), posted.len());
    let before = queued_entries(&*engine);
    let unknown_source = Message::new(MsgId(1), Envelope::new(context, Rank::UNKNOWN, Tag(0)));
    for _ in 0..2 {
        assert_eq!(engine.arrive_message(unknown_source), Err(Refused::Full));
        assert_eq!(engine.set_hints(context, Hints::default()), Err(Refused::Full));
        assert_eq!(queued_entries(&*engine), before, "a refused call changes no queue");
        assert!(!engine.retract(&unknown_source), "the refused message is not queued");
    }
    // The hint still holds, and each shard matches its entries.
    let any = Receive::new(RecvId(99), Selector::new(context, Wild::Any, Wild::Any));
    assert_eq!(engine.post(any), Err(Refused::Hint));
    let strict = Hints { no_any_source: true, no_unexpected: true, ..Hints::default() };
    engine.set_hints(context, strict).unwrap();
    assert_eq!(
        engine.arrive_message(unknown_source),
        Err(Refused::Hint),
        "the broken assertion precedes the full table"
    );
    engine.set_hints(context, Hints { no_unexpected: false, ..strict }).unwrap();
    let (taken, kept) = posted.split_at(posted.len() - 4);
    for &id in taken {
        let message = Message::new(MsgId((100 + id).into()), Envelope::new(context, Rank(id), Tag(7)));
        assert_eq!(engine.arrive_message(message), Ok(Some(RecvId(id.into()))));
    }
    // Now the entries fit.
    assert_eq!(engine.arrive_message(unknown_source), Ok(None));
    assert_eq!(engine.post(receive(50)), Err(Refused::Full), "all entries are in one table");
    assert_eq!(
        engine.readdress(&unknown_source, Rank(kept[2])),
        Ok(Readdressed::Matched(RecvId(kept[2].into())))
    );
    assert_eq!(engine.post(receive(50)), Ok(None));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (4, 0));
}
