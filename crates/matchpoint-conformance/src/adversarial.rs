//! Adversarial streams: each targets one mistake that an engine made or could make.

mod numbers;

use matchpoint::{
    ContextId, Envelope, Event, Hints, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, TagMask, Wild,
};

/// Name of a stream, and a function that writes the stream with about `n` entries in a queue.
pub type Scenario = (&'static str, fn(&mut Script, u64));

pub const SCENARIOS: &[Scenario] = &[
    ("duplicates", duplicates),
    ("reverse order", reverse_order),
    ("any source before directed", any_source_before_directed),
    ("directed before any source", directed_before_any_source),
    ("cancel in reverse", cancel_in_reverse),
    ("retract in reverse", retract_in_reverse),
    ("many wildcards", many_wildcards),
    ("colliding keys", colliding_keys),
    ("contexts closed and reused", contexts_closed_and_reused),
    ("negative tags", negative_tags),
    ("late sources", late_sources),
    ("failed sources", failed_sources),
    ("last entry removed", last_entry_removed),
    ("batches with refused message", batches_with_refused_message),
    ("probes", probes),
    ("distant wildcard and exact receives", distant_entries),
    ("unknown sources", unknown_sources),
    ("envelopes that differ in one bit", numbers::every_bit_of_an_envelope),
    ("ids that differ in one bit", numbers::every_bit_of_an_id),
    ("masks with or without one bit", numbers::every_bit_of_a_mask),
    ("distinct masks", numbers::distinct_masks),
    ("many contexts", numbers::many_contexts),
    ("strided ranks", numbers::strided_ranks),
    ("extreme values", numbers::extreme_values),
    ("reused ids", numbers::reused_ids),
];

pub fn events(scenario: &Scenario, n: u64) -> Vec<Event> {
    let mut script = Script::default();
    scenario.1(&mut script, n);
    script.events
}

#[derive(Default)]
pub struct Script {
    events: Vec<Event>,
    receives: u64,
    messages: u64,
}

const ANY_TAG: Wild<Tag> = Wild::Any;
const ANY_SOURCE: Wild<Rank> = Wild::Any;

fn from(source: u64) -> Wild<Rank> {
    Wild::Is(Rank(source as u32))
}

fn tagged(tag: u64) -> Wild<Tag> {
    Wild::Is(Tag(tag))
}

impl Script {
    fn post(&mut self, context: u32, source: Wild<Rank>, tag: Wild<Tag>) -> Receive {
        self.receives += 1;
        self.post_as(self.receives, context, source, tag)
    }

    fn post_as(&mut self, id: u64, context: u32, source: Wild<Rank>, tag: Wild<Tag>) -> Receive {
        let receive = Receive::new(RecvId(id), Selector::new(ContextId(context), source, tag));
        self.events.push(Event::Post(receive));
        receive
    }

    fn message(&mut self, context: u32, source: u64, tag: u64) -> Message {
        self.messages += 1;
        let envelope = Envelope::new(ContextId(context), Rank(source as u32), Tag(tag));
        Message::new(MsgId(self.messages), envelope)
    }

    fn arrive_as(&mut self, id: u64, context: u32, source: u64, tag: u64) -> Message {
        let envelope = Envelope::new(ContextId(context), Rank(source as u32), Tag(tag));
        let message = Message::new(MsgId(id), envelope);
        self.events.push(Event::Arrive(message));
        message
    }

    fn arrive(&mut self, context: u32, source: u64, tag: u64) -> Message {
        let message = self.message(context, source, tag);
        self.events.push(Event::Arrive(message));
        message
    }

    fn set_hints(&mut self, context: u32, hints: Hints) {
        self.events.push(Event::SetHints(ContextId(context), hints));
    }

    fn close(&mut self, context: u32) {
        self.events.push(Event::Close(ContextId(context)));
    }
}

fn duplicates(script: &mut Script, n: u64) {
    for _ in 0..2 {
        for _ in 0..n {
            script.post(0, from(1), tagged(1));
        }
        for _ in 0..2 * n {
            script.arrive(0, 1, 1);
        }
        for _ in 0..n {
            script.post(0, from(1), tagged(1));
        }
    }
}

fn reverse_order(script: &mut Script, n: u64) {
    for tag in 0..n {
        script.post(0, from(tag % 3), tagged(tag));
    }
    for tag in (0..n).rev() {
        script.arrive(0, tag % 3, tag);
    }
    for tag in 0..n {
        script.arrive(0, tag % 3, tag);
    }
    for tag in (0..n).rev() {
        script.post(0, from(tag % 3), tagged(tag));
    }
}

/// libfabric's `util_srx`: a directed receive took the message of an earlier any-source receive.
fn any_source_before_directed(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post(0, ANY_SOURCE, tagged(0));
        script.post(0, from(at % 4), tagged(0));
    }
    for at in 0..2 * n {
        script.arrive(0, at % 4, 0);
    }
}

fn directed_before_any_source(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post(0, from(at % 4), tagged(0));
        script.post(0, ANY_SOURCE, ANY_TAG);
        script.post(0, from(at % 2), ANY_TAG);
    }
    for at in 0..3 * n {
        script.arrive(0, at % 4, at % 2);
    }
}

fn cancel_in_reverse(script: &mut Script, n: u64) {
    let any = |at: u64| if at % 5 == 0 { ANY_SOURCE } else { from(at % 3) };
    let receives: Vec<_> = (0..n).map(|at| script.post(0, any(at), tagged(at % 2))).collect();
    for &receive in receives.iter().rev().step_by(2).chain(&receives) {
        script.events.push(Event::Cancel(receive));
    }
    script.arrive(0, 0, 0);
}

fn retract_in_reverse(script: &mut Script, n: u64) {
    let messages: Vec<_> = (0..n).map(|at| script.arrive(0, at % 3, at % 2)).collect();
    for &message in messages.iter().rev().step_by(2) {
        script.events.push(Event::Retract(message));
    }
    for _ in 0..n / 3 {
        script.post(0, ANY_SOURCE, ANY_TAG);
    }
    messages.iter().for_each(|&message| script.events.push(Event::Retract(message)));
}

fn many_wildcards(script: &mut Script, n: u64) {
    let masked = Wild::Masked(TagMask { value: Tag(4), ignore: 3 });
    let wildcards = |at: u64| {
        let source = if at & 1 == 0 { ANY_SOURCE } else { from(at % 3) };
        (source, [tagged(at % 8), ANY_TAG, masked][at as usize / 2 % 3])
    };
    for at in (0..n).map(wildcards) {
        script.post(0, at.0, at.1);
    }
    for at in 0..2 * n {
        script.arrive(0, at % 3, at % 8);
    }
    for at in (0..2 * n).map(wildcards) {
        script.post(0, at.0, at.1);
    }
}

/// Keys that collide in a hash by exclusive or, by addition, of the low byte, or of the low word.
fn colliding_keys(script: &mut Script, n: u64) {
    let colliding =
        |at: u64| [(at, at ^ 0x55), (at, n - at), (at << 8, 7), (7, at << 8), (at << 32, 0), (0, at << 32)];
    let keys: Vec<_> = (0..n.div_ceil(6)).flat_map(colliding).collect();
    for &(source, tag) in keys.iter() {
        script.post(0, from(source), tagged(tag));
    }
    for &(source, tag) in keys.iter().rev() {
        script.arrive(0, source, tag);
    }
    for &(source, tag) in keys.iter() {
        script.arrive(1, source, tag);
    }
    for &(source, tag) in keys.iter() {
        script.post(1, from(source), tagged(tag));
    }
}

fn contexts_closed_and_reused(script: &mut Script, n: u64) {
    for round in 0..4 {
        for at in 0..n / 4 {
            script.post(at as u32 % 3, if at % 4 == 0 { ANY_SOURCE } else { from(at % 2) }, tagged(1));
            script.arrive(3 + at as u32 % 3, at % 2, 1);
        }
        script.set_hints(round, Hints { no_any_tag: true, no_any_source: round > 1, ..Hints::default() });
        script.close(round);
        script.close(3 + round);
        script.arrive(round, 0, 1);
        script.post(round, ANY_SOURCE, ANY_TAG);
        script.post(round, ANY_SOURCE, ANY_TAG);
    }
}

/// Open MPI's collectives use negative tags on the user's context, which `MPI_ANY_TAG` must not match.
fn negative_tags(script: &mut Script, n: u64) {
    let any_user_tag = Wild::Masked(TagMask { value: Tag(0), ignore: u64::MAX >> 1 });
    let negative = |at: u64| (-17i64 - at as i64) as u64;
    for at in 0..n / 2 {
        script.post(0, ANY_SOURCE, any_user_tag);
        script.post(0, from(at % 2), tagged(negative(at % 3)));
        script.arrive(0, at % 2, negative(at % 4));
        script.arrive(0, at % 2, at);
    }
    for _ in 0..n {
        script.post(0, ANY_SOURCE, ANY_TAG);
    }
}

fn late_sources(script: &mut Script, n: u64) {
    let messages: Vec<_> =
        (0..n).map(|at| script.arrive(0, if at % 3 == 0 { at % 2 } else { u64::MAX }, at % 2)).collect();
    for at in 0..=n / 8 {
        script.post(0, from(9), if at % 2 == 0 { ANY_TAG } else { tagged(at / 2 % 2) });
    }
    for (at, &message) in messages.iter().enumerate().rev() {
        script.events.push(Event::Readdress(message, Rank([0, 1, 9, u32::MAX][at % 4])));
    }
    for at in 0..n {
        script.post(0, if at % 4 == 0 { ANY_SOURCE } else { from(at % 2) }, tagged(at % 2));
    }
}

fn failed_sources(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post(at as u32 % 2, if at % 3 == 0 { ANY_SOURCE } else { from(at % 4) }, tagged(at % 2));
        script.arrive(at as u32 % 2, 4 + at % 2, 2);
    }
    for source in [1, 4, 7] {
        script.events.push(Event::FailSource(ContextId(0), Rank(source)));
    }
    for at in 0..n {
        script.arrive(0, at % 4, at % 2);
    }
    for at in 0..n {
        script.post(0, from(4 + at % 2), ANY_TAG);
    }
}

/// Another MPI library's hash map lost entries when the last entry was removed.
fn last_entry_removed(script: &mut Script, n: u64) {
    for _ in 0..n.div_ceil(4) {
        script.arrive(0, 1, 1);
        script.arrive(0, 1, 2);
        script.post(0, from(1), tagged(2));
        script.post(0, from(1), tagged(1));
        script.post(0, from(1), tagged(1));
        let last = script.post(0, from(1), tagged(1));
        script.events.push(Event::Cancel(last));
        script.post(0, from(1), tagged(1));
        script.arrive(0, 1, 1);
        script.arrive(0, 1, 1);
    }
}

fn batches_with_refused_message(script: &mut Script, n: u64) {
    for round in 0..n.div_ceil(8) {
        let no_unexpected = round % 2 == 1;
        script.set_hints(0, Hints { no_unexpected, ..Hints::default() });
        for tag in 0..3 {
            script.post(0, ANY_SOURCE, tagged(tag));
        }
        script.post(0, ANY_SOURCE, ANY_TAG);
        let batch = [2, 0, 0, 5, 1, 1].map(|tag| script.message(0, tag % 2, tag)).to_vec();
        script.events.push(Event::ArriveBatch(batch));
        for _ in 0..3 {
            script.post(0, ANY_SOURCE, ANY_TAG);
        }
        script.close(0);
    }
}

fn probes(script: &mut Script, n: u64) {
    for at in 0..n {
        script.arrive(0, at % 4, at % 3);
    }
    for at in 0..n {
        let source = if at % 2 == 0 { ANY_SOURCE } else { from(at % 4) };
        let selector = Selector::new(ContextId(0), source, tagged(at % 3));
        script.events.extend([Event::Probe(selector), Event::Probe(selector)]);
        if at % 3 == 0 {
            script.events.push(Event::MatchedProbe(selector));
        } else {
            script.post(0, source, tagged(at % 3));
        }
    }
}

/// The oldest and the youngest matching receive are far apart, so an engine with blocks of entries must
/// compare blocks.
fn distant_entries(script: &mut Script, n: u64) {
    let any = (ANY_SOURCE, tagged(5));
    let exact = (from(1), tagged(5));
    for (old, young) in [(any, exact), (exact, any), (any, (from(1), ANY_TAG)), ((from(1), ANY_TAG), exact)] {
        script.post(0, old.0, old.1);
        for at in 0..n {
            script.post(0, from(1 + at % 2), tagged(9));
        }
        script.post(0, young.0, young.1);
        script.arrive(0, 1, 5);
        script.arrive(0, 1, 5);
        for at in 0..n {
            script.arrive(0, 1 + at % 2, 9);
        }
        script.arrive(0, 1, 5);
        for at in 0..n {
            script.arrive(0, 1 + at % 2, 9);
        }
        script.arrive(0, 1, 5);
        script.post(0, young.0, young.1);
        script.post(0, old.0, old.1);
        script.close(0);
    }
}

/// Messages with an unknown source keep their order, because all may have the same source. Receives that
/// match these messages keep the posted order. Receives with a source do not change the order.
fn unknown_sources(script: &mut Script, n: u64) {
    let unknown = Rank::UNKNOWN.0;
    for at in 0..n {
        script.arrive(0, unknown.into(), 1);
        script.arrive(0, at % 3, 1);
    }
    for at in 0..n {
        script.post(0, from(at % 3), tagged(1));
    }
    for at in 0..n {
        script.post(0, ANY_SOURCE, if at % 2 == 0 { ANY_TAG } else { tagged(1) });
    }
    let messages: Vec<_> = (0..n).map(|at| script.arrive(0, unknown.into(), at % 2)).collect();
    for &message in messages.iter().rev().step_by(3) {
        script.events.push(Event::Readdress(message, Rank(7)));
    }
    for at in 0..n {
        script.post(0, if at % 3 == 0 { from(7) } else { ANY_SOURCE }, tagged(at % 2));
    }
    for at in 0..n {
        script.post(1, if at % 3 == 0 { from(7) } else { ANY_SOURCE }, ANY_TAG);
    }
    (0..n).for_each(|_| _ = script.arrive(1, unknown.into(), 0));
}
