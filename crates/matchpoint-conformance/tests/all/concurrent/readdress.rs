//! Tests of withdrawals and readdresses concurrent with other calls.

use matchpoint_conformance::Issued;

use super::*;

/// Gives each withdrawal the selector or envelope of its id.
pub(super) fn complete(before: &[Request], of_threads: &mut [Vec<Request>]) {
    let mut issued = Issued::default();
    for request in before.iter().chain(of_threads.iter().flatten()) {
        // A retract passes the original envelope, even if another thread readdresses the message.
        match request {
            Request::Event(Event::Readdress(..)) => {}
            Request::Event(event) => issued.note(event),
            _ => {}
        }
    }
    for request in of_threads.iter_mut().flatten() {
        if let Request::Event(event) = request {
            *event = issued.completed(event.clone());
        }
    }
}

/// True if a retract with the old envelope returned false for a queued, readdressed message, as the contract
/// permits.
pub(super) fn is_permitted_miss(call: &Call, list: &dyn Engine) -> bool {
    let Request::Event(Event::Retract(message)) = &call.request else { return false };
    let mut has_other_envelope = false;
    list.visit(Queue::Unexpected, &mut |entry| {
        let Entry::Message(queued) = entry else { return };
        has_other_envelope |= queued.id == message.id && queued.envelope != message.envelope;
    });
    has_other_envelope && call.answer == Answer::Outcome(Outcome::Done(false))
}

/// Random requests: readdresses, and posts and cancels of receives that match the new sources.
fn readdress_requests(choices: &mut Choices<'_>, thread: u64) -> Vec<Request> {
    let call = |number| {
        let (id, some) = (100 * (thread + 1) + number, 1 + choices.below(4));
        let source = Rank(choices.below(2) as u32);
        Request::Event(match choices.below(8) {
            0..4 => Event::Readdress(unknown_source(some), source),
            4 => Event::Arrive(Message::new(MsgId(id), Envelope::new(ContextId(0), source, Tag(0)))),
            5 => Event::Post(receive(id, source)),
            6 => Event::Cancel(receive(some, source)),
            _ => Event::Retract(unknown_source(some)),
        })
    };
    (0..4).map(call).collect()
}

fn receive(id: u64, source: Rank) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Is(source), Wild::Any))
}

fn unknown_source(id: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank::UNKNOWN, Tag(0)))
}

#[test]
fn readdress_takes_receive_atomically() {
    let seeds = if cfg!(miri) { 2 } else { 600 };
    let messages = (1..=4).map(|id| Request::Event(Event::Arrive(unknown_source(id))));
    let receives = (1..=4).map(|id| Request::Event(Event::Post(receive(id, Rank((id % 2) as u32)))));
    let before: Vec<Request> = messages.chain(receives).collect();
    for name in NAMES {
        for seed in 0..seeds {
            let mut choices = Choices::Seed(seed);
            let of_threads = (0..3).map(|thread| readdress_requests(&mut choices, thread)).collect();
            assert!(
                is_searched(name, seed, &before, of_threads, 1_000_000),
                "{name}: the search did not complete"
            );
        }
    }
}

#[test]
fn retract_with_old_envelope_may_fail() {
    let call = |began, event, outcome| {
        let (request, answer) = (Request::Event(event), Answer::Outcome(outcome));
        Call { began, ended: began + 1, request, answer, follows: false }
    };
    let with_source = Message::new(MsgId(1), Envelope::new(ContextId(0), Rank(3), Tag(0)));
    let is_linearizable = |retracted, done| {
        let calls = [
            call(0, Event::Arrive(unknown_source(1)), Outcome::Arrived(Ok(None))),
            call(
                2,
                Event::Readdress(unknown_source(1), Rank(3)),
                Outcome::Readdressed(Ok(Readdressed::SourceSet)),
            ),
            call(4, Event::Retract(retracted), Outcome::Done(done)),
        ];
        Search::new("locked", &[], &calls, 1000).run().expect("the search completes")
    };
    assert!(is_linearizable(unknown_source(1), true) && is_linearizable(unknown_source(1), false));
    assert!(is_linearizable(with_source, true) && !is_linearizable(with_source, false));
}
