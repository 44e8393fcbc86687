//! Tests of offloaded matching: the laws within and beyond the memory budget, and concurrent posts and
//! messages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use matchpoint::offload::{self, Busy, Completion, Offload, Settings, Wire};
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Pair, Rank, Receive, RecvId, Refused, Selector, Tag, Wild,
    engines, forwarded,
};
use matchpoint_conformance::{Options, check};

use crate::laws::streams;
use crate::mutant::{Fault, Mutant};

/// An offloaded engine with blocking calls, so that the laws can be checked.
struct Offloaded {
    offload: Mutex<Offload>,
    wire: Wire,
}

impl Offloaded {
    fn start(name: &str) -> Self {
        let (offload, wire) = offload::start(name).unwrap();
        Offloaded { offload: Mutex::new(offload), wire }
    }

    fn call<A>(&self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        self.offload.lock().unwrap().with_engine(call)
    }

    fn read<A>(&self, read: impl FnOnce(&dyn Engine) -> A) -> A {
        self.call(|engine| read(engine))
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let offload = self.offload.get_mut().unwrap();
        offload.wait_processed(self.wire.message_count());
        offload.poll()
    }
}

impl Engine for Offloaded {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.offload.get_mut().unwrap().post(Receive::new(id, *selector)).unwrap();
        match self.next_completion() {
            Some(Completion::Matched(_, message)) => Ok(Some(message)),
            Some(Completion::ReceiveRefused(_, refused) | Completion::MessageRefused(_, refused)) => {
                Err(refused)
            }
            None => Ok(None),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.wire.arrive(Message::new(id, Envelope::of(pair, tag))).unwrap();
        match self.next_completion() {
            Some(Completion::Matched(receive, _)) => Ok(Some(receive)),
            Some(Completion::ReceiveRefused(_, refused) | Completion::MessageRefused(_, refused)) => {
                Err(refused)
            }
            None => Ok(None),
        }
    }

    forwarded!(inside: probe matched_probe cancel retract readdress set_hints close fail_source visit);
    forwarded!(inside: posted_len unexpected_len order demands footprint);
}

#[test]
fn laws_hold_within_and_beyond_budget() {
    let streams = streams(3, 10);
    for name in [
        "offload:engine=hybrid",
        "offload:budget_kib=0,engine=list",
        "offload:budget_kib=160,ring=2,engine=optimistic:bins=3,capacity=0",
    ] {
        let one = || -> Box<dyn Engine> { Box::new(Offloaded::start(name)) };
        let report = check(&one, &Options { streams, ..Options::quick() });
        report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
    }
}

#[test]
fn name_includes_inner_engine() {
    for name in [
        "offload",
        "offload:engine=bins:n=3",
        "offload:budget_kib=1,ring=8,engine=optimistic:bins=3,capacity=1",
    ] {
        assert!(offload::start(name).is_ok(), "{name}");
    }
    for name in ["list", "offload:ring=1", "offload:budget_kib=x", "offload:bins=3", "offload:engine=nothing"]
    {
        assert!(offload::start(name).is_err(), "{name}");
    }
}

/// One thread posts receives, another thread delivers messages. Every receive must complete once with a
/// message of its tag; messages of a tag must complete in order. Returns true after a fallback.
fn exchange(budget_bytes: u64) -> bool {
    let count: u64 = if cfg!(miri) { 200 } else { 20_000 };
    let settings = Settings { budget_bytes, ring: 64 };
    let (mut offload, mut wire) = Offload::start(engines::create("hybrid").unwrap(), settings).unwrap();
    let mut next = [0_u64; 5];
    let mut completed = 0;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..count {
                let envelope = Envelope::new(ContextId(0), Rank(1), Tag(number % 5));
                while wire.arrive(Message::new(MsgId(number), envelope)) == Err(Busy) {
                    std::thread::yield_now();
                }
            }
        });
        let mut complete = |completion| {
            let Completion::Matched(receive, message) = completion else { panic!("{completion:?}") };
            assert_eq!(receive.0 % 5, message.0 % 5);
            assert_eq!(
                (receive.0 / 5, message.0 / 5),
                (next[receive.0 as usize % 5], next[receive.0 as usize % 5])
            );
            next[receive.0 as usize % 5] += 1;
            completed += 1;
        };
        let mut polled = 0;
        for number in 0..count {
            let source = if number % 7 == 0 { Wild::Any } else { Wild::Is(Rank(1)) };
            let selector = Selector::new(ContextId(0), source, Wild::Is(Tag(number % 5)));
            while offload.post(Receive::new(RecvId(number), selector)) == Err(Busy) {
                while let Some(completion) = offload.poll() {
                    complete(completion);
                    polled += 1;
                }
                std::thread::yield_now();
            }
        }
        while polled < count {
            match offload.poll() {
                Some(completion) => {
                    complete(completion);
                    polled += 1;
                }
                None => std::thread::yield_now(),
            }
        }
    });
    assert_eq!(completed, count);
    offload.fell_back()
}

#[test]
fn receives_complete_once_and_in_order() {
    assert!(!exchange(u64::MAX));
}

#[test]
fn software_continues_after_fallback() {
    assert!(exchange(0));
}

#[test]
fn budget_covers_engine_and_rings() {
    let (mut offload, wire) =
        Offload::start(engines::create("hybrid").unwrap(), Settings::default()).unwrap();
    let empty = offload.held_bytes();
    assert!(!offload.fell_back() && empty < offload::BUDGET_KIB << 10);
    let mut posted = 0;
    while !offload.fell_back() {
        let selector = Selector::new(ContextId(0), Wild::Is(Rank(posted)), Wild::Is(Tag(0)));
        offload.post(Receive::new(RecvId(posted.into()), selector)).unwrap();
        offload.wait_processed(wire.message_count());
        posted += 1;
        assert!(posted < 1_000_000, "a million receives exceed the budget");
    }
    assert!(offload.held_bytes() > offload::BUDGET_KIB << 10);
    assert_eq!(
        offload.with_engine(|engine| engine.posted_len()) as u64,
        posted.into(),
        "the fallback loses no receive"
    );
}

fn receive(id: u64) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Is(Rank(0)), Wild::Is(Tag(id % 3))))
}

#[test]
fn cancel_works_before_and_after_matcher() {
    let (mut offload, mut wire) =
        Offload::start(engines::create("list").unwrap(), Settings { ring: 4, ..Settings::default() })
            .unwrap();
    for id in 0..if cfg!(miri) { 5 } else { 1000 } {
        while offload.post(receive(id)) == Err(Busy) {}
        assert!(offload.with_engine(|engine| engine.cancel(&receive(id))), "receive {id}");
        assert_eq!(offload.with_engine(|engine| engine.posted_len()), 0);
    }
    assert_eq!(offload.poll(), None);
    // Unpolled completions are kept while the ring is full.
    for round in 0..if cfg!(miri) { 2 } else { 100 } {
        let mut polled = Vec::new();
        for tag in 0..3 {
            let message = Message::new(MsgId(tag), Envelope::new(ContextId(0), Rank(0), Tag(tag)));
            while wire.arrive(message) == Err(Busy) {}
            offload.wait_processed(wire.message_count());
            while offload.post(receive(tag)) == Err(Busy) {}
            assert!(
                !offload.with_engine(|engine| engine.cancel(&receive(tag))),
                "the receive is already matched"
            );
        }
        polled.extend(std::iter::from_fn(|| offload.poll()));
        let all = [0, 1, 2].map(|id| Completion::Matched(RecvId(id), MsgId(id)));
        assert_eq!(polled, all, "round {round}");
    }
}

#[test]
fn panicked_engine_ends_waits() {
    let engine = Mutant::new(Some(Fault::PanicsOnThirdDuplicate));
    let (mut offload, _wire) = Offload::start(Box::new(engine), Settings::default()).unwrap();
    (0..3).for_each(|_| offload.post(receive(0)).unwrap());
    let reported =
        catch_unwind(AssertUnwindSafe(|| offload.wait_processed(0))).expect_err("the wait reports the panic");
    assert_eq!(reported.downcast_ref::<&str>(), Some(&"the engine panicked in the matcher's thread"));
    assert!(catch_unwind(AssertUnwindSafe(|| offload.poll())).is_err());
}
