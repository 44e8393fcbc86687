//! Pending sources: messages keep their order when the engine has no memory for a source.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use matchpoint::{Footprint, Hints, Pair, Selector, Tag};

use super::*;

/// An engine without memory for sources while the flag is set.
struct Denied {
    engine: Box<dyn Engine>,
    is_denied: Arc<AtomicBool>,
}

impl Engine for Denied {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.engine.post_selector(id, selector)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.engine.arrive(id, pair, tag)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.engine.cancel(receive)
    }

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
        if self.is_denied.load(Ordering::Relaxed) {
            return Err(Refused::Memory);
        }
        self.engine.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.engine.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.engine.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.engine.fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.engine.visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.engine.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.engine.unexpected_len()
    }

    fn footprint(&self) -> Footprint {
        self.engine.footprint()
    }
}

/// Known sources of messages. All messages have one tag.
#[derive(Default)]
struct Sources(HashMap<u64, Addr>);

impl Remember for Sources {
    fn asked(&self, _: u64) -> Asked {
        asked(ADDR_UNSPEC)
    }

    fn tag(&self, _: u64) -> u64 {
        7
    }

    fn source(&self, message: u64) -> Addr {
        self.0.get(&message).copied().unwrap_or(ADDR_UNSPEC)
    }
}

fn asked(addr: Addr) -> Asked {
    Asked { addr, tag: 7, ignore: 0 }
}

#[test]
fn denied_sources_follow_in_order_after_memory() {
    let (mut matching, mut known) = (Matching::new("hybrid").expect("it is one"), Sources::default());
    let is_denied = Arc::new(AtomicBool::new(true));
    let engine = engines::create("list").expect("it is one");
    matching.engine = Box::new(Denied { engine, is_denied: Arc::clone(&is_denied) });
    matching.lengthen().expect("nothing is queued");
    for message in [1, 2, 3] {
        assert_eq!(matching.arrive(message, ADDR_UNSPEC, 7, &known), Ok(None));
    }
    assert_eq!(matching.post(11, asked(5), &known), Ok(None));
    // The source of message 2 stays unknown.
    for message in [1, 3] {
        known.0.insert(message, 5);
        assert_eq!(matching.readdress(message, 5, &known), None);
        is_denied.store(false, Ordering::Relaxed);
    }
    assert!(matching.owes_names());
    known.0.insert(4, 5);
    assert_eq!(matching.arrive(4, 5, 7, &known), Ok(None), "it is behind those");
    is_denied.store(true, Ordering::Relaxed);
    assert_eq!(matching.name_owed(&known), None);
    assert!(matching.owes_names(), "there is no memory yet");
    assert_eq!(matching.post(15, asked(ADDR_UNSPEC), &known), Err(Refused::Memory), "1 is for 11");
    assert_eq!(matching.probe(asked(ADDR_UNSPEC), true, &known), Err(Refused::Memory));
    assert_eq!(matching.refusal(), -(errno::EAGAIN as isize));
    is_denied.store(false, Ordering::Relaxed);
    assert_eq!(matching.name_owed(&known), Some((1, 11)));
    assert_eq!(matching.name_owed(&known), None);
    assert!(!matching.owes_names());
    assert_eq!(matching.refusal(), -(errno::ENOMEM as isize));
    assert_eq!([12, 13].map(|id| matching.post(id, asked(5), &known)), [Ok(Some(3)), Ok(Some(4))]);
    assert_eq!(matching.post(14, asked(ADDR_UNSPEC), &known), Ok(Some(2)));
    assert_eq!((matching.tally().posted_now, matching.tally().unexpected_now), (0, 0));
}

#[test]
fn retract_while_names_are_owed() {
    let (mut matching, mut known) = (Matching::new("hybrid").expect("it is one"), Sources::default());
    let engine = engines::create("list").expect("it is one");
    matching.engine = Box::new(Denied { engine, is_denied: Arc::new(AtomicBool::new(true)) });
    matching.lengthen().expect("nothing is queued");
    known.0.insert(1, 5);
    assert_eq!(matching.arrive(1, 5, 7, &known), Ok(None));
    for message in [2, 3] {
        assert_eq!(matching.arrive(message, ADDR_UNSPEC, 7, &known), Ok(None));
    }
    known.0.insert(2, 5);
    assert_eq!(matching.readdress(2, 5, &known), None);
    known.0.insert(4, 5);
    assert_eq!(matching.arrive(4, 5, 7, &known), Ok(None));
    assert!(matching.owes_names());
    assert!((1..=4).all(|message| matching.retract(message, &known)));
    assert!(!matching.retract(1, &known));
}
