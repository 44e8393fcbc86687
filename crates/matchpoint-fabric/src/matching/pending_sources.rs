//! Pending sources: messages keep their order when the engine has no memory for a source.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use matchpoint::forwarded;

use super::*;

struct OutOfMemoryEngine {
    engine: Box<dyn Engine>,
    is_out_of_memory: Arc<AtomicBool>,
}

impl Engine for OutOfMemoryEngine {
    forwarded!(through [engine]: post_selector arrive probe matched_probe cancel set_hints close);
    forwarded!(through [engine]: fail_source visit posted_len unexpected_len footprint);

    fn retract(&mut self, message: &Message) -> bool {
        self.engine.visit(Queue::Unexpected, &mut |entry| match entry {
            Entry::Message(queued) if queued.id == message.id => {
                assert_eq!(queued.envelope, message.envelope)
            }
            _ => {}
        });
        self.engine.retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        if self.is_out_of_memory.load(Ordering::Relaxed) {
            return Err(Refused::Memory);
        }
        self.engine.readdress(message, source)
    }
}

/// Known sources, for messages with equal tags.
#[derive(Default)]
struct KnownSources(HashMap<u64, Addr>);

impl EntryData for KnownSources {
    fn criteria(&self, _: u64) -> Criteria {
        criteria(ADDR_UNSPEC)
    }

    fn tag(&self, _: u64) -> u64 {
        7
    }

    fn source(&self, message: u64) -> Addr {
        self.0.get(&message).copied().unwrap_or(ADDR_UNSPEC)
    }
}

fn criteria(addr: Addr) -> Criteria {
    Criteria { addr, tag: 7, ignore: 0 }
}

#[test]
fn pending_sources_are_set_in_order() {
    let (mut matching, mut entries) = (Matching::new("hybrid").expect("it is one"), KnownSources::default());
    let is_out_of_memory = Arc::new(AtomicBool::new(true));
    let engine = engines::create("list").expect("it is one");
    matching.engine = Box::new(OutOfMemoryEngine { engine, is_out_of_memory: Arc::clone(&is_out_of_memory) });
    matching.move_to_engine().expect("nothing is queued");
    for message in [1, 2, 3] {
        assert_eq!(matching.arrive(message, ADDR_UNSPEC, 7, &entries), Ok(None));
    }
    assert_eq!(matching.post(11, criteria(5), &entries), Ok(None));
    // Sources of messages 1 and 3 become known; the source of message 2 stays unknown.
    for message in [1, 3] {
        entries.0.insert(message, 5);
        assert_eq!(matching.readdress(message, 5, &entries), None);
        is_out_of_memory.store(false, Ordering::Relaxed);
    }
    assert!(matching.has_pending_sources());
    entries.0.insert(4, 5);
    assert_eq!(matching.arrive(4, 5, 7, &entries), Ok(None), "it is behind those");
    is_out_of_memory.store(true, Ordering::Relaxed);
    assert_eq!(matching.set_next_pending_source(&entries), None);
    assert!(matching.has_pending_sources(), "there is no memory yet");
    assert_eq!(matching.post(15, criteria(ADDR_UNSPEC), &entries), Err(Refused::Memory), "1 is for 11");
    assert_eq!(matching.probe(criteria(ADDR_UNSPEC), true, &entries), Err(Refused::Memory));
    assert_eq!(matching.refusal_code(), -(errno::EAGAIN as isize));
    is_out_of_memory.store(false, Ordering::Relaxed);
    assert_eq!(matching.set_next_pending_source(&entries), Some((1, 11)));
    assert_eq!(matching.set_next_pending_source(&entries), None);
    assert!(!matching.has_pending_sources());
    assert_eq!(matching.refusal_code(), -(errno::ENOMEM as isize));
    assert_eq!([12, 13].map(|id| matching.post(id, criteria(5), &entries)), [Ok(Some(3)), Ok(Some(4))]);
    assert_eq!(matching.post(14, criteria(ADDR_UNSPEC), &entries), Ok(Some(2)));
    assert_eq!((matching.tally().posted_now, matching.tally().unexpected_now), (0, 0));
}

#[test]
fn retract_works_with_pending_sources() {
    let (mut matching, mut entries) = (Matching::new("hybrid").expect("it is one"), KnownSources::default());
    let engine = engines::create("list").expect("it is one");
    matching.engine =
        Box::new(OutOfMemoryEngine { engine, is_out_of_memory: Arc::new(AtomicBool::new(true)) });
    matching.move_to_engine().expect("nothing is queued");
    entries.0.insert(1, 5);
    assert_eq!(matching.arrive(1, 5, 7, &entries), Ok(None));
    for message in [2, 3] {
        assert_eq!(matching.arrive(message, ADDR_UNSPEC, 7, &entries), Ok(None));
    }
    entries.0.insert(2, 5);
    assert_eq!(matching.readdress(2, 5, &entries), None);
    entries.0.insert(4, 5);
    assert_eq!(matching.arrive(4, 5, 7, &entries), Ok(None));
    assert!(matching.has_pending_sources());
    assert!((1..=4).all(|message| matching.retract(message, &entries)));
    assert!(!matching.retract(1, &entries));
}
