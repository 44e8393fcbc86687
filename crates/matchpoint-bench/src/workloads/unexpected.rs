//! Workloads with arrivals before posts: searches of the unexpected queue.

use super::{PER_SOURCE, per_source};
use crate::random::{Random, SEED, shuffled};
use crate::script::{ANY, Form, Key, Part, Phase};

const GATHERED: usize = 64;

fn late(messages: Vec<Key>, receives: Vec<Key>) -> Part {
    Part::of(vec![Phase::arrivals(messages, 0), Phase::posts(receives, 0)])
}

/// Tags 0…n−1 of source 0.
pub fn one_source(n: usize) -> Part {
    let messages: Vec<Key> = (0..n).map(|tag| Key::new(0, tag)).collect();
    late(messages.clone(), shuffled(messages))
}

/// Tags 0…3 of each of n/4 sources, source by source.
pub fn sources(n: usize) -> Part {
    let messages: Vec<Key> = (0..n).map(|at| Key::new(at / PER_SOURCE, at % PER_SOURCE)).collect();
    late(messages.clone(), shuffled(messages))
}

/// Tags 0…n−1, four of each of n/4 sources, received from any source.
pub fn any_source(n: usize) -> Part {
    let messages: Vec<Key> = (0..n).map(|at| Key::new(at / PER_SOURCE, at)).collect();
    let receives = shuffled(messages.clone()).into_iter().map(|key| Key { source: ANY, ..key }).collect();
    late(messages, receives)
}

/// Four messages for each of n masks. Receives are posted in random order.
pub fn masks(n: usize) -> Part {
    late(per_source(n), shuffled(per_source(n))).of_form(Form::Masks)
}

/// Tags 0…63 of each source. Sources are interleaved at random, and tags of a source are in order.
pub fn gather(n: usize) -> Part {
    gathered(n, |message| message)
}

/// [`gather`] with tag 0 only.
pub fn gather_one_tag(n: usize) -> Part {
    gathered(n, |_| 0)
}

fn gathered(sources: usize, tag: fn(usize) -> usize) -> Part {
    let mut arriving: Vec<usize> = (0..sources * GATHERED).map(|at| at / GATHERED).collect();
    Random::new(SEED).shuffle(&mut arriving);
    let mut sent = vec![0; sources];
    let messages = arriving.into_iter().map(|source| {
        sent[source] += 1;
        Key::new(source, tag(sent[source] - 1))
    });
    let receives = (0..sources * GATHERED).map(|at| Key::new(at / GATHERED, tag(at % GATHERED)));
    late(messages.collect(), receives.collect())
}
