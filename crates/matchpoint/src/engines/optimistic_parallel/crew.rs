//! The threads that match batches: the caller, and workers that are made for the first one, look for the next for a moment
//! after each, then sleep, and end with the engine.
//!
//! ```text
//! caller   job, parts ─▶ seat of a worker (for each) ─▶ its own parts ─▶ claims what workers have not ─▶ waits for those who have some
//! worker   sees its seat ─▶ claims half of what is left there ─▶ does it ─▶ … until nothing is left ─▶ done
//! ```
//!
//! Every worker has two places, each in cache lines of its own: a *seat*, where the caller puts a job and a range of its
//! parts, and an *answer*, which only the worker writes. So what a worker has to know is in the one line that it looks at,
//! and a caller gives it by a store: no line is written by two workers, and nobody waits for one to come. Times of lines
//! between cores, and why not one word for all, are in `docs/reference/engines/optimistic_parallel.md`.
//!
//! Parts are claimed in the seat's word, by its worker and by the caller, half of what is left at a time: who comes late finds
//! less, or nothing, and then knows nothing of the job. The caller, when it has done its own parts, claims what is left in all
//! seats, and so waits only for parts that a worker has in hand. Worker and caller change the word by compare-and-swap, but
//! each mostly where the line is its own.
//!
//! A job is borrowed from the caller, who returns when all parts are claimed and what workers claimed is done. A worker that
//! goes to sleep while it is given something leaves it to the caller: so neither needs to see the other in time. So a child of
//! `fork`, where there are no workers, matches as well, in the caller's thread alone.

#![allow(unsafe_code)]

use std::mem;
use std::ops::Range;
use std::process;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::engine::Refused;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, Patience, UnsafeCell, wait_until};

/// What workers are called, in a debugger and in messages of a panic.
const NAME: &str = "matchpoint-worker";

/// What the standard library may allocate for a thread, and cannot do without: with so much at hand none is refused it.
const THREAD_BYTES: usize = 16 << 10;

/// So long a worker looks for the next job before it sleeps: about as long as it takes to wake it.
const LINGER: Duration = Duration::from_micros(50);

/// A worker that sleeps for less than this looks twice as long next time, but no longer than this.
const NAP: Duration = Duration::from_millis(1);

/// So often it looks between two looks at the clock.
const LOOKS: u32 = 32;

/// So often the caller looks whether workers are done before it looks into their seats: mostly all end together, and who looks into
/// a seat takes its line away from the worker. (Models have threads take every turn anyway.)
const MOMENT: u32 = if cfg!(all(test, loom)) { 0 } else { 16 };

/// So often the caller looks whether a worker is done before it lets others run.
const CALLER_LOOKS: u32 = 1000;

/// Bits of the number of a part.
const PART_BITS: u32 = 11;

/// Parts that a seat can have.
pub(super) const PARTS: usize = (1 << PART_BITS) - 1;

/// What threads do together.
pub(super) trait Job: Sync {
    /// Does parts of it. Each is done once, by whichever thread.
    fn take_parts(&self, parts: Range<usize>);
}

/// Jobs are numbered as far as there is room beside the parts: after 2^41 of them, which is weeks, numbers come again.
const NUMBERS: u64 = u64::MAX >> (2 * PART_BITS + 1);

/// What nobody has claimed of a job: its number, whether the worker has claimed some, the first part, the one behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Left(u64);

impl Left {
    const ATTENDED: u64 = 1 << (2 * PART_BITS);

    fn of(number: u64, parts: &Range<usize>) -> Self {
        Left(number << (2 * PART_BITS + 1) | (parts.start as u64) << PART_BITS | parts.end as u64)
    }

    fn number(self) -> u64 {
        self.0 >> (2 * PART_BITS + 1)
    }

    fn is_attended(self) -> bool {
        self.0 & Self::ATTENDED != 0
    }

    fn parts(self) -> Range<usize> {
        (self.0 >> PART_BITS) as usize & PARTS..self.0 as usize & PARTS
    }

    /// Half of the parts, and what is left without them.
    fn halved(self) -> Option<(Range<usize>, Self)> {
        let Range { start, end } = self.parts();
        let middle = start + end.checked_sub(start)?.div_ceil(2);
        let left = Left(self.0 + (((middle - start) as u64) << PART_BITS));
        (middle > start).then_some((start..middle, left))
    }
}

/// What a worker looks at. Written by the caller; parts are claimed by both.
#[repr(align(128))]
struct Seat {
    left: AtomicU64,
    /// Valid while a part is left, or somebody has one.
    job: UnsafeCell<Option<*const (dyn Job + 'static)>>,
}

/// What a worker says. Written by it alone.
#[repr(align(128))]
struct Answer {
    /// The last job that it is done with, of those it had a part in.
    done: AtomicU64,
    /// It is asleep, or about to be.
    asleep: AtomicBool,
}

/// What caller and workers share. Models leave out what it releases, to show that they would find it.
pub(super) struct Desk<const RELEASES: bool = true> {
    seats: Box<[Seat]>,
    answers: Box<[Answer]>,
    /// Workers asleep, or about to be.
    asleep: AtomicUsize,
    /// Workers that have begun to attend.
    present: AtomicUsize,
    ended: AtomicBool,
    /// Of the workers, by seat: known once all have begun.
    threads: OnceLock<Vec<Thread>>,
    patience: Patience,
}

// SAFETY: the pointer in a seat's `job` is written by the caller while nobody has a part of the job before, and read by who
// has claimed one of this; what it points to is `Sync`.
unsafe impl<const RELEASES: bool> Send for Desk<RELEASES> {}
// SAFETY: as above.
unsafe impl<const RELEASES: bool> Sync for Desk<RELEASES> {}

impl<const RELEASES: bool> Desk<RELEASES> {
    const RELEASE: Ordering = if RELEASES { Ordering::Release } else { Ordering::Relaxed };

    /// For so many workers.
    pub(super) fn new(workers: usize) -> Self {
        let seat = |_| Seat { left: AtomicU64::new(0), job: UnsafeCell::new(None) };
        let answer = |_| Answer { done: AtomicU64::new(0), asleep: AtomicBool::new(false) };
        Desk {
            seats: (0..workers).map(seat).collect(),
            answers: (0..workers).map(answer).collect(),
            asleep: AtomicUsize::new(0),
            present: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            threads: OnceLock::new(),
            patience: Patience::of(workers + 1, LOOKS),
        }
    }

    /// Gives parts of a job to a worker.
    ///
    /// # Safety
    /// The worker's job before is [finished](Desk::finish), its number is another, and so will be this one before `job` ends.
    pub(super) unsafe fn give(&self, at: usize, number: u64, job: &dyn Job, parts: &Range<usize>) {
        // SAFETY: only the lifetime differs, and the caller sees to that.
        let job = unsafe { mem::transmute::<*const (dyn Job + '_), *const (dyn Job + 'static)>(job) };
        let seat = &self.seats[at];
        // SAFETY: the job before is finished, so that nobody reads it any more.
        seat.job.with_mut(|at| unsafe { *at = Some(job) });
        // Pairs with the acquire in `Seat::claim`.
        seat.left.store(Left::of(number, parts).0, Self::RELEASE);
    }

    /// Returns when all parts of a job that the `given` workers were given are done. The calling thread does the parts that no
    /// worker has claimed.
    pub(super) fn finish(&self, number: u64, job: &dyn Job, given: impl Iterator<Item = usize> + Clone) {
        let is_done = |at: usize| {
            // Pairs with the release in `attend`.
            self.answers[at].done.load(Ordering::Acquire) == number
        };
        let mut looks = if self.patience.looks == 0 { 0 } else { MOMENT };
        for at in given.clone() {
            while looks > 0 && !is_done(at) {
                looks -= 1;
                std::hint::spin_loop();
            }
        }
        let mut has_claimed = true;
        while std::mem::take(&mut has_claimed) {
            for at in given.clone().filter(|&at| !is_done(at)) {
                if let Some(parts) = self.seats[at].claim(number, 0) {
                    job.take_parts(parts);
                    has_claimed = true;
                }
            }
        }
        let patience = Patience { looks: if self.patience.looks == 0 { 0 } else { CALLER_LOOKS } };
        for at in given {
            // Nobody claims anything any more, so that this stays as it is.
            if Left(self.seats[at].left.load(Ordering::Relaxed)).is_attended() {
                wait_until(patience, || is_done(at));
            }
        }
    }

    /// What a worker does with the job in its seat. Whether it was in time.
    pub(super) fn attend(&self, at: usize, number: u64) -> bool {
        let (seat, answer) = (&self.seats[at], &self.answers[at]);
        let mut has_claimed = false;
        while let Some(parts) = seat.claim(number, Left::ATTENDED) {
            // SAFETY: it is of the job of this number, which is not finished before `done` says so.
            if let Some(job) = seat.job.with(|job| unsafe { *job }) {
                // SAFETY: it is valid until then, as `give` was promised.
                unsafe { (*job).take_parts(parts) };
            }
            has_claimed = true;
        }
        if has_claimed {
            // Pairs with the acquire in `finish`.
            answer.done.store(number, Self::RELEASE);
        }
        has_claimed
    }

    /// The number of the last job that a worker was given something of.
    pub(super) fn called(&self, at: usize) -> u64 {
        Left(self.seats[at].left.load(Ordering::Relaxed)).number()
    }

    fn sleeps(&self, at: usize) -> bool {
        self.answers.get(at).is_some_and(|answer| answer.asleep.load(Ordering::Relaxed))
    }

    /// Wakes a worker if it sleeps.
    fn wake(&self, at: usize) {
        if let Some(thread) =
            self.threads.get().and_then(|threads| threads.get(at)).filter(|_| self.sleeps(at))
        {
            thread.unpark();
        }
    }

    /// For the next job a worker wakes two others, who wake two each, so that many are awake soon.
    fn wake_two(&self, at: usize) {
        if self.asleep.load(Ordering::Relaxed) > 0 && !self.ended.load(Ordering::Relaxed) {
            self.wake(2 * at + 1);
            self.wake(2 * at + 2);
        }
    }
}

impl Seat {
    /// Half of the parts of a job that nobody has claimed, for the caller of this, and nobody else.
    fn claim(&self, number: u64, mark: u64) -> Option<Range<usize>> {
        let mut left = Left(self.left.load(Ordering::Relaxed));
        loop {
            let (parts, rest) = left.halved().filter(|_| left.number() == number)?;
            // Acquire: the job, and what was done before its parts were given.
            let changed =
                self.left.compare_exchange(left.0, rest.0 | mark, Ordering::Acquire, Ordering::Relaxed);
            match changed {
                Ok(_) => return Some(parts),
                Err(now) => left = Left(now),
            }
        }
    }
}

/// A vector with room for so many.
fn room<T>(entries: usize) -> Result<Vec<T>, Refused> {
    let mut room = Vec::new();
    room.try_reserve_exact(entries).map_err(|_| Refused::Memory)?;
    Ok(room)
}

/// See the [module's documentation](self).
pub(super) struct Crew {
    desk: Arc<Desk>,
    workers: Vec<JoinHandle<()>>,
    /// Where the workers are: a child of `fork` has none of them.
    process: u32,
    /// Workers in the order in which they are given something.
    called: Vec<usize>,
    /// Jobs so far.
    pub(super) jobs: u64,
}

impl Crew {
    /// The caller, and as many workers as make `threads`; fewer, if the system has no more threads to give.
    ///
    /// # Errors
    /// [`Refused::Memory`].
    pub(super) fn gather(threads: usize) -> Result<Self, Refused> {
        // The standard library aborts if it has no memory for a thread. Another thread of the program may still take what
        // is found here: there is no call that could be refused.
        let bytes = size_of::<Desk>() + threads * (THREAD_BYTES + size_of::<Seat>() + size_of::<Answer>());
        drop(room::<u8>(bytes)?);
        let mut workers: Vec<JoinHandle<()>> = room(threads - 1)?;
        let mut handles = room(threads - 1)?;
        let called = room(threads - 1)?;
        // Nothing is refused from here on: workers would stay, with nobody to tell them that they are not needed.
        let desk = Arc::new(Desk::<true>::new(threads - 1));
        for at in 0..threads - 1 {
            let desk = Arc::clone(&desk);
            // Its stack is as large as that of any thread: what is delivered there is the application's code.
            let builder = thread::Builder::new().name(NAME.to_owned());
            match builder.spawn(move || attend(&desk, at)) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        // What a thread allocates as it begins is allocated now, not in a later call.
        wait_until(Patience { looks: 0 }, || desk.present.load(Ordering::Relaxed) == workers.len());
        handles.extend(workers.iter().map(|worker| worker.thread().clone()));
        desk.threads.get_or_init(|| handles);
        Ok(Crew { desk, workers, process: process::id(), called, jobs: 0 })
    }

    /// Threads, the caller among them.
    pub(super) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls all to the next job, first those who are awake, and wakes one who is not, who wakes others: that takes longer than many
    /// a batch. How many threads are awake, the caller among them.
    pub(super) fn muster(&mut self) -> usize {
        let (desk, workers) = (&self.desk, self.workers.len());
        self.called.clear();
        self.called.extend((0..workers).filter(|&at| !desk.sleeps(at)));
        let awake = self.called.len();
        if awake < workers {
            for at in 0..workers {
                // Not asked again whether they sleep: the answer may have changed.
                if !self.called[..awake].contains(&at) {
                    self.called.push(at);
                }
            }
            desk.wake(self.called[awake]);
        }
        1 + awake
    }

    /// Whether all workers sleep, or are about to.
    pub(super) fn is_asleep(&self) -> bool {
        self.desk.asleep.load(Ordering::Relaxed) == self.workers.len()
    }

    /// Does a job: what `lead` gives to others, and what it does itself. Those who take part were [mustered](Crew::muster).
    pub(super) fn run<A>(&mut self, job: &dyn Job, lead: impl FnOnce(&mut Hands<'_>) -> A) -> A {
        self.jobs += 1;
        let number = self.jobs & NUMBERS;
        let mut hands = Hands { desk: &self.desk, number, job, called: &self.called, given: 0 };
        let led = lead(&mut hands);
        // Not left to `drop`, which calls it again if this panics.
        hands.finish();
        led
    }

    /// Bytes allocated. Not the stacks of the workers: what of them is used is not known.
    pub(super) fn bytes(&self) -> u64 {
        // What an `Arc` keeps beside it is two counts.
        let desk = 2 * size_of::<usize>() + size_of::<Desk>();
        let places = size_of_val(&*self.desk.seats) + size_of_val(&*self.desk.answers);
        let workers = self.workers.capacity() * size_of::<JoinHandle<()>>();
        (desk + places + workers + self.called.capacity() * size_of::<usize>()) as u64
    }
}

/// The workers who take part in a job. Finishes it when it ends, even if the caller's part panics: they have it in hand.
pub(super) struct Hands<'a> {
    desk: &'a Desk,
    number: u64,
    job: &'a dyn Job,
    called: &'a [usize],
    given: usize,
}

impl Hands<'_> {
    /// Gives parts to the next worker. The calling thread does not touch them any more.
    pub(super) fn give(&mut self, parts: &Range<usize>) {
        // SAFETY: the job before is finished, and so will be this one when `self` ends, before `job` does.
        unsafe { self.desk.give(self.called[self.given], self.number, self.job, parts) };
        self.given += 1;
    }

    fn finish(&mut self) {
        let given = self.called[..self.given].iter().copied();
        self.desk.finish(self.number, self.job, given);
        // Only now: if what the caller stands in for panics, workers still have the job, and this is called again.
        self.given = 0;
    }
}

impl Drop for Hands<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if process::id() != self.process {
            // They are another process's threads, which cannot be joined here, nor even let go of.
            self.workers.drain(..).for_each(mem::forget);
        }
        // Pairs with the acquire in `attend`.
        self.desk.ended.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // Nothing panics there: deliveries are caught.
            let _ = worker.join();
        }
    }
}

/// What a worker does.
fn attend(desk: &Desk, at: usize) {
    desk.present.fetch_add(1, Ordering::Relaxed);
    let (mut attended, mut looks, mut linger) = (0, 0, LINGER);
    let mut idle_since = Instant::now();
    loop {
        let called = desk.called(at);
        if called != attended {
            attended = called;
            desk.attend(at, called);
            desk.wake_two(at);
            (looks, idle_since) = (0, Instant::now());
        } else if looks < desk.patience.looks {
            looks += 1;
            std::hint::spin_loop();
        } else if desk.ended.load(Ordering::Acquire) {
            return;
        } else if desk.patience.looks > 0 && idle_since.elapsed() < linger {
            looks = 0;
        } else {
            let slept_since = Instant::now();
            sleep(desk, at);
            (looks, idle_since) = (0, Instant::now());
            linger = if idle_since - slept_since < NAP { NAP.min(2 * linger) } else { LINGER };
        }
    }
}

/// Sleeps until it is woken. A job given meanwhile is the caller's.
fn sleep(desk: &Desk, at: usize) {
    let asleep = &desk.answers[at].asleep;
    desk.asleep.fetch_add(1, Ordering::Relaxed);
    asleep.store(true, Ordering::Release);
    // Who ends the crew wakes all, asleep or not: if that was before, this returns at once.
    thread::park();
    asleep.store(false, Ordering::Release);
    desk.asleep.fetch_sub(1, Ordering::Relaxed);
    desk.wake_two(at);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Barrier;

    use super::*;

    /// Of its two parts the first lasts until it is let go, and the second panics.
    struct Failing {
        has_begun: Barrier,
        may_end: Barrier,
        is_done: AtomicBool,
    }

    impl Job for Failing {
        fn take_parts(&self, parts: Range<usize>) {
            if parts.start > 0 {
                resume_unwind(Box::new("this one fails"));
            }
            self.has_begun.wait();
            self.may_end.wait();
            self.is_done.store(true, Ordering::Release);
        }
    }

    #[test]
    fn job_outlives_panic_of_caller() {
        let desk = Desk::<true>::new(2);
        let job =
            Failing { has_begun: Barrier::new(2), may_end: Barrier::new(2), is_done: AtomicBool::new(false) };
        let mut hands = Hands { desk: &desk, number: 1, job: &job, called: &[0, 1], given: 0 };
        hands.give(&(0..1));
        hands.give(&(1..2));
        thread::scope(|scope| {
            scope.spawn(|| desk.attend(0, 1));
            job.has_begun.wait();
            // The second worker is not there.
            assert!(catch_unwind(AssertUnwindSafe(|| hands.finish())).is_err());
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                job.may_end.wait();
            });
            drop(hands);
            assert!(job.is_done.load(Ordering::Acquire), "a worker still has it");
        });
    }
}
