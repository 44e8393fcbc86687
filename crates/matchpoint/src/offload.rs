//! Matching off the application's thread: an engine that works in a thread of its own, behind rings.
//!
//! ```text
//! application ──▶ commands ──▶ ┌─────────┐ ──▶ completions ──▶ application
//! the wire    ──▶ messages ──▶ │ matcher │
//!                              └─────────┘  an engine, and no more memory than its budget
//! ```
//!
//! The application posts and goes on; what its receives came to it learns when it polls. The matcher takes commands and
//! messages as they come, one after the other: that is the order in which they happened, within each ring that in which they
//! were put in. It stands for the cores of a network card (García et al. 2024, §IV), which have a memory of their own: when
//! the engine holds more than `budget_kib` the matcher stops, and the application falls back (§III-B, §IV-E): the same engine
//! goes on where it was, in the application's thread, as it posts and polls. It looks after so many commands and messages as it
//! takes without letting go of the engine: 32.
//!
//! An application uses it as an [`Offload`]. Its name is `offload:budget_kib=4608,ring=1024,engine=NAME`.
//!
//! A post costs the application 1 store into a ring, a completion 1 load, and a cache line that comes from another core for
//! each few of them; whatever the engine costs.

use std::collections::VecDeque;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine::{Engine, Message, MsgId, Receive, RecvId, Refused};
use crate::engines::{self, NameError};

use crate::ring::{Receiver, Sender, ring};
use crate::sync::{Patience, wait_until};

/// Memory of the matcher, unless another budget is named: the caches of a BlueField-3's accelerator, 1.5 MiB and 3 MiB
/// (§IV-E).
pub const BUDGET_KIB: u64 = 4608;

/// Places of each ring, unless another number is named.
pub const RING: usize = 1024;

/// So often the matcher looks for work before it naps: some ten microseconds.
const LOOKS: u32 = 500;

/// So long it naps. Nobody wakes it, so that a post need not look whether it sleeps.
const NAP: Duration = Duration::from_micros(50);

/// Commands and messages taken between two looks at whether someone waits for the engine.
const TURNS: usize = 32;

/// How it is made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes that the engine and the rings may hold.
    pub budget_bytes: u64,
    /// Places of each ring.
    pub ring: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { budget_bytes: BUDGET_KIB << 10, ring: RING }
    }
}

/// What came of something that was handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// A receive has its message.
    Matched(RecvId, MsgId),
    /// A receive was not taken.
    ReceiveRefused(RecvId, Refused),
    /// A message was not taken: it came off the wire, and the application decides what becomes of it.
    MessageRefused(MsgId, Refused),
}

/// The rings are full: poll, then try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// What takes commands: run by the matcher's thread, or, after the fall-back, by the application's.
struct Matcher {
    engine: Box<dyn Engine>,
    commands: Receiver<Receive>,
    messages: Receiver<Message>,
    completions: Sender<Completion>,
    /// Of rings.
    ring_bytes: u64,
    budget_bytes: u64,
}

struct Shared {
    matcher: Mutex<Matcher>,
    /// Commands and messages done: written by who runs the matcher.
    done: AtomicU64,
    /// The application waits for the engine: the matcher lets go of it between two turns.
    is_wanted: AtomicBool,
    /// The budget is exhausted: the application runs the matcher.
    fell_back: AtomicBool,
    /// The engine panicked in the matcher's thread.
    panicked: AtomicBool,
    ended: AtomicBool,
}

impl Shared {
    fn matcher(&self) -> MutexGuard<'_, Matcher> {
        self.matcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the application: the matcher lets go of it.
    ///
    /// # Panics
    /// The engine has panicked.
    fn claim(&self) -> MutexGuard<'_, Matcher> {
        self.is_wanted.store(true, Ordering::Relaxed);
        let matcher = self.matcher();
        self.is_wanted.store(false, Ordering::Relaxed);
        assert!(!self.panicked.load(Ordering::Relaxed), "the engine panicked in the matcher's thread");
        matcher
    }
}

impl Matcher {
    /// Takes at most so many commands and messages, as long as there is room for what comes of them. How many it took;
    /// whether the budget still holds.
    fn turn(&mut self, most: usize) -> (u64, bool) {
        let mut done = 0;
        for at in 0..most {
            // In turns, so that neither waits for ever.
            let turns: [fn(&mut Self) -> bool; 2] = [Self::command, Self::message];
            let took = self.completions.has_room(1) && (turns[at % 2](self) || turns[(at + 1) % 2](self));
            if !took {
                break;
            }
            done += 1;
        }
        // Some engines look at every communicator to tell.
        let is_within = done == 0 || self.budget_bytes == u64::MAX || self.held_bytes() <= self.budget_bytes;
        if !is_within {
            // It binds the matcher's thread, not the application.
            self.budget_bytes = u64::MAX;
        }
        (done, is_within)
    }

    /// Takes the receives that were handed in, as long as there is room for what comes of them. How many it took; whether
    /// these were all.
    fn take_commands(&mut self) -> (u64, bool) {
        let mut done = 0;
        while self.completions.has_room(1) {
            if !self.command() {
                return (done, true);
            }
            done += 1;
        }
        (done, false)
    }

    fn held_bytes(&self) -> u64 {
        self.engine.footprint().now_bytes() + self.ring_bytes
    }

    fn command(&mut self) -> bool {
        let Some(receive) = self.commands.take() else { return false };
        match self.engine.post(receive) {
            Ok(None) => {}
            Ok(Some(message)) => self.complete(Completion::Matched(receive.id, message)),
            Err(refused) => self.complete(Completion::ReceiveRefused(receive.id, refused)),
        }
        true
    }

    fn message(&mut self) -> bool {
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
        debug_assert_eq!(put, Ok(()), "there was room");
    }
}

/// The application's side. See the [module's documentation](self).
pub struct Offload {
    shared: Arc<Shared>,
    commands: Sender<Receive>,
    completions: Receiver<Completion>,
    /// Taken out of their ring to make room, and not polled yet.
    early: VecDeque<Completion>,
    /// Receives handed in.
    posted: u64,
    thread: Option<JoinHandle<()>>,
    /// That started it: a child that it forks has no such thread.
    process: u32,
    patience: Patience,
}

/// Where messages come from: whoever has it hands them in.
pub struct Wire {
    messages: Sender<Message>,
    handed_in: u64,
}

impl Wire {
    /// A message arrives.
    ///
    /// # Errors
    /// [`Busy`]: the matcher is behind.
    #[inline]
    pub fn arrive(&mut self, message: Message) -> Result<(), Busy> {
        self.messages.put(message).map_err(|_| Busy)?;
        self.handed_in += 1;
        Ok(())
    }

    /// Messages handed in so far.
    pub fn handed_in(&self) -> u64 {
        self.handed_in
    }
}

impl Offload {
    /// Has `engine` work in a thread of its own.
    ///
    /// # Errors
    /// [`Refused::Memory`]: there is none, or there are no more threads to be had.
    pub fn start(engine: Box<dyn Engine>, settings: Settings) -> Result<(Offload, Wire), Refused> {
        let (commands, to_do) = ring(settings.ring)?;
        let (messages, from_wire) = ring(settings.ring)?;
        let (to_tell, completions) = ring(settings.ring)?;
        let ring_bytes = commands.bytes() + messages.bytes() + to_tell.bytes();
        let matcher = Matcher {
            engine,
            commands: to_do,
            messages: from_wire,
            completions: to_tell,
            ring_bytes,
            budget_bytes: settings.budget_bytes,
        };
        let shared = Arc::new(Shared {
            matcher: Mutex::new(matcher),
            done: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            fell_back: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let patience = Patience::of(2, LOOKS);
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("matchpoint-offload".to_owned())
            .spawn(move || work(&own, patience))
            .map_err(|_| Refused::Memory)?;
        let offload = Offload {
            shared,
            commands,
            completions,
            early: VecDeque::new(),
            posted: 0,
            thread: Some(thread),
            process: process::id(),
            patience,
        };
        Ok((offload, Wire { messages, handed_in: 0 }))
    }

    /// Hands in a receive.
    ///
    /// # Errors
    /// [`Busy`]: the matcher is behind, or completions are waiting.
    #[inline]
    pub fn post(&mut self, receive: Receive) -> Result<(), Busy> {
        if self.shared.fell_back.load(Ordering::Relaxed) {
            self.work_here();
        }
        self.commands.put(receive).map_err(|_| Busy)?;
        self.posted += 1;
        Ok(())
    }

    /// What came of something handed in before, if there is news.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion> {
        if !self.early.is_empty() {
            return self.early.pop_front();
        }
        self.completions.take().or_else(|| {
            if !self.shared.fell_back.load(Ordering::Relaxed) {
                return None;
            }
            self.work_here();
            self.completions.take()
        })
    }

    /// Whether the budget was exhausted, and matching is done by whoever calls here.
    pub fn fell_back(&self) -> bool {
        self.shared.fell_back.load(Ordering::Acquire)
    }

    /// Waits until all that was handed in is done: receives here, and so many messages. Completions have to be polled by
    /// then, or there must be room for them.
    pub fn settle(&mut self, messages: u64) {
        let all = self.posted + messages;
        loop {
            let shared = &self.shared;
            wait_until(self.patience, || {
                // Pairs with the release of who runs the matcher.
                shared.done.load(Ordering::Acquire) >= all || shared.fell_back.load(Ordering::Acquire)
            });
            if self.shared.done.load(Ordering::Acquire) >= all {
                return;
            }
            self.work_here();
        }
    }

    /// Calls `act` with the engine, once it has taken all receives that were handed in: so a receive is cancelled whether or not
    /// the matcher came to it, and a probe sees what an earlier receive left. Messages that were handed in and not taken have
    /// not arrived yet.
    ///
    /// # Panics
    /// The engine has panicked.
    pub fn with_engine<A>(&mut self, act: impl FnOnce(&mut dyn Engine) -> A) -> A {
        loop {
            let mut matcher = self.shared.claim();
            let (done, is_all) = matcher.take_commands();
            self.shared.done.fetch_add(done, Ordering::Release);
            if is_all {
                return act(&mut *matcher.engine);
            }
            drop(matcher);
            self.early.extend(std::iter::from_fn(|| self.completions.take()));
        }
    }

    /// Bytes that the engine and the rings hold.
    pub fn held_bytes(&self) -> u64 {
        self.shared.matcher().held_bytes()
    }

    #[cold]
    fn work_here(&mut self) {
        // As many as the rings have places: who hands in meanwhile does not keep this thread here.
        let mut matcher = self.shared.claim();
        let places = matcher.commands.places() + matcher.messages.places();
        let (done, _) = matcher.turn(places);
        drop(matcher);
        self.shared.done.fetch_add(done, Ordering::Release);
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take().filter(|_| self.process == process::id()) {
            // It ends, or has panicked: there is nothing left to do for it.
            let _ = thread.join();
        }
    }
}

/// Says so if the matcher's thread panics, so that nobody waits for it.
struct Watch<'a>(&'a Shared);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.panicked.store(true, Ordering::Relaxed);
            // Who sees it comes upon that.
            self.0.fell_back.store(true, Ordering::Release);
        }
    }
}

/// What the matcher's thread does.
fn work(shared: &Shared, patience: Patience) {
    let _watch = Watch(shared);
    let mut looks = 0;
    while !shared.ended.load(Ordering::Acquire) {
        if shared.is_wanted.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let (done, is_within) = shared.matcher().turn(TURNS);
        if done > 0 {
            // Pairs with the acquires in `settle`.
            shared.done.fetch_add(done, Ordering::Release);
            looks = 0;
        }
        if !is_within {
            // The last that this thread does: who sees it has the matcher to itself.
            shared.fell_back.store(true, Ordering::Release);
            return;
        }
        if done == 0 {
            looks += 1;
            if looks < patience.looks { std::hint::spin_loop() } else { thread::sleep(NAP) }
        }
    }
}

/// Has the engine of a name `offload:budget_kib=…,ring=…,engine=NAME` work in a thread of its own: all that follows `engine=` is
/// the name inside.
///
/// # Errors
/// It is not called so, or what is inside is no engine.
pub fn start(name: &str) -> Result<(Offload, Wire), NameError> {
    let (bare, rest) = name.split_once(':').unwrap_or((name, ""));
    let (own, inside) = rest.split_once("engine=").unwrap_or((rest, "hybrid"));
    let wrong = |what: String| NameError::new(what, "it is offload:budget_kib=4608,ring=1024,engine=NAME");
    if bare != "offload" {
        return Err(wrong(format!("`{name}` is no offloaded engine")));
    }
    let mut settings = Settings::default();
    for part in own.split(',').filter(|part| !part.is_empty()) {
        let number = part.split_once('=').and_then(|(key, value)| Some((key, value.parse::<u64>().ok()?)));
        match number {
            Some(("budget_kib", kib)) if kib <= u64::MAX >> 10 => settings.budget_bytes = kib << 10,
            Some(("ring", places @ 2..=0x10_0000)) => settings.ring = places as usize,
            _ => return Err(wrong(format!("engine `offload` does not take `{part}`"))),
        }
    }
    let engine = engines::create(inside)?;
    Offload::start(engine, settings)
        .map_err(|refused| wrong(format!("engine `offload` cannot be started: {refused}")))
}
