//! The threads that match blocks: the caller, and workers that are made for the first block, spin for a moment after each,
//! then sleep until the next, and end with the engine.
//!
//! The lock around the round is what hands the tables back and forth. The caller has it to itself to begin and to commit a
//! block; all have it as readers in between. A worker that comes late finds no part left, or helps with the next block: it
//! need not know which block it is. So nobody waits for a worker that sleeps, but only for one that has begun a part.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, JoinHandle};

use super::round::Round;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::{Optimistic, Tally};
use crate::sync::wait_until;

/// Address space for a worker's stack.
const STACK_BYTES: usize = 128 << 10;

/// What the standard library may allocate for a thread, and cannot do without: with so much at hand none is refused it.
const THREAD_BYTES: usize = 16 << 10;

/// So often a worker looks for the next block before it sleeps: some ten microseconds.
const LOOKS: u32 = 500;

struct Shared<T: Tally> {
    round: RwLock<Round<T>>,
    /// Blocks begun. Workers that slept look at it before they take the lock.
    begun: AtomicU64,
    /// Workers that have begun to work.
    present: AtomicUsize,
    ended: AtomicBool,
}

impl<T: Tally> Shared<T> {
    // A thread that panicked holding the lock has not left the tables: they are the engine's again only by commit.
    fn read(&self) -> RwLockReadGuard<'_, Round<T>> {
        self.round.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Round<T>> {
        self.round.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the [module's documentation](self).
pub(super) struct Crew<T: Tally> {
    shared: Arc<Shared<T>>,
    workers: Vec<JoinHandle<()>>,
}

impl<T: Tally + Sync> Crew<T> {
    /// The caller, and as many workers as make `threads`; fewer, if the system has no more threads to give. `blank` are
    /// empty tables.
    ///
    /// # Errors
    /// [`Refused::Memory`].
    pub(super) fn gather(threads: usize, blank: Optimistic<T>) -> Result<Self, Refused> {
        // The standard library aborts if it has no memory for a thread. Another thread of the program may still take what
        // is found here: there is no call that could be refused.
        let room = size_of::<Shared<T>>() + threads * THREAD_BYTES;
        Vec::<u8>::new().try_reserve_exact(room).map_err(|_| Refused::Memory)?;
        let mut workers = Vec::new();
        workers.try_reserve_exact(threads - 1).map_err(|_| Refused::Memory)?;
        let shared = Arc::new(Shared {
            round: RwLock::new(Round::new(blank)),
            begun: AtomicU64::new(0),
            present: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        for _ in 1..threads {
            let shared = Arc::clone(&shared);
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            match builder.spawn(move || attend(&shared)) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        // What a thread allocates as it begins is allocated now, not in a later call.
        wait_until(|| shared.present.load(Ordering::Relaxed) == workers.len());
        Ok(Crew { shared, workers })
    }

    /// Matches a block of messages; appends the outcomes to `out`.
    ///
    /// # Errors
    /// `Err`: no memory, and nothing has begun. `Ok(Err(…))`: why a message may not wait; `out` has grown by those before.
    pub(super) fn play(
        &mut self,
        tables: &mut Optimistic<T>,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<Result<(), Refused>, Refused> {
        let parts = self.workers.len() + 1;
        self.shared.write().begin(tables, messages, parts)?;
        // Pairs with the acquire in `attend`, so that who is woken finds it. The block itself comes by the lock.
        self.shared.begun.fetch_add(1, Ordering::Release);
        self.wake();
        let round = self.shared.read();
        round.work();
        round.wait();
        drop(round);
        Ok(self.shared.write().commit(tables, out))
    }

    fn wake(&self) {
        self.workers.iter().for_each(|worker| worker.thread().unpark());
    }
}

impl<T: Tally> Crew<T> {
    /// What the round has to tell, between two blocks.
    pub(super) fn tell<A>(&self, of: impl FnOnce(&Round<T>) -> A) -> A {
        of(&self.shared.read())
    }

    /// Bytes held: allocated, and the stacks of the workers.
    pub(super) fn bytes(&self) -> u64 {
        let fixed = size_of::<Shared<T>>() + self.workers.capacity() * size_of::<JoinHandle<()>>();
        (fixed + self.workers.len() * STACK_BYTES) as u64 + self.tell(Round::bytes)
    }
}

impl<T: Tally> Drop for Crew<T> {
    fn drop(&mut self) {
        // Pairs with the acquire in `attend`.
        self.shared.ended.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // It ends, or has panicked: there is nothing left to do for it.
            let _ = worker.join();
        }
    }
}

/// What a worker does.
fn attend<T: Tally>(shared: &Shared<T>) {
    shared.present.fetch_add(1, Ordering::Relaxed);
    let (mut attended, mut looks) = (0, 0);
    loop {
        // Pairs with the releases in `play` and `drop`.
        let begun = shared.begun.load(Ordering::Acquire);
        if begun != attended {
            (attended, looks) = (begun, 0);
            shared.read().work();
        } else if shared.ended.load(Ordering::Acquire) {
            return;
        } else if looks < LOOKS {
            looks += 1;
            std::hint::spin_loop();
        } else {
            // Whoever begins a block or ends after we looked has unparked us by then, and we do not sleep.
            thread::park();
        }
    }
}
