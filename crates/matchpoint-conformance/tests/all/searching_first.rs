//! Tests of callers that first search and then queue in a separate call, as network libraries do.

use matchpoint::engines::{self, Variant};
use matchpoint::{
    ContextId, Engine, Envelope, Hints, Message, MsgId, Pair, Place, Rank, Readdressed, Receive, RecvId,
    Refused, Selector, Tag, Wild, forwarded,
};
use matchpoint_conformance::{Options, check};

/// An engine of which posts and arrivals are a search, then a queue call. If `SAME` is false, the search is
/// in a context without entries.
struct SearchThenQueue<const SAME: bool>(Box<dyn Engine>);

const UNUSED: u64 = 0x7777 << 32;

impl<const SAME: bool> Engine for SearchThenQueue<SAME> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let (tag, ignore) = selector.tag_and_ignored();
        let pair = if SAME { selector.pair() } else { Pair(selector.pair().0 ^ UNUSED) };
        match self.0.matched_probe(&Selector::of(pair, tag, ignore)) {
            None => {
                let place = self.0.place(selector.pair(), Tag(tag));
                let queued = self.0.queue_receive(id, selector, place);
                assert!(
                    !SAME || !matches!(queued, Ok(Some(_))),
                    "the probe found no message, so the receive is queued"
                );
                queued
            }
            found => Ok(found),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        match self.0.take_receive(if SAME { pair } else { Pair(pair.0 ^ UNUSED) }, tag) {
            None => {
                let place = self.0.place(pair, tag);
                let queued = self.0.queue_message(id, pair, tag, place);
                assert!(
                    !SAME || !matches!(queued, Ok(Some(_))),
                    "the search found no receive, so the message is queued"
                );
                queued
            }
            found => Ok(found),
        }
    }

    forwarded!(through [0]: probe matched_probe cancel retract readdress set_hints close fail_source visit);
    forwarded!(through [0]: posted_len unexpected_len order demands attempts footprint);
}

fn check_variants<const SAME: bool>() {
    for Variant { name, is_tight } in engines::variants() {
        let options = Options { streams: 3, fixed_table: is_tight, ..Options::quick() };
        let make =
            || -> Box<dyn Engine> { Box::new(SearchThenQueue::<SAME>(engines::create(&name).unwrap())) };
        let report = check(&make, &options).unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 450, "{name}: {report:?}");
    }
}

#[test]
fn queueing_after_search_keeps_laws() {
    check_variants::<true>();
}

#[test]
fn queueing_without_search_keeps_laws() {
    check_variants::<false>();
}

const CONTEXT: ContextId = ContextId(3);
const RANK: Rank = Rank(5);
const PAIR: Pair = Pair(3 << 32 | 5);
const TAG: Tag = Tag(9);

/// Selectors that match a message from `RANK` with this tag.
fn selectors(tag: Tag) -> [Selector; 4] {
    [
        Selector::new(CONTEXT, Wild::Is(RANK), Wild::Is(tag)),
        Selector::new(CONTEXT, Wild::Any, Wild::Is(tag)),
        Selector::new(CONTEXT, Wild::Is(RANK), Wild::Any),
        Selector::new(CONTEXT, Wild::Any, Wild::Any),
    ]
}

/// Calls `case` with each engine, each selector that the engine accepts, and a number of entries to queue
/// first.
fn each_case(mut case: impl FnMut(&mut dyn Engine, &Selector, u64, &str)) {
    for Variant { name, is_tight } in engines::variants() {
        for (selector, count) in
            selectors(TAG).iter().flat_map(|selector| [0, 1, 2, 20, 300].map(|count| (selector, count)))
        {
            let mut engine = engines::create(&name).unwrap();
            engine.set_hints(CONTEXT, engine.demands()).unwrap();
            let is_refused = engine.post_selector(RecvId(1), selector) == Err(Refused::Hint);
            if !is_refused && (!is_tight || count == 0) {
                engine.cancel(&Receive::new(RecvId(1), *selector));
                case(&mut *engine, selector, count, &format!("{name}: {selector:?} after {count}"));
            }
        }
    }
}

#[test]
fn receive_posted_after_search_is_matched() {
    each_case(|engine, selector, count, case| {
        for id in 100..100 + count {
            // Receives of several wildcard classes, if the engine allows them. No receive matches the
            // message.
            let others = selectors(Tag(id));
            let other =
                Selector::new(ContextId(4), others[id as usize % 4].source(), others[id as usize % 4].tag());
            let other = if engine.demands() == Hints::default() { other } else { others[0] };
            assert_eq!(engine.post(Receive::new(RecvId(id), other)), Ok(None), "{case}");
        }
        let place = engine.place(PAIR, TAG);
        for id in 0..2 {
            assert_eq!(engine.take_receive(PAIR, TAG), None, "{case}");
            assert_eq!(engine.post(Receive::new(RecvId(id), *selector)), Ok(None), "{case}");
            // This search miss is for another key.
            assert_eq!(engine.take_receive(Pair(7 << 32), TAG), None, "{case}");
            let queued = engine.queue_message(MsgId(id), PAIR, TAG, place);
            assert_eq!(queued, Ok(Some(RecvId(id))), "{case}");
        }
        assert_eq!((engine.posted_len() as u64, engine.unexpected_len()), (count, 0), "{case}");
    });
}

#[test]
fn message_arrived_after_probe_is_matched() {
    each_case(|engine, selector, count, case| {
        for id in 100..100 + count {
            let message = Message::new(MsgId(id), Envelope::new(ContextId(4), RANK, Tag(id)));
            assert_eq!(engine.arrive_message(message), Ok(None), "{case}");
        }
        let place = engine.place(selector.pair(), Tag(selector.tag_and_ignored().0));
        for id in 0..2 {
            assert_eq!(engine.matched_probe(selector), None, "{case}");
            assert_eq!(engine.arrive(MsgId(id), PAIR, TAG), Ok(None), "{case}");
            let queued = engine.queue_receive(RecvId(id), selector, place);
            assert_eq!(queued, Ok(Some(MsgId(id))), "{case}");
        }
        assert_eq!((engine.posted_len(), engine.unexpected_len() as u64), (0, count), "{case}");
    });
}

#[test]
fn message_readdressed_after_probe_is_matched() {
    each_case(|engine, selector, _, case| {
        let unknown_source = Message::new(MsgId(1), Envelope::new(CONTEXT, Rank::UNKNOWN, TAG));
        if selector.source() != Wild::Is(RANK) || engine.arrive_message(unknown_source) != Ok(None) {
            return;
        }
        let place = engine.place(selector.pair(), Tag(selector.tag_and_ignored().0));
        assert_eq!(engine.matched_probe(selector), None, "{case}");
        assert_eq!(engine.readdress(&unknown_source, RANK), Ok(Readdressed::SourceSet), "{case}");
        assert_eq!(engine.queue_receive(RecvId(1), selector, place), Ok(Some(MsgId(1))), "{case}");
    });
}

#[test]
fn queue_call_after_hint_matches() {
    let mut engine = engines::create("hybrid").unwrap();
    let any = Selector::new(CONTEXT, Wild::Is(RANK), Wild::Any);
    engine.arrive(MsgId(1), PAIR, TAG).unwrap();
    engine.set_hints(CONTEXT, Hints { no_any_tag: true, ..Hints::default() }).unwrap();
    assert_eq!(engine.matched_probe(&any), None);
    engine.set_hints(CONTEXT, Hints::default()).unwrap();
    assert_eq!(engine.queue_receive(RecvId(1), &any, Place::default()), Ok(Some(MsgId(1))));
}
