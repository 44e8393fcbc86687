//! What goes on beside a batch and what waits, seen from within; and what is done when there is no room.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use crate::engine::{Drained, Engine, Entry, Queue};
use crate::engines;
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag, Wild};
use crate::hints::Hints;

fn receive(id: u64, source: u64) -> Receive {
    Receive::new(RecvId(id), asks(source))
}

fn asks(source: u64) -> Selector {
    Selector::new(ContextId(0), Wild::Is(Rank(source as u32)), Wild::Is(Tag(0)))
}

fn message(id: u64, source: u32) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source), Tag(0)))
}

fn list() -> Box<dyn Engine> {
    engines::create("list").unwrap()
}

fn split() -> Split {
    Split::new(list(), list())
}

fn all(split: &dyn Concurrent, queue: Queue) -> Vec<u64> {
    let mut ids = Vec::new();
    split.visit(queue, &mut |entry| {
        ids.push(match entry {
            Entry::Receive(receive) => receive.id.0,
            Entry::Message(message) => message.id.0,
        });
    });
    ids
}

/// Has a batch match these, the first of which is delivered after `meanwhile` has been called in another thread.
fn beside<R: Rules>(
    split: &Split<R>,
    messages: &[Message],
    meanwhile: impl Fn() + Sync,
) -> Vec<Option<RecvId>> {
    let mut out = Vec::new();
    let delivered = |number, _| {
        if number == 0 {
            thread::scope(|scope| scope.spawn(&meanwhile).join().unwrap());
        }
    };
    split.deliver_batch(messages, &mut out, &delivered).unwrap();
    out
}

/// Waits until so many wait for the end of a batch.
fn until_waiting<R: Rules>(split: &Split<R>, count: usize) {
    while split.lock().waiting() < count {
        thread::yield_now();
    }
}

#[test]
fn what_cannot_tell_whether_there_is_a_batch_goes_on() {
    let split = split();
    assert_eq!(split.arrive_message(message(9, 5)), Ok(None));
    assert_eq!(split.arrive_message(message(10, 2)), Ok(None));
    assert_eq!(split.arrive_message(message(11, 6)), Ok(None));
    assert_eq!(split.post(receive(1, 1)), Ok(None));
    let out = beside(&split, &[message(1, 1), message(2, 2), message(3, 2)], || {
        assert_eq!(split.post(receive(2, 3)), Ok(None), "nothing of the batch");
        assert_eq!(split.post(receive(3, 3)), Ok(None));
        assert_eq!(split.probe(&asks(5)), Some(MsgId(9)));
        assert_eq!(split.probe(&asks(3)), None);
        assert_eq!(split.matched_probe(&asks(5)), Some(MsgId(9)));
        assert_eq!(split.matched_probe(&asks(5)), None);
        assert_eq!(split.post(receive(4, 2)), Ok(Some(MsgId(10))), "before those of the batch");
        assert!(split.cancel(&receive(3, 3)), "it is pended");
        assert!(split.retract(&message(11, 6)));
        assert!(!split.retract(&message(11, 6)));
    });
    assert_eq!(out, [Some(RecvId(1)), None, None]);
    assert_eq!((all(&split, Queue::Posted), all(&split, Queue::Unexpected)), (vec![2], vec![2, 3]));
    assert_eq!((split.posted_len(), split.unexpected_len()), (1, 2));
    assert_eq!(split.arrive_message(message(4, 3)), Ok(Some(RecvId(2))));
}

#[test]
fn what_accepts_a_message_of_the_batch_waits_until_it_is_over() {
    let split = split();
    assert_eq!(split.post(receive(1, 1)), Ok(None));
    assert_eq!(split.post(receive(2, 1)), Ok(None));
    let any_tag = Selector::new(ContextId(0), Wild::Is(Rank(4)), Wild::Any);
    let messages = [message(1, 1), message(2, 2), message(3, 3), message(4, 4), message(5, 5)];
    let delivered = |_, _| until_waiting(&split, 6);
    let mut out = Vec::new();
    thread::scope(|scope| {
        let batch = scope.spawn(|| split.deliver_batch(&messages, &mut out, &delivered));
        while !split.lock().is_lent() {
            thread::yield_now();
        }
        scope.spawn(|| assert_eq!(split.post(receive(3, 2)), Ok(Some(MsgId(2)))));
        scope.spawn(|| assert_eq!(split.matched_probe(&asks(3)), Some(MsgId(3))));
        scope.spawn(|| assert_eq!(split.probe(&any_tag), Some(MsgId(4))));
        scope.spawn(|| assert!(split.cancel(&receive(2, 1)), "it is posted"));
        scope.spawn(|| assert!(split.retract(&message(5, 5))));
        scope.spawn(|| assert_eq!(split.arrive_message(message(6, 6)), Ok(None)));
        assert_eq!(batch.join().unwrap(), Ok(()));
    });
    assert_eq!(out, [Some(RecvId(1)), None, None, None, None]);
    assert_eq!((all(&split, Queue::Posted), all(&split, Queue::Unexpected)), (vec![], vec![4, 6]));
}

/// A receive that waits for one batch, whose message the next batch brings. True: it got in between.
fn gets_in_before_the_next<R: Rules>() -> bool {
    let split = Split::<R>::with_rules(list(), list());
    for number in 1..=3 {
        assert_eq!(split.post(receive(number, 1)), Ok(None));
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let is_begun = AtomicBool::new(false);
    thread::scope(|scope| {
        let post = scope.spawn(|| {
            while !is_begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
            split.post(receive(4, 1))
        });
        let waits = |_, _| {
            is_begun.store(true, Ordering::Release);
            until_waiting(&split, 1);
        };
        split.deliver_batch(&[message(1, 1), message(2, 9)], &mut first, &waits).unwrap();
        split.arrive_batch(&[message(3, 1), message(4, 1), message(5, 1)], &mut second).unwrap();
        post.join().unwrap().unwrap().is_none() && second.last() == Some(&Some(RecvId(4)))
    })
}

#[test]
fn who_waited_gets_in_before_the_next_batch() {
    assert!((0..20).all(|_| gets_in_before_the_next::<Sound>()));
}

struct InHaste;

impl Rules for InHaste {
    const TAKES_TURNS: bool = false;
}

#[test]
fn without_turns_the_next_batch_is_faster() {
    assert!(!(0..1000).all(|_| gets_in_before_the_next::<InHaste>()));
}

#[test]
fn a_delivery_that_panics_gives_everything_back() {
    for name in ["list", "optimistic_parallel:threads=1", "optimistic_parallel:threads=3"] {
        let (posted, unexpected) = (engines::create(name).unwrap(), engines::create(name).unwrap());
        let split = Split::new(posted, unexpected);
        assert_eq!(split.post(receive(1, 1)), Ok(None));
        assert_eq!(split.post(receive(2, 2)), Ok(None));
        let mut out = Vec::new();
        let delivered = |number, _| {
            if number == 1 {
                thread::scope(|scope| scope.spawn(|| split.post(receive(3, 3)).unwrap()).join().unwrap());
                panic!("as it should");
            }
        };
        let messages = [message(1, 8), message(2, 1), message(3, 2)];
        let panicked =
            catch_unwind(AssertUnwindSafe(|| split.deliver_batch(&messages, &mut out, &delivered)));
        assert!(panicked.is_err(), "{name}");
        assert_eq!(all(&split, Queue::Unexpected), [1], "{name}");
        // Whether the message behind has arrived is up to the engine.
        let posted = if out.len() == 3 { vec![3] } else { vec![2, 3] };
        assert_eq!(all(&split, Queue::Posted), posted, "{name}");
        assert_eq!(split.arrive_message(message(4, 3)), Ok(Some(RecvId(3))), "{name}");
    }
}

#[test]
fn a_batch_stops_where_a_message_is_refused() {
    let split = split();
    let no_unexpected = Hints { no_unexpected: true, ..Hints::default() };
    split.set_hints(ContextId(0), no_unexpected).unwrap();
    assert_eq!(split.post(receive(1, 1)), Ok(None));
    assert_eq!(split.post(receive(2, 1)), Ok(None));
    let elsewhere = Message::new(MsgId(5), Envelope::new(ContextId(1), Rank(0), Tag(0)));
    let mut out = Vec::new();
    let refused = split.arrive_batch(&[elsewhere, message(1, 1), message(2, 2), message(3, 1)], &mut out);
    assert_eq!((refused, out), (Err(Refused::Hint), vec![None, Some(RecvId(1))]));
    assert_eq!((all(&split, Queue::Posted), all(&split, Queue::Unexpected)), (vec![2], vec![5]));
    assert_eq!(split.set_hints(ContextId(1), no_unexpected), Err(Refused::Hint));
    assert_eq!(split.arrive_message(Message { id: MsgId(6), ..elsewhere }), Ok(None), "as before");
}

#[test]
fn long_batches_are_as_their_messages() {
    let (split, mut right) = (split(), list());
    for number in 0..2000 {
        let receive = receive(number, number * 2);
        assert_eq!(split.post(receive), right.post(receive));
    }
    let messages: Vec<Message> = (0..3000).map(|number| message(number.into(), number)).collect();
    let (mut out, mut expected) = (Vec::new(), Vec::new());
    let delivered = std::sync::Mutex::new(Vec::new());
    let deliver = |number: usize, receive: RecvId| delivered.lock().unwrap().push((number, receive));
    split.deliver_batch(&messages, &mut out, &deliver).unwrap();
    right.arrive_batch(&messages, &mut expected).unwrap();
    let found = |(number, found): (usize, &Option<RecvId>)| found.map(|receive| (number, receive));
    let to_deliver: Vec<_> = expected.iter().enumerate().filter_map(found).collect();
    assert_eq!((out, delivered.into_inner().unwrap()), (expected, to_deliver));
    assert_eq!((split.posted_len(), split.unexpected_len()), (right.posted_len(), right.unexpected_len()));
}

/// A list one of whose queues has no room for more whenever that is said.
struct Crowded {
    list: Box<dyn Engine>,
    queue: Queue,
    is_full: Arc<AtomicBool>,
}

impl Crowded {
    fn call<A>(&mut self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        call(&mut *self.list)
    }

    fn read<A>(&self, read: impl FnOnce(&dyn Engine) -> A) -> A {
        read(&*self.list)
    }

    fn room(&self, queue: Queue) -> Result<(), Refused> {
        let is_full = queue == self.queue && self.is_full.load(Ordering::Relaxed);
        if is_full { Err(Refused::Full) } else { Ok(()) }
    }
}

impl Engine for Crowded {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        match self.list.matched_probe(&receive.selector) {
            None => self.room(Queue::Posted).and_then(|()| self.list.post(receive)),
            found => Ok(found),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let found = self.list.arrive_message(message)?;
        if found.is_none()
            && let Err(refused) = self.room(Queue::Unexpected)
        {
            self.list.retract(&message);
            return Err(refused);
        }
        Ok(found)
    }

    forwarded!(inside: probe matched_probe cancel retract set_hints close fail_source);
    forwarded!(inside: visit posted_len unexpected_len footprint);

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.room(Queue::Unexpected)?;
        self.list.readdress(message, source)
    }
}

/// A split engine; who says that there is no room for receives, and none for messages.
fn crowded() -> (Split, [Arc<AtomicBool>; 2]) {
    let full: [Arc<AtomicBool>; 2] = Default::default();
    let [posted, unexpected] = [Queue::Posted, Queue::Unexpected].map(|queue| -> Box<dyn Engine> {
        Box::new(Crowded { list: list(), queue, is_full: Arc::clone(&full[queue as usize]) })
    });
    (Split::new(posted, unexpected), full)
}

#[test]
fn receives_that_there_is_no_room_for_stay_pended() {
    let (split, [posted_is_full, _]) = crowded();
    let any = |id| Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Any, Wild::Is(Tag(0))));
    let ahead = Receive::new(RecvId(1), Selector::new(ContextId(0), Wild::Is(Rank(1)), Wild::Any));
    assert_eq!(split.post(ahead), Ok(None));
    assert_eq!(split.post(receive(2, 3)), Ok(None));
    let other = |id, source| Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source), Tag(1)));
    let out = beside(&split, &[other(1, 1), other(2, 9)], || {
        for id in 3..=7 {
            let pended = if id == 5 { any(id) } else { receive(id, 3) };
            assert_eq!(split.post(pended), Ok(None));
        }
        posted_is_full.store(true, Ordering::Relaxed);
    });
    assert_eq!(out, [Some(RecvId(1)), None]);
    assert_eq!((all(&split, Queue::Posted), split.posted_len()), (vec![2, 3, 4, 5, 6, 7], 6));
    assert_eq!(split.post(receive(8, 3)), Err(Refused::Full), "it would be before them");
    assert_eq!(
        split.post(Receive::new(RecvId(9), Selector::exactly(&other(2, 9).envelope))),
        Ok(Some(MsgId(2)))
    );
    assert_eq!(
        split.set_hints(ContextId(0), Hints { no_any_source: true, ..Hints::default() }),
        Err(Refused::Memory)
    );
    assert!(split.cancel(&receive(4, 3)));
    let mut out = Vec::new();
    let nothing = |_, _| {};
    split.deliver_batch(&[message(3, 3), message(4, 3), message(5, 7)], &mut out, &nothing).unwrap();
    assert_eq!(out, [Some(RecvId(2)), Some(RecvId(3)), Some(RecvId(5))], "the posted, then the pended");
    let mut drained = Drained::default();
    split.fail_source(ContextId(0), Rank(3), &mut drained);
    assert_eq!(drained.receives, [RecvId(6), RecvId(7)]);
    posted_is_full.store(false, Ordering::Relaxed);
    assert_eq!(
        (split.post(receive(10, 3)), split.arrive_message(message(6, 3))),
        (Ok(None), Ok(Some(RecvId(10))))
    );
}

#[test]
fn messages_that_there_is_no_room_for_are_found_where_they_are() {
    let (split, [_, unexpected_is_full]) = crowded();
    assert_eq!(split.arrive_message(message(9, 2)), Ok(None));
    assert_eq!(split.post(receive(1, 1)), Ok(None));
    let messages: Vec<Message> = (2..8).map(|id| message(id, 2)).collect();
    let out = beside(&split, &[&[message(1, 1)], &messages[..]].concat(), || {
        unexpected_is_full.store(true, Ordering::Relaxed);
    });
    assert_eq!(out[0], Some(RecvId(1)));
    assert_eq!((all(&split, Queue::Unexpected), split.unexpected_len()), (vec![9, 2, 3, 4, 5, 6, 7], 7));
    assert_eq!(split.arrive_message(message(10, 3)), Err(Refused::Full), "it would be before them");
    assert_eq!(split.arrive_batch(&[message(11, 3), message(12, 3)], &mut Vec::new()), Err(Refused::Full));
    assert_eq!(split.probe(&asks(2)), Some(MsgId(9)));
    assert_eq!(split.post(receive(2, 2)), Ok(Some(MsgId(9))));
    assert_eq!(split.probe(&asks(2)), Some(MsgId(2)));
    assert_eq!(split.matched_probe(&asks(2)), Some(MsgId(2)));
    assert!(split.retract(&message(3, 2)));
    assert!(!split.retract(&message(3, 2)));
    assert_eq!(split.post(receive(3, 2)), Ok(Some(MsgId(4))));
    unexpected_is_full.store(false, Ordering::Relaxed);
    assert_eq!(split.arrive_message(message(13, 2)), Ok(None));
    let mut drained = Drained::default();
    split.close(ContextId(0), &mut drained);
    assert_eq!(drained.messages, [5, 6, 7, 13].map(MsgId));
}

#[test]
fn a_message_that_there_is_no_room_for_is_named_once_there_is() {
    let (split, [_, unexpected_is_full]) = crowded();
    assert_eq!(split.post(receive(1, 1)), Ok(None));
    let nameless = message(2, Rank::UNKNOWN.0);
    let out = beside(&split, &[message(1, 1), nameless, message(3, 2)], || {
        unexpected_is_full.store(true, Ordering::Relaxed);
    });
    assert_eq!(out, [Some(RecvId(1)), None, None]);
    assert_eq!(split.readdress(&nameless, Rank(2)), Err(Refused::Memory), "it has no place yet");
    assert_eq!(all(&split, Queue::Unexpected), [2, 3]);
    unexpected_is_full.store(false, Ordering::Relaxed);
    assert_eq!(split.arrive_message(message(4, 5)), Ok(None), "and now it has");
    unexpected_is_full.store(true, Ordering::Relaxed);
    assert_eq!(split.readdress(&nameless, Rank(2)), Err(Refused::Full), "as the engine says");
    assert_eq!((all(&split, Queue::Unexpected), split.posted_len()), (vec![2, 3, 4], 0));
    unexpected_is_full.store(false, Ordering::Relaxed);
    assert_eq!(split.readdress(&nameless, Rank(2)), Ok(Readdressed::Named));
    assert_eq!(split.readdress(&nameless, Rank(2)), Ok(Readdressed::NotNameless));
    assert_eq!(split.readdress(&message(2, 2), Rank(2)), Ok(Readdressed::NotNameless));
    assert_eq!(split.post(receive(2, 2)), Ok(Some(MsgId(2))), "at its age");
}

#[test]
fn a_message_is_nameless_until_it_is_named_or_gone() {
    let split = split();
    let nameless = |id| message(id, Rank::UNKNOWN.0);
    let any = |id| Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Any, Wild::Any));
    let name = |id| split.readdress(&nameless(id), Rank(3));
    for id in 1..=7 {
        assert_eq!(split.arrive_message(nameless(id)), Ok(None));
    }
    assert_eq!(split.readdress(&nameless(7), Rank::UNKNOWN), Ok(Readdressed::NotNameless));
    assert_eq!(split.post(any(1)), Ok(Some(MsgId(1))));
    assert_eq!(split.matched_probe(&any(2).selector), Some(MsgId(2)));
    assert!(split.retract(&nameless(3)));
    assert_eq!(name(4), Ok(Readdressed::Named));
    assert_eq!(split.post(receive(5, 3)), Ok(Some(MsgId(4))));
    assert_eq!((split.post(receive(6, 3)), split.post(receive(7, 3))), (Ok(None), Ok(None)));
    assert_eq!(name(5), Ok(Readdressed::Matched(RecvId(6))), "the earliest");
    // Beside a batch, too, messages go.
    let out = beside(&split, &[message(8, 3), message(9, 4)], || {
        assert_eq!(split.post(any(8)), Ok(Some(MsgId(6))));
    });
    assert_eq!(out, [Some(RecvId(7)), None]);
    assert_eq!(split.post(receive(9, 3)), Ok(None));
    assert_eq!([1, 2, 3, 4, 5, 6, 9, 99].map(name), [Ok(Readdressed::NotNameless); 8]);
    split.close(ContextId(0), &mut Drained::default());
    assert_eq!(split.post(receive(10, 3)), Ok(None));
    assert_eq!(name(7), Ok(Readdressed::NotNameless));
    assert_eq!(split.arrive_message(message(7, 5)), Ok(None));
    assert_eq!(name(7), Ok(Readdressed::NotNameless), "another of that name, from somebody");
    assert_eq!((all(&split, Queue::Posted), all(&split, Queue::Unexpected)), (vec![10], vec![7]));
}
