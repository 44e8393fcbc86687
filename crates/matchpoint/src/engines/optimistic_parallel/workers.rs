//! Worker threads of the engine, started at the first batch.
//!
//! A worker polls for a moment after each job, then sleeps.
//!
//! A worker has a mailbox for a job and a range of parts, and a status that only the worker writes, in
//! separate cache lines. A worker polls one cache line, and no two workers write the same cache line.
//!
//! Worker and caller claim half of the remaining parts at a time by compare-and-swap. A late worker finds no
//! part and does not access the job. The caller runs its own parts, then the unclaimed parts of all workers,
//! and waits only for parts that a worker runs.
//!
//! A job is borrowed from the caller, which returns after all claimed parts are done. In a child of `fork`,
//! which has no workers, the caller runs all parts.

#![allow(unsafe_code)]

use std::mem;
use std::ops::Range;
use std::process;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::engine::Refused;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, PollLimit, UnsafeCell, wait_until};

const NAME: &str = "matchpoint-worker";

/// Bytes that the standard library allocates for a thread, or aborts.
const THREAD_BYTES: usize = 16 << 10;

/// Polls of an idle worker last about as long as waking a worker.
const POLL_TIME: Duration = Duration::from_micros(50);

/// A worker that sleeps for less doubles its polling time.
const POLL_TIME_MAX: Duration = Duration::from_millis(1);

/// Polls between two reads of the clock.
const POLLS: u32 = 32;

/// Polls of the caller before it reads the mailboxes: a read takes the cache line from the worker.
const FINISH_POLLS: u32 = if cfg!(all(test, loom)) { 0 } else { 16 };

const CALLER_POLLS: u32 = 1000;

const PART_BITS: u32 = 11;

pub(super) const PARTS: usize = (1 << PART_BITS) - 1;

pub(super) trait Job: Sync {
    /// Each part runs once, in any thread.
    fn run_parts(&self, parts: Range<usize>);
}

/// Maximum job number. Numbers repeat after 2^41 jobs, which take weeks.
const NUMBERS: u64 = u64::MAX >> (2 * PART_BITS + 1);

/// The job number, a bit that the worker sets with its first claim, the first unclaimed part, and the end of
/// the parts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct UnclaimedParts(u64);

impl UnclaimedParts {
    const JOINED: u64 = 1 << (2 * PART_BITS);

    fn of(number: u64, parts: &Range<usize>) -> Self {
        UnclaimedParts(number << (2 * PART_BITS + 1) | (parts.start as u64) << PART_BITS | parts.end as u64)
    }

    fn number(self) -> u64 {
        self.0 >> (2 * PART_BITS + 1)
    }

    fn is_joined(self) -> bool {
        self.0 & Self::JOINED != 0
    }

    fn parts(self) -> Range<usize> {
        (self.0 >> PART_BITS) as usize & PARTS..self.0 as usize & PARTS
    }

    fn split_half(self) -> Option<(Range<usize>, Self)> {
        let Range { start, end } = self.parts();
        let middle = start + end.checked_sub(start)?.div_ceil(2);
        let left = UnclaimedParts(self.0 + (((middle - start) as u64) << PART_BITS));
        (middle > start).then_some((start..middle, left))
    }
}

#[repr(align(128))]
struct Mailbox {
    left: AtomicU64,
    /// The pointer is valid while a part of the job is unclaimed or running.
    job: UnsafeCell<Option<*const (dyn Job + 'static)>>,
}

#[repr(align(128))]
struct WorkerStatus {
    /// The last job with parts that this worker finished.
    done: AtomicU64,
    is_asleep: AtomicBool,
}

/// With `RELEASES` false, the loom models must detect the missing release.
pub(super) struct PoolState<const RELEASES: bool = true> {
    mailboxes: Box<[Mailbox]>,
    statuses: Box<[WorkerStatus]>,
    asleep: AtomicUsize,
    started: AtomicUsize,
    has_ended: AtomicBool,
    threads: OnceLock<Vec<Thread>>,
    poll_limit: PollLimit,
}

// SAFETY: the caller writes `job` when no part of the last job is running. A thread reads it after claiming a
// part. The job is `Sync`.
unsafe impl<const RELEASES: bool> Send for PoolState<RELEASES> {}
// SAFETY: claims order all accesses to `job`, and the job is `Sync`.
unsafe impl<const RELEASES: bool> Sync for PoolState<RELEASES> {}

impl<const RELEASES: bool> PoolState<RELEASES> {
    const RELEASE: Ordering = if RELEASES { Ordering::Release } else { Ordering::Relaxed };

    pub(super) fn new(workers: usize) -> Self {
        let mailbox = |_| Mailbox { left: AtomicU64::new(0), job: UnsafeCell::new(None) };
        let status = |_| WorkerStatus { done: AtomicU64::new(0), is_asleep: AtomicBool::new(false) };
        PoolState {
            mailboxes: (0..workers).map(mailbox).collect(),
            statuses: (0..workers).map(status).collect(),
            asleep: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            threads: OnceLock::new(),
            poll_limit: PollLimit::of(workers + 1, POLLS),
        }
    }

    /// # Safety
    /// The worker's last job is [finished](PoolState::finish) and has another number. This job is finished
    /// before `job` ends.
    pub(super) unsafe fn assign(&self, at: usize, number: u64, job: &dyn Job, parts: &Range<usize>) {
        // SAFETY: only the lifetime differs, which the caller guarantees.
        let job = unsafe { mem::transmute::<*const (dyn Job + '_), *const (dyn Job + 'static)>(job) };
        let mailbox = &self.mailboxes[at];
        // SAFETY: the last job is finished, so no thread reads the pointer.
        mailbox.job.with_mut(|at| unsafe { *at = Some(job) });
        // Pairs with the acquire in `Mailbox::claim`.
        mailbox.left.store(UnclaimedParts::of(number, parts).0, Self::RELEASE);
    }

    /// Runs unclaimed parts of the `given` workers, and waits for other parts.
    pub(super) fn finish(&self, number: u64, job: &dyn Job, given: impl Iterator<Item = usize> + Clone) {
        let is_done = |at: usize| {
            // Pairs with the release in `run_parts`.
            self.statuses[at].done.load(Ordering::Acquire) == number
        };
        let mut polls = if self.poll_limit.polls == 0 { 0 } else { FINISH_POLLS };
        for at in given.clone() {
            while polls > 0 && !is_done(at) {
                polls -= 1;
                std::hint::spin_loop();
            }
        }
        let mut has_claimed = true;
        while std::mem::take(&mut has_claimed) {
            for at in given.clone().filter(|&at| !is_done(at)) {
                if let Some(parts) = self.mailboxes[at].claim(number, 0) {
                    job.run_parts(parts);
                    has_claimed = true;
                }
            }
        }
        let poll_limit = PollLimit { polls: if self.poll_limit.polls == 0 { 0 } else { CALLER_POLLS } };
        for at in given {
            // No part is unclaimed.
            if UnclaimedParts(self.mailboxes[at].left.load(Ordering::Relaxed)).is_joined() {
                wait_until(poll_limit, || is_done(at));
            }
        }
    }

    /// Returns false if there was no part.
    pub(super) fn run_parts(&self, at: usize, number: u64) -> bool {
        let (mailbox, status) = (&self.mailboxes[at], &self.statuses[at]);
        let mut has_claimed = false;
        while let Some(parts) = mailbox.claim(number, UnclaimedParts::JOINED) {
            // SAFETY: the claimed part is of this job, which is not finished before the store of `done`.
            if let Some(job) = mailbox.job.with(|job| unsafe { *job }) {
                // SAFETY: `assign` keeps the job valid until the store of `done`.
                unsafe { (*job).run_parts(parts) };
            }
            has_claimed = true;
        }
        if has_claimed {
            // Pairs with the acquire in `finish`.
            status.done.store(number, Self::RELEASE);
        }
        has_claimed
    }

    pub(super) fn assigned_job(&self, at: usize) -> u64 {
        UnclaimedParts(self.mailboxes[at].left.load(Ordering::Relaxed)).number()
    }

    fn is_asleep(&self, at: usize) -> bool {
        self.statuses.get(at).is_some_and(|status| status.is_asleep.load(Ordering::Relaxed))
    }

    fn wake(&self, at: usize) {
        if let Some(thread) =
            self.threads.get().and_then(|threads| threads.get(at)).filter(|_| self.is_asleep(at))
        {
            thread.unpark();
        }
    }

    /// Wakes two more workers.
    fn wake_next(&self, at: usize) {
        if self.asleep.load(Ordering::Relaxed) > 0 && !self.has_ended.load(Ordering::Relaxed) {
            self.wake(2 * at + 1);
            self.wake(2 * at + 2);
        }
    }
}

impl Mailbox {
    fn claim(&self, number: u64, mark: u64) -> Option<Range<usize>> {
        let mut left = UnclaimedParts(self.left.load(Ordering::Relaxed));
        loop {
            let (parts, rest) = left.split_half().filter(|_| left.number() == number)?;
            // Makes the job visible, and all writes before its assignment.
            let changed =
                self.left.compare_exchange(left.0, rest.0 | mark, Ordering::Acquire, Ordering::Relaxed);
            match changed {
                Ok(_) => return Some(parts),
                Err(now) => left = UnclaimedParts(now),
            }
        }
    }
}

fn reserved_vec<T>(entries: usize) -> Result<Vec<T>, Refused> {
    let mut reserved_vec = Vec::new();
    reserved_vec.try_reserve_exact(entries).map_err(|_| Refused::Memory)?;
    Ok(reserved_vec)
}

pub(super) struct WorkerPool {
    pool: Arc<PoolState>,
    workers: Vec<JoinHandle<()>>,
    /// The process that started the workers.
    process: u32,
    assigned: Vec<usize>,
    pub(super) jobs: u64,
}

impl WorkerPool {
    /// Starts `threads - 1` workers, or fewer if the system has no more threads.
    pub(super) fn start(threads: usize) -> Result<Self, Refused> {
        // The standard library aborts if it cannot allocate a thread. This check reduces the risk.
        let bytes = size_of::<PoolState>()
            + threads * (THREAD_BYTES + size_of::<Mailbox>() + size_of::<WorkerStatus>());
        drop(reserved_vec::<u8>(bytes)?);
        let mut workers: Vec<JoinHandle<()>> = reserved_vec(threads - 1)?;
        let mut handles = reserved_vec(threads - 1)?;
        let assigned = reserved_vec(threads - 1)?;
        // No error from here on: the workers would never end.
        let pool = Arc::new(PoolState::<true>::new(threads - 1));
        for at in 0..threads - 1 {
            let pool = Arc::clone(&pool);
            // The stack has the default size, because deliveries run code of the application.
            let builder = thread::Builder::new().name(NAME.to_owned());
            match builder.spawn(move || run_worker(&pool, at)) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        // Waits for all threads to start, so that none allocates in a later call.
        wait_until(PollLimit { polls: 0 }, || pool.started.load(Ordering::Relaxed) == workers.len());
        handles.extend(workers.iter().map(|worker| worker.thread().clone()));
        pool.threads.get_or_init(|| handles);
        Ok(WorkerPool { pool, workers, process: process::id(), assigned, jobs: 0 })
    }

    /// The number includes the caller.
    pub(super) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Orders the workers for the next job, awake workers first. Wakes one sleeping worker, which wakes
    /// others: waking takes longer than a short batch. Returns the number of awake threads, the caller
    /// included.
    pub(super) fn wake_workers(&mut self) -> usize {
        let (pool, workers) = (&self.pool, self.workers.len());
        self.assigned.clear();
        self.assigned.extend((0..workers).filter(|&at| !pool.is_asleep(at)));
        let awake = self.assigned.len();
        if awake < workers {
            for at in 0..workers {
                // The list of awake workers decides, because `is_asleep` may have changed since.
                if !self.assigned[..awake].contains(&at) {
                    self.assigned.push(at);
                }
            }
            pool.wake(self.assigned[awake]);
        }
        1 + awake
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.pool.asleep.load(Ordering::Relaxed) == self.workers.len()
    }

    /// `distribute` assigns parts to workers and runs the caller's parts. Call
    /// [`wake_workers`](WorkerPool::wake_workers) first.
    pub(super) fn run<A>(&mut self, job: &dyn Job, distribute: impl FnOnce(&mut Assignments<'_>) -> A) -> A {
        self.jobs += 1;
        let number = self.jobs & NUMBERS;
        let mut assignments =
            Assignments { pool: &self.pool, number, job, assigned: &self.assigned, given: 0 };
        let result = distribute(&mut assignments);
        // After a panic, `drop` makes this call.
        assignments.finish();
        result
    }

    pub(super) fn bytes(&self) -> u64 {
        // An `Arc` has two counters.
        let pool = 2 * size_of::<usize>() + size_of::<PoolState>();
        let places = size_of_val(&*self.pool.mailboxes) + size_of_val(&*self.pool.statuses);
        let workers = self.workers.capacity() * size_of::<JoinHandle<()>>();
        (pool + places + workers + self.assigned.capacity() * size_of::<usize>()) as u64
    }
}

/// Drop finishes the job, even if a part of the caller panics.
pub(super) struct Assignments<'a> {
    pool: &'a PoolState,
    number: u64,
    job: &'a dyn Job,
    assigned: &'a [usize],
    given: usize,
}

impl Assignments<'_> {
    pub(super) fn assign(&mut self, parts: &Range<usize>) {
        // SAFETY: the last job is finished. `self` finishes this job on drop, before `job` ends.
        unsafe { self.pool.assign(self.assigned[self.given], self.number, self.job, parts) };
        self.given += 1;
    }

    fn finish(&mut self) {
        let given = self.assigned[..self.given].iter().copied();
        self.pool.finish(self.number, self.job, given);
        // Last: after a panic, `drop` calls `finish` again.
        self.given = 0;
    }
}

impl Drop for Assignments<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if process::id() != self.process {
            // A forked child cannot join threads of its parent.
            self.workers.drain(..).for_each(mem::forget);
        }
        // Pairs with the acquire in `run_parts`.
        self.pool.has_ended.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // Panics of deliveries are caught.
            let _ = worker.join();
        }
    }
}

fn run_worker(pool: &PoolState, at: usize) {
    pool.started.fetch_add(1, Ordering::Relaxed);
    let (mut last_number, mut polls, mut poll_time) = (0, 0, POLL_TIME);
    let mut idle_since = Instant::now();
    loop {
        let assigned = pool.assigned_job(at);
        if assigned != last_number {
            last_number = assigned;
            pool.run_parts(at, assigned);
            pool.wake_next(at);
            (polls, idle_since) = (0, Instant::now());
        } else if polls < pool.poll_limit.polls {
            polls += 1;
            std::hint::spin_loop();
        } else if pool.has_ended.load(Ordering::Acquire) {
            return;
        } else if pool.poll_limit.polls > 0 && idle_since.elapsed() < poll_time {
            polls = 0;
        } else {
            let slept_since = Instant::now();
            sleep(pool, at);
            (polls, idle_since) = (0, Instant::now());
            poll_time = if idle_since - slept_since < POLL_TIME_MAX {
                POLL_TIME_MAX.min(2 * poll_time)
            } else {
                POLL_TIME
            };
        }
    }
}

fn sleep(pool: &PoolState, at: usize) {
    let asleep = &pool.statuses[at].is_asleep;
    pool.asleep.fetch_add(1, Ordering::Relaxed);
    asleep.store(true, Ordering::Release);
    // After an earlier unpark, `park` returns at once.
    thread::park();
    asleep.store(false, Ordering::Release);
    pool.asleep.fetch_sub(1, Ordering::Relaxed);
    pool.wake_next(at);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Barrier;

    use super::*;

    /// The first part waits for a barrier, the second panics.
    struct Failing {
        has_begun: Barrier,
        may_end: Barrier,
        is_done: AtomicBool,
    }

    impl Job for Failing {
        fn run_parts(&self, parts: Range<usize>) {
            if parts.start > 0 {
                resume_unwind(Box::new("the second part panics"));
            }
            self.has_begun.wait();
            self.may_end.wait();
            self.is_done.store(true, Ordering::Release);
        }
    }

    #[test]
    fn job_outlives_panic_of_caller() {
        let pool = PoolState::<true>::new(2);
        let job =
            Failing { has_begun: Barrier::new(2), may_end: Barrier::new(2), is_done: AtomicBool::new(false) };
        let mut assignments = Assignments { pool: &pool, number: 1, job: &job, assigned: &[0, 1], given: 0 };
        assignments.assign(&(0..1));
        assignments.assign(&(1..2));
        thread::scope(|scope| {
            scope.spawn(|| pool.run_parts(0, 1));
            job.has_begun.wait();
            assert!(catch_unwind(AssertUnwindSafe(|| assignments.finish())).is_err());
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                job.may_end.wait();
            });
            drop(assignments);
            assert!(job.is_done.load(Ordering::Acquire), "drop waits for the worker's part");
        });
    }
}
