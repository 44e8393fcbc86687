//! The protocol of a block: up to 64 messages, which several threads match with the receives posted as if they had
//! arrived one after the other (§III-C, §III-D, changed where the paper leaves a gap).
//!
//! While a block is under way nobody changes a queue, a chain or a bin. Threads share these words, and no others:
//!
//! | word | of | written by | read by |
//! |---|---|---|---|
//! | `claimed` | the block | whoever takes the next part | the same |
//! | `booked`, bit *i* | the block | the thread of message *i*, once its candidate is booked | threads of later messages |
//! | `bookings`, bit *i* | a receive | the thread of message *i*, whose candidate it is | threads of later messages |
//! | `taken` | a receive | the thread of the message that takes it | threads of later messages |
//! | `settled`, bit *i* | the block | the thread of message *i*, once it is decided | threads of later messages; the caller |
//! | `candidate`, `outcome` | a message | its thread | its thread; the caller, after the block |
//!
//! A message goes from *new* to *booked* to *settled*, and never back. Parts of a block are claimed in the order of
//! messages; a thread books all messages of its part, then settles them in order, and then delivers them: a later message
//! that waits for them waits for no delivery.
//!
//! 1. **Book.** The candidate of message *i* is the oldest receive that accepts it *as the block began*: what earlier
//!    messages have taken since is not left out (see below). *i* sets its bit in the candidate's `bookings`, then in `booked`.
//! 2. **Partial barrier.** Before a part is settled, all messages before it have booked. Later ones are not waited for.
//! 3. **Settle.** Without a candidate the message is unexpected. Else let *r* be the candidate, *p* the number of earlier
//!    messages that booked *r* (its *rivals*), and *others* the earlier messages that *r* accepts and that did not book it.
//!    * No others: *i* takes the *p*th receive behind *r* in its run of compatible receives (*r* itself if *p* = 0), if
//!      the run is that long. For *p* > 0 this is the paper's fast path.
//!    * No rivals, but others: once the others are settled, *i* takes *r* if none of them did.
//!    * All else is the slow path: once all earlier messages are settled, *i* searches again, past what is taken.
//!
//! A receive without a wildcard has no others, so they are not looked for: it accepts one envelope only, and messages with
//! the same envelope have the same candidate.
//!
//! # Why it is exact
//!
//! By induction over *i*: if all earlier messages are settled as one by one, so is *i*.
//!
//! *No candidate.* Receives only become fewer, so that there is none for *i* when its turn comes.
//!
//! *No others.* Let *r₀, r₁, …* be the run from *r* on. One by one, what *r* accepts of the messages up to *i* are the rivals
//! and *i*. The oldest receive that any of these matches is *r₀*, its candidate; the next oldest are *r₁, r₂, …*, as no
//! receive of the communicator was posted between two of a run; and no other message up to *i* matches them. So the first
//! rival takes *r₀*, the next *r₁*, and *i* takes the *p*th behind *r₀*. It need not know whether its rivals are settled.
//!
//! *No rivals, but others.* Messages up to *i* that are neither settled nor *i* do not match *r*. Nothing older matches *i*.
//! So if *r* is not taken by then, it is for *i*. (A later message has not taken it: see below.)
//!
//! *Slow path.* All earlier messages are settled, so *i* takes the oldest receive that accepts it and that none of them took.
//! The search leaves out what is marked as taken, which is the same, unless a *later* message *j* marked a receive *s* that
//! *i* is to take. Then *j* did not come to *s* by the slow path, nor after waiting for others: it would have waited for *i*,
//! which *s* accepts and which is not settled. So *j* had no others, and *s* is in the run of its candidate *r′*, which then
//! accepts *i*; *i* is no other of *j*'s, so it booked *r′* as well: *i* and *j* have the same candidate. What *r′* accepts
//! before *i* it accepts before *j*, so *i* has no others either; and its place in the run is before that of *j*, so it is
//! in the run if *j*'s is. Then *i* does not search again. The same shows that no later message takes *r* from an *i* that
//! has no rivals but others: *j* would have those others, too.
//!
//! *It ends.* A thread books without waiting. The first message that is not settled waits for none, and parts are claimed
//! in order, so that some thread is at it or will be.
//!
//! # What would go wrong
//!
//! * *Without the barrier*, *i* could miss the booking of an earlier message that is still searching, and take its receive.
//! * *If the first search left out what is taken*, messages with one envelope would have different candidates, by who is
//!   faster: 0, 1 and 2 want the run *r₀, r₁, r₂*; 1 searches and books *r₀*; 0 takes it; 2 searches now, finds and books *r₁*
//!   without a rival, and takes it, which is for 1. The paper does not say which search it means.
//! * *If a receive with a wildcard were taken without heeding others*, an earlier message that loses its own candidate would
//!   find it gone: the paper sends all messages behind a conflict into conflict resolution; here others decide.
//! * *If the shift were the number of the message* instead of its rivals, as in the paper's figure 4, where all messages of
//!   the block are rivals, receives would be left out wherever not all are.
//!
//! The models beside this file let each happen, and find it.
//!
//! The paper's *early booking check* (§IV-D: pass over a receive that an earlier message has booked) is left out. It
//! breaks what all of this stands on: a message would not book the oldest receive that accepts it, so that a later one could
//! not tell from bookings who else wants its candidate.
//!
//! # Orderings
//!
//! `booked` and `settled` only change by read-modify-write, released; who acquires a bit sees all that was done before it
//! was set: bookings, and marks. All other words are read after one of these, or by the thread that wrote them.

use std::marker::PhantomData;
use std::ops::Range;

use crate::chains::{NIL, Place};
use crate::engine::Refused;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, Patience, wait_until};

/// As many messages are in a block at most: the bits of a word.
pub(super) const MESSAGES: usize = u64::BITS as usize;

/// The receives that a block is matched with. They stay as they are until it is over.
pub(super) trait Receives {
    /// The oldest receive that accepts a message and `is_free`.
    fn oldest(&self, message: usize, is_free: impl Fn(Place) -> bool) -> Option<Place>;

    /// The next in the run of compatible receives.
    fn follower(&self, at: Place) -> Option<Place>;

    /// Whether a receive accepts one envelope only.
    fn is_exact(&self, at: Place) -> bool;

    /// Whether a receive accepts a message.
    fn accepts(&self, at: Place, message: usize) -> bool;

    /// A message takes that receive; all of its part are settled.
    fn takes(&self, message: usize, at: Place);
}

/// Where models depart from the protocol, to show that its steps are needed.
pub(super) trait Rules: Send + Sync + 'static {
    /// The first search finds what was posted as the block began.
    const SEARCHES_WHAT_BEGAN: bool = true;
    /// Messages wait until earlier ones have booked.
    const HAS_BARRIER: bool = true;
    /// Messages heed those that did not book the same receive but could take it.
    const HEEDS_OTHERS: bool = true;
    /// The slow path waits until earlier messages are settled.
    const SLOW_PATH_WAITS: bool = true;
    /// What is done before a bit of `booked` or `settled` is set, who sees the bit sees.
    const RELEASE: Ordering = Ordering::Release;

    /// How far behind its candidate a message with these rivals looks.
    fn shift(rivals: u64, _message: usize) -> u32 {
        rivals.count_ones()
    }
}

/// The protocol as it is.
pub(super) struct Sound;

impl Rules for Sound {}

/// How a message was settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// It had no candidate.
    NoCandidate,
    /// It took its candidate at once.
    NoConflict,
    /// It took another of its candidate's run at once.
    FastPath,
    /// It took its candidate, once those were settled that could have.
    Waited,
    /// It searched again, and found a receive or none.
    SlowPath,
}

const WAYS: [Way; 5] = [Way::NoCandidate, Way::NoConflict, Way::FastPath, Way::Waited, Way::SlowPath];

/// Of a receive. Zero between blocks.
struct Mark {
    bookings: AtomicU64,
    taken: AtomicBool,
}

/// Of a message. [`NIL`] is no receive.
struct Slot {
    candidate: AtomicU32,
    /// The receive taken; above its 32 bits, the way.
    outcome: AtomicU64,
}

/// What threads share of a block.
pub(super) struct Block<R = Sound> {
    marks: Vec<Mark>,
    slots: Vec<Slot>,
    messages: usize,
    /// Messages in a part.
    part: usize,
    claimed: AtomicUsize,
    booked: AtomicU64,
    settled: AtomicU64,
    patience: Patience,
    rules: PhantomData<R>,
}

impl<R> Default for Block<R> {
    fn default() -> Self {
        Block {
            marks: Vec::new(),
            slots: Vec::new(),
            messages: 0,
            part: 1,
            claimed: AtomicUsize::new(0),
            booked: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            patience: Patience { looks: 0 },
            rules: PhantomData,
        }
    }
}

fn bit(message: usize) -> u64 {
    1 << message
}

/// The bits of all messages before this one.
fn below(message: usize) -> u64 {
    if message < MESSAGES { bit(message) - 1 } else { u64::MAX }
}

/// The messages whose bits are set.
fn messages(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (bits != 0).then_some(bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(first)
    })
}

/// Looks for the bits of earlier messages: somewhat longer than a thread takes over a part of a block.
const LOOKS: u32 = 200;

/// What a part's last message on the fast path took: the next of the same candidate is often the one behind it.
#[derive(Clone, Copy)]
struct Shifted {
    candidate: Place,
    steps: u32,
    at: Place,
}

impl<R: Rules> Block<R> {
    /// How long threads look, if there are so many.
    pub(super) fn patience(threads: usize) -> Patience {
        Patience::of(threads, LOOKS)
    }

    /// Begins a block of so many messages, in so many parts, for receives at places below `places`.
    pub(super) fn begin(
        &mut self,
        messages: usize,
        parts: usize,
        places: usize,
        patience: Patience,
    ) -> Result<(), Refused> {
        fn room<T>(table: &mut Vec<T>, length: usize, blank: impl Fn() -> T) -> Result<(), Refused> {
            table.try_reserve(length.saturating_sub(table.len())).map_err(|_| Refused::Memory)?;
            table.resize_with(length.max(table.len()), blank);
            Ok(())
        }
        room(&mut self.marks, places, || Mark {
            bookings: AtomicU64::new(0),
            taken: AtomicBool::new(false),
        })?;
        room(&mut self.slots, messages, || Slot {
            candidate: AtomicU32::new(NIL),
            outcome: AtomicU64::new(0),
        })?;
        self.messages = messages;
        self.part = messages.div_ceil(parts).max(1);
        self.patience = patience;
        // Threads learn of these as they learn of the block.
        self.booked.store(0, Ordering::Relaxed);
        self.settled.store(0, Ordering::Relaxed);
        self.claimed.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Takes part until no part is left. By any number of threads at once, the caller among them.
    pub(super) fn work(&self, receives: &impl Receives) {
        while let Some(part) = self.claim() {
            self.book(part.clone(), receives);
            if R::HAS_BARRIER {
                self.await_bits(&self.booked, below(part.start));
            }
            let mut last = None;
            for message in part.clone() {
                self.settle(message, receives, &mut last);
            }
            // What is done with a message may take long: nobody waits for it, as nothing of the part is left to be settled.
            for message in part {
                if let (Some(at), _) = self.outcome(message) {
                    receives.takes(message, at);
                }
            }
        }
    }

    /// The receive that a message takes, and how it came to it. Once all are settled, or by the thread that settled it.
    pub(super) fn outcome(&self, message: usize) -> (Option<Place>, Way) {
        let outcome = self.slots[message].outcome.load(Ordering::Relaxed);
        let at = outcome as Place;
        ((at != NIL).then_some(at), WAYS[(outcome >> Place::BITS) as usize])
    }

    /// Takes the block's marks off its receives. Outcomes stay.
    pub(super) fn end(&mut self) {
        for message in 0..self.messages {
            if let Some(at) = self.candidate(message) {
                self.marks[at as usize].bookings.store(0, Ordering::Relaxed);
            }
            if let (Some(at), _) = self.outcome(message) {
                self.marks[at as usize].taken.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Bytes allocated. Never fewer than before.
    pub(super) fn bytes(&self) -> u64 {
        (self.marks.capacity() * size_of::<Mark>() + self.slots.capacity() * size_of::<Slot>()) as u64
    }

    fn claim(&self) -> Option<Range<usize>> {
        // Nothing hangs on who sees it when: each part goes to one.
        let begin = self.claimed.fetch_add(self.part, Ordering::Relaxed);
        (begin < self.messages).then(|| begin..(begin + self.part).min(self.messages))
    }

    fn candidate(&self, message: usize) -> Option<Place> {
        let at = self.slots[message].candidate.load(Ordering::Relaxed);
        (at != NIL).then_some(at)
    }

    fn is_free(&self, at: Place) -> bool {
        !self.marks[at as usize].taken.load(Ordering::Relaxed)
    }

    fn await_bits(&self, word: &AtomicU64, bits: u64) {
        // Pairs with the release in `book`, or in `settle`.
        wait_until(self.patience, || word.load(Ordering::Acquire) & bits == bits);
    }

    /// Step 1.
    fn book(&self, part: Range<usize>, receives: &impl Receives) {
        for message in part.clone() {
            let candidate = receives.oldest(message, |at| R::SEARCHES_WHAT_BEGAN || self.is_free(at));
            self.slots[message].candidate.store(candidate.unwrap_or(NIL), Ordering::Relaxed);
            if let Some(at) = candidate {
                self.marks[at as usize].bookings.fetch_or(bit(message), Ordering::Relaxed);
            }
        }
        // Pairs with the acquire in `await_bits`.
        self.booked.fetch_or(below(part.end) & !below(part.start), R::RELEASE);
    }

    /// Step 3.
    fn settle(&self, message: usize, receives: &impl Receives, last: &mut Option<Shifted>) {
        let (at, way) = match self.candidate(message) {
            None => (None, Way::NoCandidate),
            Some(candidate) => self.resolve(message, candidate, receives, last),
        };
        if let Some(at) = at {
            self.marks[at as usize].taken.store(true, Ordering::Relaxed);
        }
        let outcome = (way as u64) << Place::BITS | u64::from(at.unwrap_or(NIL));
        self.slots[message].outcome.store(outcome, Ordering::Relaxed);
        // Pairs with the acquire in `await_bits`.
        self.settled.fetch_or(bit(message), R::RELEASE);
    }

    fn resolve(
        &self,
        message: usize,
        candidate: Place,
        receives: &impl Receives,
        last: &mut Option<Shifted>,
    ) -> (Option<Place>, Way) {
        let rivals = self.marks[candidate as usize].bookings.load(Ordering::Relaxed) & below(message);
        let others = self.others(message, candidate, rivals, receives);
        if others == 0 {
            let steps = R::shift(rivals, message);
            if let Some(at) = Self::shifted(candidate, steps, receives, last) {
                return (Some(at), if steps == 0 { Way::NoConflict } else { Way::FastPath });
            }
        } else if rivals == 0 {
            self.await_bits(&self.settled, others);
            if self.is_free(candidate) {
                return (Some(candidate), Way::Waited);
            }
        }
        if R::SLOW_PATH_WAITS {
            self.await_bits(&self.settled, below(message));
        }
        (receives.oldest(message, |at| self.is_free(at)), Way::SlowPath)
    }

    /// Earlier messages that are not among the rivals, but that the candidate accepts.
    fn others(&self, message: usize, candidate: Place, rivals: u64, receives: &impl Receives) -> u64 {
        if !R::HEEDS_OTHERS || receives.is_exact(candidate) {
            return 0;
        }
        let accepted = messages(below(message) & !rivals).filter(|&other| receives.accepts(candidate, other));
        accepted.fold(0, |others, other| others | bit(other))
    }

    /// The receive so many steps behind a candidate in its run, if the run is that long.
    fn shifted(
        candidate: Place,
        steps: u32,
        receives: &impl Receives,
        last: &mut Option<Shifted>,
    ) -> Option<Place> {
        let begun = last.filter(|last| last.candidate == candidate && last.steps <= steps);
        let (mut at, done) = begun.map_or((candidate, 0), |last| (last.at, last.steps));
        for _ in done..steps {
            at = receives.follower(at)?;
        }
        *last = Some(Shifted { candidate, steps, at });
        Some(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Receives that all messages want, none of a run: all but the first message search again.
    struct Wanted<'a> {
        block: &'a Block,
        /// Each message that took a receive, and what was settled by then.
        taken: RefCell<Vec<(usize, u64)>>,
    }

    impl Receives for Wanted<'_> {
        fn oldest(&self, _: usize, is_free: impl Fn(Place) -> bool) -> Option<Place> {
            (0..8).find(|&at| is_free(at))
        }

        fn follower(&self, _: Place) -> Option<Place> {
            None
        }

        fn is_exact(&self, _: Place) -> bool {
            false
        }

        fn accepts(&self, _: Place, _: usize) -> bool {
            true
        }

        fn takes(&self, message: usize, _: Place) {
            self.taken.borrow_mut().push((message, self.block.settled.load(Ordering::Relaxed)));
        }
    }

    #[test]
    fn part_is_settled_before_delivery() {
        let mut block = Block::<Sound>::default();
        block.begin(6, 2, 8, Patience { looks: 0 }).expect("there is memory");
        let wanted = Wanted { block: &block, taken: RefCell::default() };
        block.work(&wanted);
        let halves = [(0, 0b111), (1, 0b111), (2, 0b111), (3, 0b111_111), (4, 0b111_111), (5, 0b111_111)];
        assert_eq!(*wanted.taken.borrow(), halves);
    }
}
