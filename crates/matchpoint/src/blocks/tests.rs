//! Tests of queues in blocks: comparison with a `Vec`, with every available kernel.

use std::collections::HashMap;
use std::ptr;

use super::*;
use crate::effort::Attempts;
use crate::engine::Queue;
use crate::scan::{InstructionSet, Kernel, Lanes};

#[derive(Clone, Copy, PartialEq, Debug)]
struct Number(u32);

struct Low([u8; LANES]);

impl Default for Low {
    fn default() -> Self {
        Low([0; LANES])
    }
}

impl Keys<Number, ()> for Low {
    fn set(&mut self, _: &(), lane: usize, entry: &Number) {
        self.0[lane] = entry.0 as u8;
    }
}

impl Pattern<Number, Low> for Number {
    type Key = u8;

    #[inline(always)]
    fn key(&self) -> u8 {
        self.0 as u8
    }

    #[inline(always)]
    fn candidates<L: Lanes>(lanes: L, keys: &Low, key: u8) -> u64 {
        lanes.equal_u8(&keys.0, key)
    }

    #[inline(always)]
    fn matches(&self, entry: &Number) -> bool {
        self == entry
    }
}

type Numbers = Blocks<Number, Low>;

fn all_values(queue: &Numbers) -> Vec<Number> {
    queue.iter().map(|(_, at)| *queue.get(at)).collect()
}

fn assert_invariants(queue: &Numbers) {
    let counts: Vec<u32> = (queue.front..queue.order.len()).map(|at| queue.count(at)).collect();
    assert_eq!(counts.iter().sum::<u32>() as usize, queue.stored);
    for pair in counts.windows(2) {
        assert!(pair[0] > 0 && pair[1] > 0 && pair[0] + pair[1] > SPARSE, "{counts:?}");
    }
    let ages: Vec<u64> = queue.iter().map(|(age, _)| age).collect();
    assert!(ages.is_sorted_by(|a, b| a < b), "{ages:?}");
}

fn play(kernel: Kernel, steps: u32, mut choose: impl FnMut(u32) -> u32) {
    let (mut queue, mut plain) = (Numbers::default(), Vec::new());
    let (mut effort, mut false_hits, mut examined) = (Attempts::default(), Attempts::default(), 0);
    for step in 0..steps {
        let wanted = Number(choose(600));
        if choose(100) < if step % 2000 < 1000 { 60 } else { 40 } {
            queue.push(&(), wanted).unwrap();
            plain.push(wanted);
        } else if choose(10) == 0 && !plain.is_empty() {
            let at = choose(plain.len() as u32) as usize;
            let slot = queue.iter().nth(at).expect("the index is in bounds").1;
            queue.remove(slot);
            queue.compact(&());
            plain.remove(at);
        } else {
            let found = queue.find(kernel, Queue::Posted, &wanted, &mut effort, &mut false_hits);
            let expected = plain.iter().position(|other| *other == wanted);
            examined += expected.map_or(plain.len(), |at| at + 1) as u64;
            assert_eq!(found.map(|found| *queue.get(found.slot)), expected.map(|at| plain[at]));
            if let (Some(found), Some(at)) = (found, expected) {
                queue.take(&(), found);
                plain.remove(at);
            }
        }
        assert_eq!(queue.len(), plain.len());
        assert_eq!(effort.posted, examined, "attempts equal those of a list");
        if step % 16 == 0 {
            assert_eq!(all_values(&queue), plain);
            assert_invariants(&queue);
        }
    }
}

#[test]
fn blocks_match_vector_on_all_kernels() {
    for kernel in InstructionSet::available().filter_map(Kernel::of) {
        let mut state = 1u64;
        play(kernel, if cfg!(miri) { 600 } else { 20_000 }, |bound| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(bound)) as u32
        });
    }
}

#[test]
fn sparse_blocks_are_merged() {
    let kernel = Kernel::named("scalar").unwrap();
    let mut queue = Numbers::default();
    for number in 0..if cfg!(miri) { 300 } else { 64 * 64 } {
        queue.push(&(), Number(number)).unwrap();
        if number % 100 != 0 && number > 10 {
            let removed = Number(number - (number % 100).min(10) + 1);
            let (mut a, mut b) = ((), ());
            if let Some(found) = queue.find(kernel, Queue::Posted, &removed, &mut a, &mut b) {
                queue.take(&(), found);
            }
        }
        assert_invariants(&queue);
    }
    let (entries, blocks) = (queue.len(), queue.order().len());
    assert!(entries < 500 && blocks * 32 < entries + 64, "{entries} entries in {blocks} blocks");
    assert!(queue.blocks.len() <= blocks + 2, "{} blocks were allocated", queue.blocks.len());
}

#[test]
fn freed_blocks_are_reused() {
    let mut queue = Numbers::default();
    let kernel = Kernel::named("scalar").unwrap();
    let mut bytes = None;
    for round in 0..if cfg!(miri) { 5 } else { 2000 } {
        for number in 0..100 {
            queue.push(&(), Number(round + number)).unwrap();
        }
        for number in 0..100 {
            let found = queue.find(kernel, Queue::Posted, &Number(round + number), &mut (), &mut ()).unwrap();
            queue.take(&(), found);
        }
        assert_eq!(queue.bytes(), *bytes.get_or_insert(queue.bytes()));
    }
}

fn block_numbers(queue: &Numbers) -> HashMap<usize, u32> {
    queue.order().iter().map(|number| (ptr::from_ref(number).addr(), *number)).collect()
}

fn count_written_numbers(queue: &mut Numbers, call: impl FnOnce(&mut Numbers)) -> usize {
    let old = block_numbers(queue);
    call(queue);
    block_numbers(queue).iter().filter(|(address, number)| old.get(address) != Some(number)).count()
}

fn take(queue: &mut Numbers, number: u32) {
    let kernel = Kernel::named("scalar").unwrap();
    let found =
        queue.find(kernel, Queue::Posted, &Number(number), &mut (), &mut ()).expect("the entry is queued");
    queue.take(&(), found);
}

#[test]
fn removal_moves_at_most_two_numbers() {
    let blocks = if cfg!(miri) { 5 } else { 100 };
    let last = blocks * LANES as u32;
    let mut queue = Numbers::default();
    (0..=last).for_each(|number| queue.push(&(), Number(number)).unwrap());
    // All entries except the oldest, from the front.
    for number in 1..last - LANES as u32 {
        let moved = count_written_numbers(&mut queue, |queue| take(queue, number));
        assert!(
            moved <= 2,
            "removal of entry {number} from the first or second block moved {moved} block numbers"
        );
    }
    // All entries except the oldest and the newest, from the back.
    let mut queue = Numbers::default();
    (0..=last).for_each(|number| queue.push(&(), Number(number)).unwrap());
    for number in (1..last).rev() {
        let moved = count_written_numbers(&mut queue, |queue| take(queue, number));
        assert!(moved <= 2, "removal of entry {number} from the last blocks moved {moved} block numbers");
    }
}

#[test]
fn push_moves_each_block_number_once() {
    // One block fewer than the capacity of `order`.
    let blocks = if cfg!(miri) { 7 } else { 127 };
    let mut queue = Numbers::default();
    (0..blocks * LANES as u32).for_each(|number| queue.push(&(), Number(number)).unwrap());
    let bytes = queue.bytes();
    let mut moved = 0;
    let created = 4 * blocks;
    for number in 0..created * LANES as u32 {
        moved += count_written_numbers(&mut queue, |queue| {
            queue.push(&(), Number(blocks * LANES as u32 + number)).unwrap();
            take(queue, number);
        });
    }
    // Each number is written once and moved once. If `order` grows, all numbers move.
    assert!(moved <= (2 * created + blocks + 1) as usize, "{created} new blocks moved {moved} block numbers");
    assert!(queue.bytes() < bytes + bytes / 16, "memory grew from {bytes} to {} bytes", queue.bytes());
}

#[test]
fn emptied_queue_is_reusable() {
    let mut queue = Numbers::default();
    for round in 0..3 {
        let numbers = 1000 * round..1000 * round + 200;
        numbers.clone().for_each(|number| queue.push(&(), Number(number)).unwrap());
        numbers.clone().take(70).for_each(|number| take(&mut queue, number));
        let slots: Vec<SlotIndex> = queue.iter().map(|(_, slot)| slot).collect();
        slots.into_iter().for_each(|slot| queue.remove(slot));
        queue.compact(&());
        assert_invariants(&queue);
        assert_eq!(all_values(&queue), []);
    }
}
