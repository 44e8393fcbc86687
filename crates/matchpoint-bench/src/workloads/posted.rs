//! Workloads with posts before arrivals: searches of the posted queue.

use super::{PER_SOURCE, per_source};
use crate::model::Model;
use crate::random::{Random, SEED, shuffled};
use crate::script::{ANY, Form, Key, Part, Phase};

const PAIRS: usize = 256;

/// One of this many receives has any source, and one has any tag.
const WILD: usize = 100;

/// Tags 0…n−1 stay posted. The receive of tag n and its message alternate.
pub fn last(n: usize) -> Part {
    behind((0..n).map(|tag| Key::new(0, tag)).collect(), Key::new(0, n))
}

/// Sources 0…n−1 stay posted, all with tag 0.
pub fn last_sources(n: usize) -> Part {
    behind((0..n).map(|source| Key::new(source, 0)).collect(), Key::new(n, 0))
}

fn behind(setup: Vec<Key>, key: Key) -> Part {
    let first_id = setup.len();
    Part {
        setup: vec![Phase::posts(setup, 0)],
        round: vec![Phase::pairs(vec![key; PAIRS], first_id)],
        ..Part::default()
    }
}

fn exchange(receives: Vec<Key>, messages: Vec<Key>) -> Part {
    Part::of(vec![Phase::posts(receives, 0), Phase::arrivals(messages, 0)])
}

fn tags(n: usize) -> Vec<Key> {
    (0..n).map(|tag| Key::new(0, tag)).collect()
}

/// One source, tags 0…n−1.
pub fn in_order(n: usize) -> Part {
    exchange(tags(n), tags(n))
}

/// One source, tags 0…n−1, arriving n−1…0.
pub fn reverse(n: usize) -> Part {
    exchange(tags(n), tags(n).into_iter().rev().collect())
}

/// Source and tag 0, n times.
pub fn identical(n: usize) -> Part {
    exchange(vec![Key::new(0, 0); n], vec![Key::new(0, 0); n])
}

/// Tags 0…n−1 from any source; tag t has source t mod 64.
pub fn any_source(n: usize) -> Part {
    let receives = (0..n).map(|tag| Key { source: ANY, ..Key::new(0, tag) }).collect();
    exchange(receives, shuffled((0..n).map(|tag| Key::new(tag % 64, tag)).collect()))
}

/// Tags 0…3 in each of n communicators, communicator by communicator. Messages arrive in random order.
pub fn contexts(n: usize) -> Part {
    exchange(per_source(n), shuffled(per_source(n))).of_form(Form::Contexts)
}

/// 4 receives with each of n masks, mask by mask. Messages arrive in random order.
pub fn masks(n: usize) -> Part {
    exchange(per_source(n), shuffled(per_source(n))).of_form(Form::Masks)
}

/// Tags 0…3, source by source.
pub fn many_sources(n: usize) -> Part {
    exchange(per_source(n), shuffled(per_source(n)))
}

/// [`many_sources`] with wildcards at random positions. A wildcard receive may take the message of another receive. The
/// end of the round matches the rest.
pub fn wild(n: usize) -> Part {
    let mut receives = per_source(n);
    let mut random = Random::new(SEED ^ 1);
    for receive in &mut receives {
        match random.below(WILD) {
            0 => receive.source = ANY,
            1 => receive.tag = ANY,
            _ => {}
        }
    }
    let mut part = exchange(receives, shuffled(per_source(n)));
    let mut model = Model::default();
    for phase in &part.round {
        model.play(phase, &mut Vec::new());
    }
    let (messages, receives) = (model.messages(), model.receives());
    part.round.push(Phase::posts(messages, PER_SOURCE * n));
    part.round.push(Phase::arrivals(receives, PER_SOURCE * n));
    part
}

const EXCHANGES: usize = 16;

/// Tags of a neighbour in an exchange, one for each field.
const TAGS: usize = 3;

/// Receives are posted neighbour by neighbour. Messages of neighbours arrive interleaved at random, and those of one
/// neighbour in the order of the tags.
pub fn halo(n: usize) -> Part {
    let mut random = Random::new(SEED);
    let receives: Vec<Key> = (0..n * TAGS).map(|at| Key::new(at / TAGS, at % TAGS)).collect();
    let mut round = Vec::new();
    for _ in 0..EXCHANGES {
        let mut arriving: Vec<usize> = (0..n * TAGS).map(|at| at / TAGS).collect();
        random.shuffle(&mut arriving);
        let mut sent = vec![0; n];
        let messages = arriving.into_iter().map(|source| {
            sent[source] += 1;
            Key::new(source, sent[source] - 1)
        });
        let messages = messages.collect();
        round.push(Phase::posts(receives.clone(), 0));
        round.push(Phase::arrivals(messages, 0));
    }
    Part::of(round)
}
