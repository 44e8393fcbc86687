//! Offloaded matching: an engine in a separate thread, connected by rings.
//!
//! ```text
//! application ──▶ commands ──▶ ┌─────────┐ ──▶ completions ──▶ application
//! network     ──▶ messages ──▶ │ matcher │
//!                              └─────────┘  an engine with a memory budget
//! ```
//!
//! Each ring keeps its order.
//!
//! The matcher thread models the cores of a network card with separate memory (García et al. 2024, §IV). The
//! thread stops after a batch if engine and rings hold more than `budget_kib`. Then the application's thread
//! runs the same engine in `post` and `poll` (§III-B, §IV-E).
//!
//! The engine name is `offload:budget_kib=4608,ring=1024,engine=NAME`. A post costs the application one store
//! into a ring, a completion one load.

use std::collections::VecDeque;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine::{Engine, Message, MsgId, Receive, RecvId, Refused};
use crate::engines::{self, NameError};

use crate::ring::{Receiver, Sender, ring};
use crate::sync::{PollLimit, wait_until};

/// Default memory budget, in KiB: the caches of a BlueField-3's accelerator, 1.5 MiB and 3 MiB (§IV-E).
pub const BUDGET_KIB: u64 = 4608;

/// Default slots of a ring.
pub const RING: usize = 1024;

/// Polls without work before the matcher sleeps: about ten microseconds.
const POLLS: u32 = 500;

/// No thread wakes the matcher, so a post need not check for sleep.
const SLEEP: Duration = Duration::from_micros(50);

/// The application can lock the engine between two batches.
const BATCH: usize = 32;

/// Parameters of an [`Offload`].
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Maximum bytes of engine and rings.
    pub budget_bytes: u64,
    /// Slots of each ring.
    pub ring: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { budget_bytes: BUDGET_KIB << 10, ring: RING }
    }
}

/// Result of a posted receive or an arrived message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// The receive took the message.
    Matched(RecvId, MsgId),
    /// The engine refused the receive.
    ReceiveRefused(RecvId, Refused),
    /// The engine refused the message, which the application must handle.
    MessageRefused(MsgId, Refused),
}

/// A ring is full. The caller polls completions, then retries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// Used by the matcher thread, and after the fallback by the application's thread.
struct Matcher {
    engine: Box<dyn Engine>,
    commands: Receiver<Receive>,
    messages: Receiver<Message>,
    completions: Sender<Completion>,
    ring_bytes: u64,
    budget_bytes: u64,
}

struct Shared {
    matcher: Mutex<Matcher>,
    done: AtomicU64,
    is_wanted: AtomicBool,
    /// The application runs the matcher.
    has_fallen_back: AtomicBool,
    has_panicked: AtomicBool,
    has_ended: AtomicBool,
}

impl Shared {
    fn matcher(&self) -> MutexGuard<'_, Matcher> {
        self.matcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Panics
    /// If the engine has panicked.
    fn lock_matcher(&self) -> MutexGuard<'_, Matcher> {
        self.is_wanted.store(true, Ordering::Relaxed);
        let matcher = self.matcher();
        self.is_wanted.store(false, Ordering::Relaxed);
        assert!(!self.has_panicked.load(Ordering::Relaxed), "the engine panicked in the matcher's thread");
        matcher
    }
}

impl Matcher {
    /// Processes up to `limit` commands and messages, while the completion ring has free slots. Returns their
    /// number, and true if the memory is within the budget.
    fn process_batch(&mut self, limit: usize) -> (u64, bool) {
        let mut done = 0;
        for at in 0..limit {
            // Alternates between both rings.
            let steps: [fn(&mut Self) -> bool; 2] = [Self::process_command, Self::process_message];
            let took = self.completions.has_room(1) && (steps[at % 2](self) || steps[(at + 1) % 2](self));
            if !took {
                break;
            }
            done += 1;
        }
        // Some engines compute their memory in O(communicators).
        let is_within = done == 0 || self.budget_bytes == u64::MAX || self.held_bytes() <= self.budget_bytes;
        if !is_within {
            // The budget limits the matcher thread only.
            self.budget_bytes = u64::MAX;
        }
        (done, is_within)
    }

    /// Returns the number of posted receives, and true if the command ring is empty.
    fn take_commands(&mut self) -> (u64, bool) {
        let mut done = 0;
        while self.completions.has_room(1) {
            if !self.process_command() {
                return (done, true);
            }
            done += 1;
        }
        (done, false)
    }

    fn held_bytes(&self) -> u64 {
        self.engine.footprint().now_bytes() + self.ring_bytes
    }

    fn process_command(&mut self) -> bool {
        let Some(receive) = self.commands.take() else { return false };
        match self.engine.post(receive) {
            Ok(None) => {}
            Ok(Some(message)) => self.complete(Completion::Matched(receive.id, message)),
            Err(refused) => self.complete(Completion::ReceiveRefused(receive.id, refused)),
        }
        true
    }

    fn process_message(&mut self) -> bool {
        let Some(message) = self.messages.take() else { return false };
        match self.engine.arrive_message(message) {
            Ok(None) => {}
            Ok(Some(receive)) => self.complete(Completion::Matched(receive, message.id)),
            Err(refused) => self.complete(Completion::MessageRefused(message.id, refused)),
        }
        true
    }

    fn complete(&mut self, completion: Completion) {
        let put = self.completions.put(completion);
        debug_assert_eq!(put, Ok(()), "the ring had a free slot");
    }
}

/// The application's end of an offloaded engine.
pub struct Offload {
    shared: Arc<Shared>,
    commands: Sender<Receive>,
    completions: Receiver<Completion>,
    taken: VecDeque<Completion>,
    posted: u64,
    thread: Option<JoinHandle<()>>,
    /// A forked child has no matcher thread.
    process: u32,
    poll_limit: PollLimit,
}

/// The network's end of an offloaded engine.
pub struct Wire {
    messages: Sender<Message>,
    message_count: u64,
}

impl Wire {
    /// # Errors
    /// [`Busy`]: the ring is full.
    #[inline]
    pub fn arrive(&mut self, message: Message) -> Result<(), Busy> {
        self.messages.put(message).map_err(|_| Busy)?;
        self.message_count += 1;
        Ok(())
    }

    /// Messages passed so far.
    pub fn message_count(&self) -> u64 {
        self.message_count
    }
}

impl Offload {
    /// Starts a thread for `engine`.
    ///
    /// # Errors
    /// [`Refused::Memory`] if memory or a thread cannot be allocated.
    pub fn start(engine: Box<dyn Engine>, settings: Settings) -> Result<(Offload, Wire), Refused> {
        let (commands, command_receiver) = ring(settings.ring)?;
        let (messages, message_receiver) = ring(settings.ring)?;
        let (completion_sender, completions) = ring(settings.ring)?;
        let ring_bytes = commands.bytes() + messages.bytes() + completion_sender.bytes();
        let matcher = Matcher {
            engine,
            commands: command_receiver,
            messages: message_receiver,
            completions: completion_sender,
            ring_bytes,
            budget_bytes: settings.budget_bytes,
        };
        let shared = Arc::new(Shared {
            matcher: Mutex::new(matcher),
            done: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            has_fallen_back: AtomicBool::new(false),
            has_panicked: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        let poll_limit = PollLimit::of(2, POLLS);
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("matchpoint-offload".to_owned())
            .spawn(move || run_matcher(&own, poll_limit))
            .map_err(|_| Refused::Memory)?;
        let offload = Offload {
            shared,
            commands,
            completions,
            taken: VecDeque::new(),
            posted: 0,
            thread: Some(thread),
            process: process::id(),
            poll_limit,
        };
        Ok((offload, Wire { messages, message_count: 0 }))
    }

    /// Passes a receive to the matcher.
    ///
    /// # Errors
    /// [`Busy`]: the command ring is full.
    #[inline]
    pub fn post(&mut self, receive: Receive) -> Result<(), Busy> {
        if self.shared.has_fallen_back.load(Ordering::Relaxed) {
            self.match_in_caller();
        }
        self.commands.put(receive).map_err(|_| Busy)?;
        self.posted += 1;
        Ok(())
    }

    /// The next completion, if any.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion> {
        if !self.taken.is_empty() {
            return self.taken.pop_front();
        }
        self.completions.take().or_else(|| {
            if !self.shared.has_fallen_back.load(Ordering::Relaxed) {
                return None;
            }
            self.match_in_caller();
            self.completions.take()
        })
    }

    /// True after the fallback.
    pub fn fell_back(&self) -> bool {
        self.shared.has_fallen_back.load(Ordering::Acquire)
    }

    /// Waits until all posted receives and `messages` messages are processed. The completion ring must have
    /// free slots for all completions.
    pub fn wait_processed(&mut self, messages: u64) {
        let all = self.posted + messages;
        loop {
            let shared = &self.shared;
            wait_until(self.poll_limit, || {
                // Pairs with the release after each batch.
                shared.done.load(Ordering::Acquire) >= all || shared.has_fallen_back.load(Ordering::Acquire)
            });
            if self.shared.done.load(Ordering::Acquire) >= all {
                return;
            }
            self.match_in_caller();
        }
    }

    /// Calls `act` with the engine after all posted receives, for cancels and probes. Messages still in the
    /// ring have not arrived.
    ///
    /// # Panics
    /// If the engine has panicked.
    pub fn with_engine<A>(&mut self, act: impl FnOnce(&mut dyn Engine) -> A) -> A {
        loop {
            let mut matcher = self.shared.lock_matcher();
            let (done, is_all) = matcher.take_commands();
            self.shared.done.fetch_add(done, Ordering::Release);
            if is_all {
                return act(&mut *matcher.engine);
            }
            drop(matcher);
            self.taken.extend(std::iter::from_fn(|| self.completions.take()));
        }
    }

    /// Bytes of engine and rings.
    pub fn held_bytes(&self) -> u64 {
        self.shared.matcher().held_bytes()
    }

    #[cold]
    fn match_in_caller(&mut self) {
        // At most the slots of both rings: concurrent senders must not prolong this call forever.
        let mut matcher = self.shared.lock_matcher();
        let slots = matcher.commands.slots() + matcher.messages.slots();
        let (done, _) = matcher.process_batch(slots);
        drop(matcher);
        self.shared.done.fetch_add(done, Ordering::Release);
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take().filter(|_| self.process == process::id()) {
            // An error is a panic of the matcher.
            let _ = thread.join();
        }
    }
}

/// Records a panic, so that no thread waits for a panicked matcher.
struct PanicGuard<'a>(&'a Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.has_panicked.store(true, Ordering::Relaxed);
            // A thread that reads `has_fallen_back` as true also reads `has_panicked` as true.
            self.0.has_fallen_back.store(true, Ordering::Release);
        }
    }
}

fn run_matcher(shared: &Shared, poll_limit: PollLimit) {
    let _guard = PanicGuard(shared);
    let mut polls = 0;
    while !shared.has_ended.load(Ordering::Acquire) {
        if shared.is_wanted.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let (done, is_within) = shared.matcher().process_batch(BATCH);
        if done > 0 {
            // Pairs with the acquires in `wait_processed`.
            shared.done.fetch_add(done, Ordering::Release);
            polls = 0;
        }
        if !is_within {
            // The last access of the matcher thread. Afterwards only the application uses the matcher.
            shared.has_fallen_back.store(true, Ordering::Release);
            return;
        }
        if done == 0 {
            polls += 1;
            if polls < poll_limit.polls { std::hint::spin_loop() } else { thread::sleep(SLEEP) }
        }
    }
}

/// Starts `offload:budget_kib=…,ring=…,engine=NAME`. All text after `engine=` is the name of the inner
/// engine.
///
/// # Errors
/// The name has another form, or the name after `engine=` is unknown.
pub fn start(name: &str) -> Result<(Offload, Wire), NameError> {
    let (bare, rest) = name.split_once(':').unwrap_or((name, ""));
    let (own, inside) = rest.split_once("engine=").unwrap_or((rest, "hybrid"));
    let wrong = |what: String| NameError::new(what, "write offload:budget_kib=4608,ring=1024,engine=NAME");
    if bare != "offload" {
        return Err(wrong(format!("`{name}` is not the name of an offloaded engine")));
    }
    let mut settings = Settings::default();
    for part in own.split(',').filter(|part| !part.is_empty()) {
        let number = part.split_once('=').and_then(|(key, value)| Some((key, value.parse::<u64>().ok()?)));
        match number {
            Some(("budget_kib", kib)) if kib <= u64::MAX >> 10 => settings.budget_bytes = kib << 10,
            Some(("ring", slots @ 2..=0x10_0000)) => settings.ring = slots as usize,
            _ => {
                return Err(wrong(format!(
                    "engine `offload` has no parameter `{part}`, or its value is invalid"
                )));
            }
        }
    }
    let engine = engines::create(inside)?;
    Offload::start(engine, settings)
        .map_err(|refused| wrong(format!("engine `offload` cannot be started: {refused}")))
}
