//! Who matched in the place of an engine, and at how many ranks: that of a card may fail at some of them.

mod program;

use matchpoint::engines::{self, Arguments, Built, Parameter, Spec};
use matchpoint::{
    Attempts, ContextId, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Queue, Rank as Source,
    Receive, RecvId, Refused, Selector,
};
use matchpoint_replay::measurements::Substitute;
use matchpoint_replay::{Arrivals, LogGp, Options, Progress};
use program::*;

/// `list`, which says at process 1 that it stands for another, once a receive was posted.
struct Failing {
    list: Box<dyn Engine>,
    fails: bool,
    posted: bool,
}

const SPEC: Spec = Spec {
    name: "failing",
    summary: "fails at process 1",
    parameters: &[Parameter { key: "process", default: "0", meaning: "the process" }],
    variants: &[],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let process: u64 = arguments.get("process")?;
    let list = if counting { engines::create_counting("list")? } else { engines::create("list")? };
    Ok(Box::new(Failing { list, fails: process == 1, posted: false }))
}

impl Engine for Failing {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.posted = true;
        self.list.post(receive)
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.list.arrive(message)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.list.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.list.matched_probe(selector)
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        self.list.cancel(receive)
    }

    fn retract(&mut self, message: MsgId) -> bool {
        self.list.retract(message)
    }

    fn readdress(&mut self, message: MsgId, source: Source) -> bool {
        self.list.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.list.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.list.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Source, drained: &mut Drained) {
        self.list.fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.list.visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.list.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.list.unexpected_len()
    }

    fn substitute(&self) -> Option<&str> {
        (self.fails && self.posted).then_some("list")
    }

    fn footprint(&self) -> Footprint {
        self.list.footprint()
    }

    fn attempts(&self) -> Attempts {
        self.list.attempts()
    }
}

#[test]
fn a_substitute_is_told_with_the_ranks_that_it_matched_at() {
    engines::extend(&[SPEC]);
    let sender = || Rank::new().send(to(1, 1)).send(to(2, 1));
    let receiver = || Rank::new().recv(from(0, 1), None);
    let trace = program(vec![sender(), receiver(), receiver(), Rank::new()]);
    let options = Options {
        sampled: false,
        engines: vec!["list".into(), "failing".into()],
        arrivals: Arrivals::Simulated,
        loggp: LogGp::default(),
        compare_arrivals: false,
    };
    let run = matchpoint_replay::replay(&trace, &options, &Progress::default()).unwrap();
    assert_eq!(run.engines[0].substitute, None);
    // Nothing happens at ranks 0 and 3.
    let expected = Substitute { name: "list".into(), ranks: 1, of_ranks: 2 };
    assert_eq!(run.engines[1].substitute, Some(expected));
    assert_eq!(run.engines[1].matched, 2);
}
