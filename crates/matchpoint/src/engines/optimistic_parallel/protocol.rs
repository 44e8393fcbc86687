//! Protocol of a block: several threads match up to 64 messages with the outcome of serial matching (paper
//! §III-C, §III-D, with corrections).
//!
//! During a block no thread changes the engine's tables. Threads share only these words:
//!
//! | word | of | written by | read by |
//! |---|---|---|---|
//! | `claimed` | the block | all threads, to claim parts | the same |
//! | `booked`, bit *i* | the block | the thread of message *i*, after its booking | threads of later messages |
//! | `bookings`, bit *i* | a receive | the thread of message *i*, for its candidate | threads of later messages |
//! | `taken` | a receive | the thread of the message that takes it | threads of later messages |
//! | `settled`, bit *i* | the block | the thread of message *i*, after its decision | threads of later messages; the caller |
//! | `candidate`, `outcome` | a message | its thread | its thread; the caller, after the block |
//!
//! Threads claim parts in message order. A thread books all messages of its part, settles the messages in
//! order, then delivers them. So later messages never wait for a delivery.
//!
//! 1. **Book.** The candidate of message *i* is the receive that was the oldest match *at the start of the
//!    block*, even if another message has taken the receive since. *i* sets its bit in the candidate's
//!    `bookings`, then in `booked`.
//! 2. **Partial barrier.** Before a part is settled, all earlier messages have booked.
//! 3. **Settle.** Without a candidate the message is unexpected. For other messages, let *r* be the
//!    candidate, *p* the number of earlier messages that booked *r* (*rivals*), and *others* the earlier
//!    messages that match *r* without booking it.
//! * No others: *i* takes the *p*th receive after *r* in its run of compatible receives (*r* itself if *p* =
//!   0), if the run is long enough. For *p* > 0 this is the paper's fast path.
//! * Others without rivals: after the others are settled, *i* takes *r* if *r* is free.
//! * Both others and rivals, a run that is too short, or a taken *r*: the slow path. After all earlier
//!   messages are settled, *i* searches again among free receives.
//!
//! A receive without a wildcard has no others: the receive matches one envelope, and messages with one
//! envelope have one candidate.
//!
//! # Proof
//!
//! By induction over *i*: if all earlier messages have the outcome of serial matching, so has *i*.
//!
//! *No candidate.* Receives are only removed, so serial matching finds no match for *i* either.
//!
//! *No others.* Let *r₀, r₁, …* be the run from *r* on. Among the messages up to *i*, only the rivals and
//! *i* match *r*, or any receive of the run. Their oldest match is *r₀*; the next are *r₁, r₂, …*, because no
//! receive of the communicator was posted within a run. So the first rival takes *r₀*, the next *r₁*, and *i*
//! the *p*th after *r₀*, whether its rivals are settled or not.
//!
//! *Others without rivals.* Unsettled messages before *i* do not match *r*, and no older receive matches
//! *i*. So if *r* is free, *i* takes *r*. (No later message has taken *r*, see below.)
//!
//! *Slow path.* All earlier messages are settled. In serial matching, *i* takes its oldest match that no
//! earlier message took. Here, the search skips all taken receives. The results are equal, unless a *later*
//! message *j* took the receive *s* that *i* is to take. *j* did not take *s* on the slow path or after a
//! wait for others: it would have waited for *i*, which matches *s* and is unsettled. So *j* had no others,
//! and *s* is in the run of its candidate *r′*. Then *r′* matches *i*. As *j* has no others, *i* booked *r′*:
//! both have the same candidate. Messages before *i* that match *r′* are also before *j*, so *i* has no
//! others. Its position in the run is before that of *j*, so the run is long enough. Then *i* does not use
//! the slow path. By the same argument, no later message *j* takes *r* from an *i* that has others but no
//! rivals: *j* would have the same others.
//!
//! *Termination.* Booking does not wait. The first unsettled message waits for no message. Parts are claimed
//! in order, so a thread settles this message.
//!
//! # Necessity of the steps
//!
//! * *Without the barrier*, *i* may miss the booking of an earlier message that still searches, and take
//!   that message's receive.
//! * *If the first search skipped taken receives*, messages with one envelope could have different
//!   candidates. Messages 0, 1, 2 compete for the run *r₀, r₁, r₂*. Message 1 books *r₀*; message 0 takes
//!   *r₀*; message 2 searches, books *r₁* without a rival and takes *r₁*, although message 1 should get *r₁*.
//!   The paper does not specify this search.
//! * *If a wildcard receive were taken without a check for others*, an earlier message that loses its
//!   candidate could lose its next candidate. The paper sends all messages after a conflict to conflict
//!   resolution instead.
//! * *If the shift were the message number* instead of the number of rivals, receives would be skipped. They
//!   are not skipped only if all messages of the block are rivals, as in the paper's figure 4.
//!
//! The models (`models.rs`) show the error of each omitted step.
//!
//! The paper's *early booking check* (§IV-D: skip receives with an earlier booking) is not used: a message
//! would not book its oldest match, and later messages could not detect competitors from bookings.
//!
//! # Memory order
//!
//! `booked` and `settled` change only by read-modify-write with release. An acquire of a bit makes earlier
//! bookings and taken marks visible. All other words are read after such an acquire, or by the thread that
//! wrote the word.

use std::marker::PhantomData;
use std::ops::Range;

use crate::engine::Refused;
use crate::linked::{NIL, SlotIndex};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, PollLimit, wait_until};

/// Maximum messages of a block: the bits of a word.
pub(super) const MESSAGES: usize = u64::BITS as usize;

/// Unchanged until the block's end.
pub(super) trait Receives {
    fn find_oldest(&self, message: usize, is_free: impl Fn(SlotIndex) -> bool) -> Option<SlotIndex>;

    fn next_in_run(&self, at: SlotIndex) -> Option<SlotIndex>;

    fn is_exact(&self, at: SlotIndex) -> bool;

    fn matches(&self, at: SlotIndex, message: usize) -> bool;

    fn report_match(&self, message: usize, at: SlotIndex);
}

/// Tests omit these steps.
pub(super) trait ProtocolSteps: Send + Sync + 'static {
    const SEARCHES_INITIAL_STATE: bool = true;
    const HAS_BARRIER: bool = true;
    const CHECKS_OTHERS: bool = true;
    const SLOW_PATH_WAITS: bool = true;
    /// Memory order of the stores to `booked` and `settled`.
    const RELEASE: Ordering = Ordering::Release;

    fn shift(rivals: u64, _message: usize) -> u32 {
        rivals.count_ones()
    }
}

pub(super) struct FullProtocol;

impl ProtocolSteps for FullProtocol {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolution {
    NoCandidate,
    /// The message took its candidate.
    NoConflict,
    /// The message took another receive of its candidate's run.
    FastPath,
    /// The message took its candidate after a wait for competitors.
    Waited,
    SlowPath,
}

const RESOLUTIONS: [Resolution; 5] = [
    Resolution::NoCandidate,
    Resolution::NoConflict,
    Resolution::FastPath,
    Resolution::Waited,
    Resolution::SlowPath,
];

/// All zero between two blocks.
struct ReceiveState {
    bookings: AtomicU64,
    taken: AtomicBool,
}

/// Words of a message. [`NIL`]: no receive.
struct Slot {
    candidate: AtomicU32,
    /// The receive, and the resolution in the upper 32 bits.
    outcome: AtomicU64,
}

pub(super) struct Block<R = FullProtocol> {
    marks: Vec<ReceiveState>,
    slots: Vec<Slot>,
    messages: usize,
    part: usize,
    claimed: AtomicUsize,
    booked: AtomicU64,
    settled: AtomicU64,
    poll_limit: PollLimit,
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
            poll_limit: PollLimit { polls: 0 },
            rules: PhantomData,
        }
    }
}

fn bit(message: usize) -> u64 {
    1 << message
}

fn bits_below(message: usize) -> u64 {
    if message < MESSAGES { bit(message) - 1 } else { u64::MAX }
}

fn message_indices(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (bits != 0).then_some(bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(first)
    })
}

/// Polling lasts longer than a part.
const POLLS: u32 = 200;

/// The last message on the fast path: the next message often takes the next receive.
#[derive(Clone, Copy)]
struct LastShift {
    candidate: SlotIndex,
    steps: u32,
    at: SlotIndex,
}

impl<R: ProtocolSteps> Block<R> {
    pub(super) fn poll_limit(threads: usize) -> PollLimit {
        PollLimit::of(threads, POLLS)
    }

    pub(super) fn begin(
        &mut self,
        messages: usize,
        parts: usize,
        receives: usize,
        poll_limit: PollLimit,
    ) -> Result<(), Refused> {
        fn grow<T>(table: &mut Vec<T>, length: usize, blank: impl Fn() -> T) -> Result<(), Refused> {
            table.try_reserve(length.saturating_sub(table.len())).map_err(|_| Refused::Memory)?;
            table.resize_with(length.max(table.len()), blank);
            Ok(())
        }
        grow(&mut self.marks, receives, || ReceiveState {
            bookings: AtomicU64::new(0),
            taken: AtomicBool::new(false),
        })?;
        grow(&mut self.slots, messages, || Slot {
            candidate: AtomicU32::new(NIL),
            outcome: AtomicU64::new(0),
        })?;
        self.messages = messages;
        self.part = messages.div_ceil(parts).max(1);
        self.poll_limit = poll_limit;
        // The release that publishes the job also publishes this store.
        self.booked.store(0, Ordering::Relaxed);
        self.settled.store(0, Ordering::Relaxed);
        self.claimed.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Any number of threads may call this function.
    pub(super) fn run_all_parts(&self, receives: &impl Receives) {
        while let Some(part) = self.claim() {
            self.book(part.clone(), receives);
            if R::HAS_BARRIER {
                self.await_bits(&self.booked, bits_below(part.start));
            }
            let mut last = None;
            for message in part.clone() {
                self.settle(message, receives, &mut last);
            }
            for message in part {
                if let (Some(at), _) = self.outcome(message) {
                    receives.report_match(message, at);
                }
            }
        }
    }

    /// The outcome of a message that the calling thread settled; after the block, of any message.
    pub(super) fn outcome(&self, message: usize) -> (Option<SlotIndex>, Resolution) {
        let outcome = self.slots[message].outcome.load(Ordering::Relaxed);
        let at = outcome as SlotIndex;
        ((at != NIL).then_some(at), RESOLUTIONS[(outcome >> SlotIndex::BITS) as usize])
    }

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

    pub(super) fn bytes(&self) -> u64 {
        (self.marks.capacity() * size_of::<ReceiveState>() + self.slots.capacity() * size_of::<Slot>()) as u64
    }

    fn claim(&self) -> Option<Range<usize>> {
        // Each part goes to one thread.
        let begin = self.claimed.fetch_add(self.part, Ordering::Relaxed);
        (begin < self.messages).then(|| begin..(begin + self.part).min(self.messages))
    }

    fn candidate(&self, message: usize) -> Option<SlotIndex> {
        let at = self.slots[message].candidate.load(Ordering::Relaxed);
        (at != NIL).then_some(at)
    }

    fn is_free(&self, at: SlotIndex) -> bool {
        !self.marks[at as usize].taken.load(Ordering::Relaxed)
    }

    fn await_bits(&self, word: &AtomicU64, bits: u64) {
        // Pairs with the release in `book` or `settle`.
        wait_until(self.poll_limit, || word.load(Ordering::Acquire) & bits == bits);
    }

    /// Does step 1.
    fn book(&self, part: Range<usize>, receives: &impl Receives) {
        for message in part.clone() {
            let candidate = receives.find_oldest(message, |at| R::SEARCHES_INITIAL_STATE || self.is_free(at));
            self.slots[message].candidate.store(candidate.unwrap_or(NIL), Ordering::Relaxed);
            if let Some(at) = candidate {
                self.marks[at as usize].bookings.fetch_or(bit(message), Ordering::Relaxed);
            }
        }
        // Pairs with the acquire in `await_bits`.
        self.booked.fetch_or(bits_below(part.end) & !bits_below(part.start), R::RELEASE);
    }

    /// Does step 3.
    fn settle(&self, message: usize, receives: &impl Receives, last: &mut Option<LastShift>) {
        let (at, resolution) = match self.candidate(message) {
            None => (None, Resolution::NoCandidate),
            Some(candidate) => self.resolve(message, candidate, receives, last),
        };
        if let Some(at) = at {
            self.marks[at as usize].taken.store(true, Ordering::Relaxed);
        }
        let outcome = (resolution as u64) << SlotIndex::BITS | u64::from(at.unwrap_or(NIL));
        self.slots[message].outcome.store(outcome, Ordering::Relaxed);
        // Pairs with the acquire in `await_bits`.
        self.settled.fetch_or(bit(message), R::RELEASE);
    }

    fn resolve(
        &self,
        message: usize,
        candidate: SlotIndex,
        receives: &impl Receives,
        last: &mut Option<LastShift>,
    ) -> (Option<SlotIndex>, Resolution) {
        let rivals = self.marks[candidate as usize].bookings.load(Ordering::Relaxed) & bits_below(message);
        let others = self.find_others(message, candidate, rivals, receives);
        if others == 0 {
            let steps = R::shift(rivals, message);
            if let Some(at) = Self::receive_after(candidate, steps, receives, last) {
                return (Some(at), if steps == 0 { Resolution::NoConflict } else { Resolution::FastPath });
            }
        } else if rivals == 0 {
            self.await_bits(&self.settled, others);
            if self.is_free(candidate) {
                return (Some(candidate), Resolution::Waited);
            }
        }
        if R::SLOW_PATH_WAITS {
            self.await_bits(&self.settled, bits_below(message));
        }
        (receives.find_oldest(message, |at| self.is_free(at)), Resolution::SlowPath)
    }

    fn find_others(
        &self,
        message: usize,
        candidate: SlotIndex,
        rivals: u64,
        receives: &impl Receives,
    ) -> u64 {
        if !R::CHECKS_OTHERS || receives.is_exact(candidate) {
            return 0;
        }
        let accepted = message_indices(bits_below(message) & !rivals)
            .filter(|&other| receives.matches(candidate, other));
        accepted.fold(0, |others, other| others | bit(other))
    }

    fn receive_after(
        candidate: SlotIndex,
        steps: u32,
        receives: &impl Receives,
        last: &mut Option<LastShift>,
    ) -> Option<SlotIndex> {
        let begun = last.filter(|last| last.candidate == candidate && last.steps <= steps);
        let (mut at, done) = begun.map_or((candidate, 0), |last| (last.at, last.steps));
        for _ in done..steps {
            at = receives.next_in_run(at)?;
        }
        *last = Some(LastShift { candidate, steps, at });
        Some(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// All but the first message search again.
    struct Wanted<'a> {
        block: &'a Block,
        taken: RefCell<Vec<(usize, u64)>>,
    }

    impl Receives for Wanted<'_> {
        fn find_oldest(&self, _: usize, is_free: impl Fn(SlotIndex) -> bool) -> Option<SlotIndex> {
            (0..8).find(|&at| is_free(at))
        }

        fn next_in_run(&self, _: SlotIndex) -> Option<SlotIndex> {
            None
        }

        fn is_exact(&self, _: SlotIndex) -> bool {
            false
        }

        fn matches(&self, _: SlotIndex, _: usize) -> bool {
            true
        }

        fn report_match(&self, message: usize, _: SlotIndex) {
            self.taken.borrow_mut().push((message, self.block.settled.load(Ordering::Relaxed)));
        }
    }

    #[test]
    fn part_has_matches_before_delivery() {
        let mut block = Block::<FullProtocol>::default();
        block.begin(6, 2, 8, PollLimit { polls: 0 }).expect("memory suffices");
        let wanted = Wanted { block: &block, taken: RefCell::default() };
        block.run_all_parts(&wanted);
        let halves = [(0, 0b111), (1, 0b111), (2, 0b111), (3, 0b111_111), (4, 0b111_111), (5, 0b111_111)];
        assert_eq!(*wanted.taken.borrow(), halves);
    }
}
