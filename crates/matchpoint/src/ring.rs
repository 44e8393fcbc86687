//! A lock-free ring buffer with one producer and one consumer.
//!
//! ```text
//! taken ▼               ▼ put
//! …  –  a  b  c  d  e  –  –  –  …     slots are numbered without wrap; the index is the remainder
//! ```
//!
//! The producer writes `put`, the consumer `taken` (release, acquire). Slots from `taken` to `put` are full.
//! Each side caches the other side's counter, so cache lines rarely move.

#![allow(unsafe_code)]

use std::sync::Arc;

use crate::engine::Refused;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};

#[repr(align(128))]
struct CacheAligned<T>(T);

/// With `RELEASES` false, the loom models must detect the missing release.
struct Ring<T, const RELEASES: bool> {
    slots: Box<[UnsafeCell<Option<T>>]>,
    put: CacheAligned<AtomicUsize>,
    taken: CacheAligned<AtomicUsize>,
}

// SAFETY: the counters give a slot to one side at a time. Sender and receiver cannot be copied.
unsafe impl<T: Send, const RELEASES: bool> Sync for Ring<T, RELEASES> {}
// SAFETY: the ring owns values of `T: Send` only.
unsafe impl<T: Send, const RELEASES: bool> Send for Ring<T, RELEASES> {}

pub(crate) struct Sender<T, const RELEASES: bool = true> {
    ring: Arc<Ring<T, RELEASES>>,
    put: usize,
    /// The last loaded `taken`.
    seen: usize,
}

pub(crate) struct Receiver<T, const RELEASES: bool = true> {
    ring: Arc<Ring<T, RELEASES>>,
    taken: usize,
    /// The last loaded `put`.
    seen: usize,
}

/// Allocates a ring with at least `slots` slots.
pub(crate) fn ring<T: Send>(slots: usize) -> Result<(Sender<T>, Receiver<T>), Refused> {
    create_ends(slots)
}

type Ends<T, const RELEASES: bool> = (Sender<T, RELEASES>, Receiver<T, RELEASES>);

fn create_ends<T: Send, const RELEASES: bool>(slots: usize) -> Result<Ends<T, RELEASES>, Refused> {
    let count = slots.max(1).next_power_of_two();
    let mut slots = Vec::new();
    slots.try_reserve_exact(count).map_err(|_| Refused::Memory)?;
    slots.extend((0..count).map(|_| UnsafeCell::new(None)));
    let ring = Arc::new(Ring {
        slots: slots.into_boxed_slice(),
        put: CacheAligned(AtomicUsize::new(0)),
        taken: CacheAligned(AtomicUsize::new(0)),
    });
    let other = Arc::clone(&ring);
    Ok((Sender { ring, put: 0, seen: 0 }, Receiver { ring: other, taken: 0, seen: 0 }))
}

impl<T, const RELEASES: bool> Ring<T, RELEASES> {
    fn slot(&self, number: usize) -> &UnsafeCell<Option<T>> {
        &self.slots[number & (self.slots.len() - 1)]
    }
}

impl<T, const RELEASES: bool> Sender<T, RELEASES> {
    #[inline]
    pub(crate) fn put(&mut self, value: T) -> Result<(), T> {
        if self.put.wrapping_sub(self.seen) == self.ring.slots.len() {
            // Pairs with the release in `take`.
            self.seen = self.ring.taken.0.load(Ordering::Acquire);
            if self.put.wrapping_sub(self.seen) == self.ring.slots.len() {
                return Err(value);
            }
        }
        // SAFETY: `taken` shows the slot as empty; the consumer reads it after the store of `put`.
        self.ring.slot(self.put).with_mut(|at| unsafe { *at = Some(value) });
        self.put = self.put.wrapping_add(1);
        // Pairs with the acquire in `take`.
        self.ring.put.0.store(self.put, release(RELEASES));
        Ok(())
    }

    pub(crate) fn has_room(&mut self, more: usize) -> bool {
        let room = |sender: &Self| sender.ring.slots.len() - sender.put.wrapping_sub(sender.seen);
        if room(self) < more {
            // Pairs with the release in `take`.
            self.seen = self.ring.taken.0.load(Ordering::Acquire);
        }
        room(self) >= more
    }

    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<Ring<T, RELEASES>>() + self.ring.slots.len() * size_of::<UnsafeCell<Option<T>>>()) as u64
    }
}

impl<T, const RELEASES: bool> Receiver<T, RELEASES> {
    pub(crate) fn slots(&self) -> usize {
        self.ring.slots.len()
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        if self.taken == self.seen {
            // Pairs with the release in `put`.
            self.seen = self.ring.put.0.load(Ordering::Acquire);
            if self.taken == self.seen {
                return None;
            }
        }
        // SAFETY: `put` shows the slot as full; the producer writes it after the store of `taken`.
        let value = self.ring.slot(self.taken).with_mut(|at| unsafe { (*at).take() });
        self.taken = self.taken.wrapping_add(1);
        // Pairs with the acquire in `put`.
        self.ring.taken.0.store(self.taken, release(RELEASES));
        value
    }
}

const fn release(releases: bool) -> Ordering {
    if releases { Ordering::Release } else { Ordering::Relaxed }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ring_keeps_order_and_capacity() {
        let (mut sender, mut receiver) = ring(3).unwrap();
        for round in 0..5 {
            assert!((0..4).all(|number| sender.put(round * 4 + number).is_ok()));
            assert_eq!((sender.put(99), sender.has_room(1)), (Err(99), false));
            let out: Vec<i32> = std::iter::from_fn(|| receiver.take()).collect();
            assert_eq!(out, [0, 1, 2, 3].map(|number| round * 4 + number));
            assert!(sender.has_room(4) && !sender.has_room(5));
        }
    }

    #[test]
    fn two_threads_pass_all_values() {
        let count = if cfg!(miri) { 100 } else { 100_000 };
        let (mut sender, mut receiver) = ring(8).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..count {
                    while sender.put(Box::new(number)).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
            for number in 0..count {
                let value = std::iter::repeat_with(|| {
                    std::thread::yield_now();
                    receiver.take()
                });
                assert_eq!(value.flatten().next().as_deref(), Some(&number));
            }
        });
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::{PollLimit, wait_until};

    /// Slots are reused, under every interleaving.
    fn pass_values<const RELEASES: bool>() {
        loom::model(|| {
            let (mut sender, mut receiver) = create_ends::<u32, RELEASES>(2).unwrap();
            let side = loom::thread::spawn(move || {
                for number in 0..3 {
                    wait_until(PollLimit { polls: 0 }, || sender.put(number).is_ok());
                }
            });
            for number in 0..3 {
                let mut value = None;
                wait_until(PollLimit { polls: 0 }, || {
                    value = receiver.take();
                    value.is_some()
                });
                assert_eq!(value, Some(number));
            }
            side.join().unwrap();
        });
    }

    #[test]
    fn values_arrive_in_order() {
        pass_values::<true>();
    }

    #[test]
    #[should_panic(expected = "access")]
    fn unreleased_value_is_detected() {
        pass_values::<false>();
    }
}
