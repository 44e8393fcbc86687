//! A ring between one thread that puts in and one that takes out: no lock, and no atomic operation but loads and stores.
//!
//! ```text
//! taken ▼               ▼ put
//! …  –  a  b  c  d  e  –  –  –  …     places are numbered on and on; a number's place is its remainder
//! ```
//!
//! `put` is written by the one side, `taken` by the other. A place below `put` was filled before `put` said so (release,
//! acquire), one below `taken` was emptied before `taken` said so. Each side keeps what it last saw of the other, and looks
//! again only when that does not suffice: so the line of the other side mostly stays where it is.

#![allow(unsafe_code)]

use std::sync::Arc;

use crate::engine::Refused;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};

/// In cache lines of its own.
#[repr(align(128))]
struct Own<T>(T);

/// Models leave out what it releases, to show that they would find it.
struct Ring<T, const RELEASES: bool> {
    places: Box<[UnsafeCell<Option<T>>]>,
    put: Own<AtomicUsize>,
    taken: Own<AtomicUsize>,
}

// SAFETY: a place is reached by one of the two sides at a time, as the counts say; there is one of each side, as neither can
// be copied.
unsafe impl<T: Send, const RELEASES: bool> Sync for Ring<T, RELEASES> {}
// SAFETY: what it owns may go to other threads.
unsafe impl<T: Send, const RELEASES: bool> Send for Ring<T, RELEASES> {}

/// The side that puts in.
pub(crate) struct Sender<T, const RELEASES: bool = true> {
    ring: Arc<Ring<T, RELEASES>>,
    put: usize,
    /// What `taken` was when this side looked last.
    seen: usize,
}

/// The side that takes out.
pub(crate) struct Receiver<T, const RELEASES: bool = true> {
    ring: Arc<Ring<T, RELEASES>>,
    taken: usize,
    /// What `put` was when this side looked last.
    seen: usize,
}

/// A ring of at least so many places.
///
/// # Errors
/// [`Refused::Memory`].
pub(crate) fn ring<T: Send>(places: usize) -> Result<(Sender<T>, Receiver<T>), Refused> {
    sides(places)
}

type Sides<T, const RELEASES: bool> = (Sender<T, RELEASES>, Receiver<T, RELEASES>);

fn sides<T: Send, const RELEASES: bool>(places: usize) -> Result<Sides<T, RELEASES>, Refused> {
    let count = places.max(1).next_power_of_two();
    let mut places = Vec::new();
    places.try_reserve_exact(count).map_err(|_| Refused::Memory)?;
    places.extend((0..count).map(|_| UnsafeCell::new(None)));
    let ring = Arc::new(Ring {
        places: places.into_boxed_slice(),
        put: Own(AtomicUsize::new(0)),
        taken: Own(AtomicUsize::new(0)),
    });
    let other = Arc::clone(&ring);
    Ok((Sender { ring, put: 0, seen: 0 }, Receiver { ring: other, taken: 0, seen: 0 }))
}

impl<T, const RELEASES: bool> Ring<T, RELEASES> {
    fn place(&self, number: usize) -> &UnsafeCell<Option<T>> {
        &self.places[number & (self.places.len() - 1)]
    }
}

impl<T, const RELEASES: bool> Sender<T, RELEASES> {
    /// Puts something in, or gives it back if all places are filled.
    #[inline]
    pub(crate) fn put(&mut self, value: T) -> Result<(), T> {
        if self.put.wrapping_sub(self.seen) == self.ring.places.len() {
            // Pairs with the release in `take`.
            self.seen = self.ring.taken.0.load(Ordering::Acquire);
            if self.put.wrapping_sub(self.seen) == self.ring.places.len() {
                return Err(value);
            }
        }
        // SAFETY: the other side has emptied it, as `taken` said, and looks at it again when `put` says so.
        self.ring.place(self.put).with_mut(|at| unsafe { *at = Some(value) });
        self.put = self.put.wrapping_add(1);
        // Pairs with the acquire in `take`.
        self.ring.put.0.store(self.put, release(RELEASES));
        Ok(())
    }

    /// Whether there is room for so many. It may be more than is seen here.
    pub(crate) fn has_room(&mut self, more: usize) -> bool {
        let room = |sender: &Self| sender.ring.places.len() - sender.put.wrapping_sub(sender.seen);
        if room(self) < more {
            // Pairs with the release in `take`.
            self.seen = self.ring.taken.0.load(Ordering::Acquire);
        }
        room(self) >= more
    }

    /// Bytes that the ring holds.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<Ring<T, RELEASES>>() + self.ring.places.len() * size_of::<UnsafeCell<Option<T>>>()) as u64
    }
}

impl<T, const RELEASES: bool> Receiver<T, RELEASES> {
    /// As many as it has at most.
    pub(crate) fn places(&self) -> usize {
        self.ring.places.len()
    }

    /// Takes out what was put in first of what is there.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        if self.taken == self.seen {
            // Pairs with the release in `put`.
            self.seen = self.ring.put.0.load(Ordering::Acquire);
            if self.taken == self.seen {
                return None;
            }
        }
        // SAFETY: the other side has filled it, as `put` said, and looks at it again when `taken` says so.
        let value = self.ring.place(self.taken).with_mut(|at| unsafe { (*at).take() });
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
    fn two_threads_hand_over_everything() {
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
    use crate::sync::{Patience, wait_until};

    /// Three values through two places: places are used again, in every order in which the sides may run.
    fn hand_over<const RELEASES: bool>() {
        loom::model(|| {
            let (mut sender, mut receiver) = sides::<u32, RELEASES>(2).unwrap();
            let side = loom::thread::spawn(move || {
                for number in 0..3 {
                    wait_until(Patience { looks: 0 }, || sender.put(number).is_ok());
                }
            });
            for number in 0..3 {
                let mut value = None;
                wait_until(Patience { looks: 0 }, || {
                    value = receiver.take();
                    value.is_some()
                });
                assert_eq!(value, Some(number));
            }
            side.join().unwrap();
        });
    }

    #[test]
    fn all_is_handed_over_in_order() {
        hand_over::<true>();
    }

    #[test]
    #[should_panic(expected = "access")]
    fn what_is_not_released_is_found() {
        hand_over::<false>();
    }
}
