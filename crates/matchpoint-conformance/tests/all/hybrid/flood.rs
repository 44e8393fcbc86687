//! Test of a hundred thousand unexpected messages, taken by receives with and without wildcards.

use super::*;

const MESSAGES: u64 = 100_000;
const SOURCES: u64 = 61;
const TAGS: u64 = 68;

/// A random selector. Each wildcard class has a separate index.
fn any_form(choices: &mut Choices<'_>) -> Selector {
    let (source, tag) = (choices.below(SOURCES), choices.below(TAGS));
    let (source, tag) = match choices.below(6) {
        0 => (ANY_SOURCE, ANY_TAG),
        1 => (ANY_SOURCE, tagged(tag)),
        2 => (ANY_SOURCE, masked(tag & !3, 3)),
        3 => (from(source), ANY_TAG),
        4 => (from(source), masked(tag & !3, 3)),
        _ => (from(source), tagged(tag)),
    };
    Selector::new(WORLD, source, tag)
}

/// Both engines take the same message for each receive. `hybrid` compares few messages, and frees the memory.
#[test]
fn flood_of_messages_matches_like_list() {
    let mut choices = Choices::Seed(34);
    let mut hybrid = engines::create_counting("hybrid:seed=1").unwrap();
    let mut list = engines::create("list").unwrap();
    for id in 0..MESSAGES {
        let (source, tag) = (choices.below(SOURCES), choices.below(TAGS));
        assert_eq!(arrive(&mut *hybrid, id, source, tag), None);
        assert_eq!(arrive(&mut *list, id, source, tag), None);
    }
    let full_bytes = hybrid.footprint().now_bytes();
    for id in 0..MESSAGES {
        let mut selector = any_form(&mut choices);
        if list.probe(&selector).is_none() {
            assert_eq!(hybrid.probe(&selector), None, "{selector}");
            selector = Selector::new(WORLD, ANY_SOURCE, ANY_TAG);
        }
        let expected = list.post(Receive::new(RecvId(id), selector)).unwrap();
        assert!(expected.is_some(), "{selector}");
        assert_eq!(hybrid.post(Receive::new(RecvId(id), selector)), Ok(expected), "receive {id}: {selector}");
    }
    let compared = hybrid.attempts().unexpected / MESSAGES;
    assert!(compared < 32, "{compared} messages compared for each receive");
    assert_eq!(hybrid.unexpected_len() + hybrid.posted_len(), 0);
    for id in 0..MESSAGES {
        assert_eq!(arrive(&mut *hybrid, id, 1, id % 8), None);
        assert_eq!(post(&mut *hybrid, id, from(1), tagged(id % 8)), Some(MsgId(id)));
    }
    let bytes = hybrid.footprint().now_bytes();
    assert!(full_bytes > 1 << 20 && bytes < 64 << 10, "{full_bytes} bytes, then {bytes}");
}
