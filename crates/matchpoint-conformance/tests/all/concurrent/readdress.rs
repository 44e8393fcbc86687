//! Withdrawals and readdressing concurrent with other calls.

use matchpoint_conformance::Issued;

use super::*;

/// Gives each withdrawal the selector or envelope of its id, from any thread.
pub(super) fn complete(before: &[Request], of_threads: &mut [Vec<Request>]) {
    let mut issued = Issued::default();
    for asked in before.iter().chain(of_threads.iter().flatten()) {
        // Retractions use the original envelope of a message that is readdressed meanwhile.
        match asked {
            Request::Event(Event::Readdress(..)) => {}
            Request::Event(event) => issued.note(event),
            _ => {}
        }
    }
    for asked in of_threads.iter_mut().flatten() {
        if let Request::Event(event) = asked {
            *event = issued.completed(event.clone());
        }
    }
}

/// A retraction returned false for a queued, readdressed message. The contract permits this.
pub(super) fn is_left(call: &Call, list: &dyn Engine) -> bool {
    let Request::Event(Event::Retract(message)) = &call.asked else { return false };
    let mut is_named = false;
    list.visit(Queue::Unexpected, &mut |entry| {
        let Entry::Message(queued) = entry else { return };
        is_named |= queued.id == message.id && queued.envelope != message.envelope;
    });
    is_named && call.answer == Answer::Outcome(Outcome::Done(false))
}

/// Receives that match the new sources are posted and cancelled.
fn names(choices: &mut Choices<'_>, thread: u64) -> Vec<Request> {
    let call = |number| {
        let (id, some) = (100 * (thread + 1) + number, 1 + choices.below(4));
        let source = Rank(choices.below(2) as u32);
        Request::Event(match choices.below(8) {
            0..4 => Event::Readdress(nameless(some), source),
            4 => Event::Arrive(Message::new(MsgId(id), Envelope::new(ContextId(0), source, Tag(0)))),
            5 => Event::Post(asks_for(id, source)),
            6 => Event::Cancel(asks_for(some, source)),
            _ => Event::Retract(nameless(some)),
        })
    };
    (0..4).map(call).collect()
}

fn asks_for(id: u64, source: Rank) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Is(source), Wild::Any))
}

fn nameless(id: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank::UNKNOWN, Tag(0)))
}

#[test]
fn readdress_takes_receive_atomically() {
    let seeds = if cfg!(miri) { 2 } else { 600 };
    let messages = (1..=4).map(|id| Request::Event(Event::Arrive(nameless(id))));
    let receives = (1..=4).map(|id| Request::Event(Event::Post(asks_for(id, Rank((id % 2) as u32)))));
    let before: Vec<Request> = messages.chain(receives).collect();
    for name in NAMES {
        for seed in 0..seeds {
            let mut choices = Choices::Seed(seed);
            let of_threads = (0..3).map(|thread| names(&mut choices, thread)).collect();
            assert!(is_searched(name, seed, &before, of_threads, 1_000_000), "{name}: it is short enough");
        }
    }
}

#[test]
fn stale_retract_may_leave_readdressed_message() {
    let call = |began, event, outcome| {
        let (asked, answer) = (Request::Event(event), Answer::Outcome(outcome));
        Call { began, ended: began + 1, asked, answer, follows: false }
    };
    let named = Message::new(MsgId(1), Envelope::new(ContextId(0), Rank(3), Tag(0)));
    let is_linearizable = |retracted, done| {
        let calls = [
            call(0, Event::Arrive(nameless(1)), Outcome::Arrived(Ok(None))),
            call(2, Event::Readdress(nameless(1), Rank(3)), Outcome::Readdressed(Ok(Readdressed::SourceSet))),
            call(4, Event::Retract(retracted), Outcome::Done(done)),
        ];
        Search::new("locked", &[], &calls, 1000).run().expect("it is short")
    };
    assert!(is_linearizable(nameless(1), true) && is_linearizable(nameless(1), false));
    assert!(is_linearizable(named, true) && !is_linearizable(named, false));
}
