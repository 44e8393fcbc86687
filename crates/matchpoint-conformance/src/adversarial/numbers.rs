//! Adversarial streams of special numbers: single bits, extreme values, many distinct values.

use matchpoint::{ContextId, Event, Rank, Tag, TagMask, Wild};

use super::{ANY_SOURCE, ANY_TAG, Script, from, tagged};
use crate::choices::Choices;

/// No bits, all bits, or some bits, selected by `n`.
fn base_bits(n: u64) -> u64 {
    [0, u64::MAX, 0x5A0F_3C69_A5F0_C396][n as usize % 10 % 3]
}

fn for_each_bit_pair(base: u64, bits: u32, each: &mut dyn FnMut(u64, u64)) {
    (0..bits).for_each(|bit| each(base, base ^ 1 << bit));
}

/// Two messages have envelopes that differ in one bit. The first receive matches the younger message. An engine
/// that ignores the bit takes the older message.
fn push_one_bit_pair(script: &mut Script, one: (u32, u64, u64), other: (u32, u64, u64)) {
    for (context, source, tag) in [one, other] {
        script.post(context, from(source), tagged(tag));
    }
    for (context, source, tag) in [other, one, one, other] {
        script.arrive(context, source, tag);
    }
    for (context, source, tag) in [other, one] {
        script.post(context, from(source), tagged(tag));
    }
}

pub(super) fn every_bit_of_an_envelope(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post(77, from(at % 5), tagged(at));
    }
    for_each_bit_pair(base_bits(n), 32, &mut |one, other| {
        push_one_bit_pair(script, (one as u32, 1, 1), (other as u32, 1, 1))
    });
    // `u32::MAX` is `Rank::UNKNOWN`.
    let known = |source: u64| source.min(u64::from(u32::MAX) - 1);
    let sources = base_bits(n) & u64::from(u32::MAX);
    for_each_bit_pair(sources, 32, &mut |one, other| {
        push_one_bit_pair(script, (0, known(one), 1), (0, known(other), 1))
    });
    for_each_bit_pair(base_bits(n), 64, &mut |one, other| {
        push_one_bit_pair(script, (0, 1, one), (0, 1, other))
    });
}

/// Pairs of ids that differ in one bit. An engine with shorter ids withdraws, readdresses or returns the
/// wrong entry.
pub(super) fn every_bit_of_an_id(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post_as(1 << 62 | at, 77, from(at % 5), tagged(at));
        script.arrive_as(1 << 61 | at, 78, at % 5, at);
    }
    for_each_bit_pair(base_bits(n), 64, &mut |one, other| {
        script.post_as(one, 0, from(1), tagged(1));
        let receive = script.post_as(other, 0, from(1), tagged(1));
        script.events.extend([Event::Cancel(receive), Event::Cancel(receive)]);
        script.arrive(0, 1, 1);
        script.arrive_as(one, 0, u64::MAX, 1);
        let message = script.arrive_as(other, 0, u64::MAX, 1);
        script.events.push(Event::Readdress(message, Rank(3)));
        script.post(0, from(3), tagged(1));
        script.post(0, ANY_SOURCE, tagged(1));
        script.arrive_as(one, 0, 1, 1);
        let message = script.arrive_as(other, 0, 1, 1);
        script.events.extend([Event::Retract(message), Event::Retract(message)]);
        script.post(0, from(1), ANY_TAG);
    });
}

fn masked(value: u64, ignore: u64) -> Wild<Tag> {
    Wild::Masked(TagMask { value: Tag(value), ignore })
}

/// Masks that compare one bit, or all bits except one.
pub(super) fn every_bit_of_a_mask(script: &mut Script, n: u64) {
    for at in 0..n {
        script.post(77, from(at % 5), tagged(at));
    }
    let base = base_bits(n);
    for bit in 0..64 {
        let (this, next) = (base ^ 1 << bit, base ^ 1 << ((bit + 1) % 64));
        for (ignore, good, bad) in [(1 << bit, this, next), (!(1 << bit), next, this)] {
            let source = if bit % 2 == 0 { ANY_SOURCE } else { from(1) };
            script.post(0, source, masked(base, ignore));
            script.arrive(0, 1, bad);
            script.arrive(0, 1, good);
            script.arrive(0, 1, good);
            script.post(0, source, masked(base, ignore));
            script.post(0, source, tagged(bad));
        }
    }
}

/// More distinct masks than an engine's table of masks may hold.
pub(super) fn distinct_masks(script: &mut Script, n: u64) {
    let mut choices = Choices::Seed(n);
    let mut random = || choices.below(u64::MAX);
    let masks: Vec<_> = (0..4 * n).map(|_| (random(), random() | random(), random())).collect();
    for (at, &(value, ignore, _)) in masks.iter().enumerate() {
        let source = if at % 3 == 0 { ANY_SOURCE } else { from(at as u64 % 2) };
        script.post(0, source, masked(value, ignore));
    }
    for (at, &(value, ignore, noise)) in masks.iter().enumerate().rev() {
        script.arrive(0, at as u64 % 2, value ^ (noise & ignore));
    }
    for &(value, ignore, noise) in masks.iter().step_by(2) {
        let wrong = !ignore & ignore.wrapping_add(1);
        script.arrive(0, 0, value ^ (noise & ignore) ^ wrong);
    }
    for &(value, ignore, _) in masks.iter().rev() {
        script.post(0, ANY_SOURCE, masked(value, ignore));
    }
}

/// Entries in many contexts. Half of the contexts are closed while the others have entries.
pub(super) fn many_contexts(script: &mut Script, n: u64) {
    let context = |at: u64| (at as u32).wrapping_mul(0x9E37_79B1);
    for at in 0..4 * n {
        script.post(context(at), from(1), tagged(1));
        script.post(context(at), ANY_SOURCE, ANY_TAG);
        script.arrive(context(at ^ 1), 2, 2);
    }
    (0..4 * n).step_by(2).for_each(|at| script.close(context(at)));
    for at in (0..4 * n).rev() {
        script.arrive(context(at), 1, 1);
        script.post(context(at), ANY_SOURCE, tagged(2));
    }
    for at in 0..4 * n {
        script.arrive(context(at), 1, 2);
    }
}

/// Sources with a stride: one process of each node, or addresses instead of ranks.
pub(super) fn strided_ranks(script: &mut Script, n: u64) {
    for stride in [3, 24, 64, 4096, 1 << 16, 1 << 24] {
        let rank = |at: u64| at.saturating_mul(stride).min(u64::from(u32::MAX) - 1);
        for at in 0..n {
            script.post(0, from(rank(at)), tagged(at % 2));
            script.post(0, ANY_SOURCE, tagged(2));
        }
        for at in (0..n).rev() {
            script.arrive(0, rank(at), 2);
            script.arrive(0, rank(at), at % 2);
            script.arrive(0, rank(at), 3);
        }
        for at in (0..n).rev() {
            script.post(0, from(rank(at)), ANY_TAG);
        }
        script.close(0);
    }
}

/// Extreme values, which an engine may use as a sentinel.
pub(super) fn extreme_values(script: &mut Script, n: u64) {
    const EXTREMES: [u64; 16] = [
        0,
        1,
        0x7F,
        0xFF,
        0x7FFF,
        0xFFFF,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFE,
        0xFFFF_FFFF,
        0x1_0000_0000,
        i64::MAX as u64,
        1 << 63,
        0xFFFF_FFFF_8000_0000,
        u64::MAX - 1,
        u64::MAX,
    ];
    // `u32::MAX` is `Rank::UNKNOWN`.
    let source = |at: usize| EXTREMES[at % (EXTREMES.len() - 1)].min(u64::from(u32::MAX) - 1);
    for round in 0..n.min(3) as usize {
        let context = EXTREMES[round + 8] as u32;
        for (at, &tag) in EXTREMES.iter().enumerate() {
            script.post(context, from(source(at + round)), tagged(tag));
            script.post(context, from(source(at)), tagged(7));
        }
        for (at, &tag) in EXTREMES.iter().enumerate().rev() {
            script.arrive(context, source(at), 7);
            script.arrive(context, source(at + round), tag);
            script.arrive(context, source(at), tag);
        }
        for at in (0..EXTREMES.len() - 1).rev() {
            script.post(context, from(source(at)), ANY_TAG);
        }
        for _ in 0..2 {
            script.post(context, ANY_SOURCE, ANY_TAG);
        }
        for &id in &EXTREMES {
            script.post_as(id, context, from(5), tagged(5));
            script.arrive_as(id, context, 6, 6);
        }
        for &id in EXTREMES.iter().rev() {
            script.arrive_as(id, context, 5, 5);
        }
        script.close(context);
        script.events.push(Event::FailSource(ContextId(context), Rank(0xFFFF_FFFE)));
    }
}

/// Ids that the caller reuses at once, as a request table does.
pub(super) fn reused_ids(script: &mut Script, n: u64) {
    for round in 0..4 * n {
        let (id, tag) = (1 + round % 3, round % 5);
        let receive = script.post_as(id, 0, if round % 4 == 0 { ANY_SOURCE } else { from(1) }, tagged(tag));
        let message = script.arrive_as(id, 0, 2, tag);
        match round % 4 {
            0 => {}
            1 => script.events.push(Event::Cancel(receive)),
            2 => script.events.extend([Event::Retract(message), Event::Cancel(receive)]),
            _ => _ = script.arrive_as(10 + id, 0, 1, tag),
        }
        script.post_as(20, 0, from(2), tagged(tag));
        script.arrive_as(20, 0, 2, tag);
    }
}
