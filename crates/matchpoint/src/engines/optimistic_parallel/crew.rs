//! The threads that match batches: the caller, and workers that are made for the first one, look for the next for a moment
//! after each, then sleep, and end with the engine.
//!
//! ```text
//! caller   job ─▶ begun = n ─▶ its share ─▶ the shares whose seats nobody claimed ─▶ waits where claimed, not done
//! worker        sees n ─▶ seat: claimed n−1 → n ─▶ its share ─▶ seat: done = n
//! ```
//!
//! Every worker has a seat, and every job a number. The share of a seat is for whoever takes `claimed` from the number of
//! the last job to that of this one: the worker, or the caller once it has done its own. So nobody waits for a worker that
//! sleeps, but only for one that has begun; and one that comes late finds its seat claimed, and knows nothing of the job.
//! A job is borrowed from the caller, who returns when all seats are claimed and what workers claimed is done.

#![allow(unsafe_code)]

use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::engine::Refused;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, Patience, UnsafeCell, wait_until};

/// Address space for a worker's stack.
const STACK_BYTES: usize = 128 << 10;

/// What the standard library may allocate for a thread, and cannot do without: with so much at hand none is refused it.
const THREAD_BYTES: usize = 16 << 10;

/// So long a worker looks for the next job before it sleeps: less than it takes to wake it.
const LINGER: Duration = Duration::from_micros(50);

/// So often it looks between two looks at the clock.
const LOOKS: u32 = 32;

/// So often the caller looks whether a share is done before it lets others run.
const CALLER_LOOKS: u32 = 1000;

/// What threads do together.
pub(super) trait Job: Sync {
    /// Does a share of it: 0 is the caller's. Each is done once, by whichever thread.
    fn take_part(&self, share: usize);
}

/// Of a worker, in cache lines of its own.
#[repr(align(128))]
struct Seat {
    /// The last job of which this seat's share was claimed.
    claimed: AtomicU64,
    /// The last job of which the worker did it.
    done: AtomicU64,
    /// The worker is asleep, or about to be.
    asleep: AtomicBool,
}

/// What caller and workers share. Models leave out what it releases, to show that they would find it.
pub(super) struct Desk<const RELEASES: bool = true> {
    /// The job that has begun: valid until its last share is done.
    job: UnsafeCell<Option<*const (dyn Job + 'static)>>,
    /// Jobs begun.
    begun: AtomicU64,
    /// Workers asleep, or about to be.
    asleep: AtomicUsize,
    /// Workers that have begun to attend.
    present: AtomicUsize,
    ended: AtomicBool,
    seats: Box<[Seat]>,
    /// Of the workers, by seat: known once all have begun.
    threads: OnceLock<Vec<Thread>>,
    patience: Patience,
}

// SAFETY: the pointer in `job` is written by the caller while all seats of the job before are claimed and done, and read
// by those who have claimed a seat of this one; what it points to is `Sync`.
unsafe impl<const RELEASES: bool> Send for Desk<RELEASES> {}
// SAFETY: as above.
unsafe impl<const RELEASES: bool> Sync for Desk<RELEASES> {}

impl<const RELEASES: bool> Desk<RELEASES> {
    /// For so many workers.
    pub(super) fn new(workers: usize) -> Self {
        let seat =
            |_| Seat { claimed: AtomicU64::new(0), done: AtomicU64::new(0), asleep: AtomicBool::new(false) };
        Desk {
            job: UnsafeCell::new(None),
            begun: AtomicU64::new(0),
            asleep: AtomicUsize::new(0),
            present: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            seats: (0..workers).map(seat).collect(),
            patience: Patience::of(workers + 1, LOOKS),
            threads: OnceLock::new(),
        }
    }

    /// Begins a job. Returns its number.
    ///
    /// # Safety
    /// The job before is [finished](Desk::finish), and so will be this one before `job` ends.
    pub(super) unsafe fn begin(&self, job: &dyn Job) -> u64 {
        // SAFETY: only the lifetime differs, and the caller sees to that.
        let job = unsafe { std::mem::transmute::<*const (dyn Job + '_), *const (dyn Job + 'static)>(job) };
        // SAFETY: the job before is finished, so that nobody reads it any more.
        self.job.with_mut(|at| unsafe { *at = Some(job) });
        // Pairs with the acquire in `attend`; and, with the look at `asleep` that follows, with what a worker does before
        // it sleeps: one of the two sees the other.
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Sees all shares of a job done: those that nobody has claimed by the calling thread. Returns how many those were.
    pub(super) fn finish(&self, number: u64, job: &dyn Job) -> usize {
        let mut own = 0;
        for (at, seat) in self.seats.iter().enumerate() {
            // A look first: mostly the worker has it, and a look does not take the line away from it.
            if seat.claimed.load(Ordering::Relaxed) != number && seat.claim(number) {
                job.take_part(at + 1);
                // So that the wait below need not know who had it.
                seat.done.store(number, Ordering::Relaxed);
                own += 1;
            }
        }
        for seat in &self.seats {
            // Pairs with the release in `attend`.
            let patience = Patience { looks: if self.patience.looks == 0 { 0 } else { CALLER_LOOKS } };
            wait_until(patience, || seat.done.load(Ordering::Acquire) == number);
        }
        own
    }

    /// What a worker does with the job of that number. Whether it was in time.
    pub(super) fn attend(&self, at: usize, number: u64) -> bool {
        let seat = &self.seats[at];
        if !seat.claim(number) {
            return false;
        }
        // SAFETY: the job of this number has begun, and is not finished before `done` says so.
        let job = self.job.with(|job| unsafe { *job });
        if let Some(job) = job {
            // SAFETY: it is valid until then, as `begin` was promised.
            unsafe { (*job).take_part(at + 1) };
        }
        // Pairs with the acquire in `finish`.
        seat.done.store(number, if RELEASES { Ordering::Release } else { Ordering::Relaxed });
        true
    }

    /// Wakes a worker if it sleeps. Whether it did.
    fn wake(&self, at: usize) -> bool {
        let sleeps = self.seats.get(at).is_some_and(|seat| seat.asleep.load(Ordering::SeqCst));
        let thread = self.threads.get().and_then(|threads| threads.get(at)).filter(|_| sleeps);
        thread.map(Thread::unpark).is_some()
    }

    /// The number of the last job begun.
    pub(super) fn begun(&self) -> u64 {
        // Pairs with the release in `begin`.
        self.begun.load(Ordering::Acquire)
    }
}

impl Seat {
    /// Whether the caller of this has the seat's share of a job, and nobody else will.
    fn claim(&self, number: u64) -> bool {
        // Acquire: who claims after the worker's last `done` sees nothing of it otherwise. Every seat is claimed in every job.
        self.claimed.compare_exchange(number - 1, number, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// See the [module's documentation](self).
pub(super) struct Crew {
    desk: Arc<Desk>,
    workers: Vec<JoinHandle<()>>,
    /// Workers woken from sleep, and shares of theirs that the caller did, so far.
    pub(super) woken: u64,
    pub(super) stood_in: u64,
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
        let room = size_of::<Desk>() + threads * (THREAD_BYTES + size_of::<Seat>());
        Vec::<u8>::new().try_reserve_exact(room).map_err(|_| Refused::Memory)?;
        let mut workers = Vec::new();
        workers.try_reserve_exact(threads - 1).map_err(|_| Refused::Memory)?;
        let desk = Arc::new(Desk::<true>::new(threads - 1));
        for at in 0..threads - 1 {
            let desk = Arc::clone(&desk);
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            match builder.spawn(move || attend(&desk, at)) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        // What a thread allocates as it begins is allocated now, not in a later call.
        wait_until(Patience { looks: 0 }, || desk.present.load(Ordering::Relaxed) == workers.len());
        let mut handles = Vec::new();
        handles.try_reserve_exact(workers.len()).map_err(|_| Refused::Memory)?;
        handles.extend(workers.iter().map(|worker| worker.thread().clone()));
        desk.threads.get_or_init(|| handles);
        Ok(Crew { desk, workers, woken: 0, stood_in: 0, jobs: 0 })
    }

    /// Threads, the caller among them.
    pub(super) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Does a job: all of its shares, `lead` in place of the first.
    pub(super) fn run<A>(&mut self, job: &dyn Job, lead: impl FnOnce() -> A) -> A {
        // SAFETY: `Finish` finishes it when this function ends, however it does.
        let number = unsafe { self.desk.begin(job) };
        let mut finish = Finish { desk: &self.desk, number, job, stood_in: 0 };
        self.woken += self.wake();
        let led = lead();
        finish.now();
        self.stood_in += finish.stood_in;
        self.jobs += 1;
        std::mem::forget(finish);
        led
    }

    /// Wakes the first worker that sleeps, who wakes others: that takes longer than many a batch.
    fn wake(&self) -> u64 {
        if self.desk.asleep.load(Ordering::SeqCst) == 0 {
            return 0;
        }
        (0..self.workers.len()).find(|&at| self.desk.wake(at)).map_or(0, |_| 1)
    }

    /// Bytes held: allocated, and the stacks of the workers.
    pub(super) fn bytes(&self) -> u64 {
        // What an `Arc` keeps beside it is two counts.
        let desk = 2 * size_of::<usize>() + size_of::<Desk>() + size_of_val(&*self.desk.seats);
        let workers =
            self.workers.capacity() * size_of::<JoinHandle<()>>() + self.workers.len() * STACK_BYTES;
        (desk + workers) as u64
    }
}

/// Finishes a job even if the caller's share panics: workers have it in hand.
struct Finish<'a> {
    desk: &'a Desk,
    number: u64,
    job: &'a dyn Job,
    stood_in: u64,
}

impl Finish<'_> {
    fn now(&mut self) {
        self.stood_in += self.desk.finish(self.number, self.job) as u64;
    }
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.now();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Pairs with the acquire in `attend`.
        self.desk.ended.store(true, Ordering::SeqCst);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // It ends, or has panicked: there is nothing left to do for it.
            let _ = worker.join();
        }
    }
}

/// What a worker does.
fn attend(desk: &Desk, at: usize) {
    desk.present.fetch_add(1, Ordering::Relaxed);
    let (mut attended, mut looks) = (0, 0);
    let mut idle_since = Instant::now();
    loop {
        let begun = desk.begun();
        if begun != attended {
            attended = begun;
            desk.attend(at, begun);
            if desk.asleep.load(Ordering::Relaxed) > 0 {
                // For the next job: two each, so that many are awake soon.
                desk.wake(2 * at + 1);
                desk.wake(2 * at + 2);
            }
            (looks, idle_since) = (0, Instant::now());
        } else if desk.ended.load(Ordering::Acquire) {
            return;
        } else if looks < desk.patience.looks {
            looks += 1;
            std::hint::spin_loop();
        } else if desk.patience.looks > 0 && idle_since.elapsed() < LINGER {
            looks = 0;
        } else {
            sleep(desk, &desk.seats[at], attended);
            (looks, idle_since) = (0, Instant::now());
        }
    }
}

/// Sleeps until a job begins, or it is over.
fn sleep(desk: &Desk, seat: &Seat, attended: u64) {
    seat.asleep.store(true, Ordering::SeqCst);
    desk.asleep.fetch_add(1, Ordering::SeqCst);
    // Whoever begins a job after this look sees us asleep, and wakes us.
    if desk.begun.load(Ordering::SeqCst) == attended && !desk.ended.load(Ordering::SeqCst) {
        thread::park();
    }
    desk.asleep.fetch_sub(1, Ordering::SeqCst);
    seat.asleep.store(false, Ordering::SeqCst);
}
