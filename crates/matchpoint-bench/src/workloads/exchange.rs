//! Workloads of regular codes.

use crate::random::{Random, SEED};
use crate::script::{Key, Part, Phase};

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
