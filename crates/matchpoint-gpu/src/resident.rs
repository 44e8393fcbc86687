//! A kernel that stays on the card, fed batches through a ring that host and card see.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys;

use crate::batch::{Batch, Layout};
use crate::card::{Card, CardError, Stay, tried};
use crate::kernels::Kernel;
use crate::machine::{Grid, Machine, Memory};
use crate::patience::{PATIENCE, answered, has_come};

/// Messages, and receives, that a batch for the kernel has at most.
pub const SLOT_ENTRIES: usize = 1024;
/// Batches that may be under way.
const SLOTS: usize = 8;
/// Messages, and receives, that may wait for each other.
pub const CAPACITY: usize = 1 << 16;
/// Above the count of batches that were fed: the kernel is to stop.
const STOP: u64 = 1 << 32;

/// `Queue` of `kernels/resident.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Queue {
    messages: u64,
    receives: u64,
    opens: u64,
    message_names: u64,
    receive_names: u64,
}

/// `Resident` of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Arguments {
    messages: u64,
    receives: u64,
    opens: u64,
    counts: u64,
    pairs: u64,
    pair_counts: u64,
    fed: u64,
    done: u64,
    queues: [Queue; 2],
    matched: u64,
    is_taken: u64,
    seed: u64,
    slots: u32,
    padding: u32,
}

/// `Feed` of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Feed {
    messages: u64,
    receives: u64,
    opens: u64,
    ring_messages: u64,
    ring_receives: u64,
    ring_opens: u64,
    ring_counts: u64,
    fed: u64,
    done: u64,
    batches: u32,
    entries: u32,
    slots: u32,
    padding: u32,
}

/// Where the parts of a ring lie in its memory, in bytes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    receives: usize,
    opens: usize,
    counts: usize,
    pairs: usize,
    pair_counts: usize,
    fed: usize,
    done: usize,
    bytes: usize,
}

impl Shape {
    fn of(layout: Layout) -> Shape {
        let envelopes = SLOTS * SLOT_ENTRIES * 8 * layout.envelope_words();
        let receives = envelopes;
        let opens = receives + envelopes;
        let counts = opens + SLOTS * SLOT_ENTRIES * 8 * layout.open_words();
        let pairs = counts + SLOTS * 8;
        let pair_counts = pairs + SLOTS * 2 * SLOT_ENTRIES * 8;
        // Each on a line of its own: one side writes what the other reads again and again.
        let fed = (pair_counts + SLOTS * 4).next_multiple_of(128);
        let done = fed + 128;
        Shape { receives, opens, counts, pairs, pair_counts, fed, done, bytes: done + 128 }
    }
}

/// The card's own memory for the kernel.
#[derive(Debug)]
struct Queues<M: Machine> {
    memories: Vec<M::Memory>,
}

impl<M: Machine> Queues<M> {
    fn new(machine: &M, layout: Layout) -> Result<Self, M::Error> {
        let envelopes = CAPACITY * 8 * layout.envelope_words();
        let opens = CAPACITY * 8 * layout.open_words();
        let queue = [envelopes, envelopes, opens, CAPACITY * 4, CAPACITY * 4];
        let all = queue.into_iter().chain(queue).chain([CAPACITY * 4, CAPACITY * 4]);
        Ok(Queues { memories: all.map(|bytes| machine.allocate(bytes)).collect::<Result<_, _>>()? })
    }

    fn arguments(&self, ring: u64, shape: Shape, seed: u64) -> Arguments {
        let at = |index: usize| self.memories[index].address();
        let queue = |first: usize| Queue {
            messages: at(first),
            receives: at(first + 1),
            opens: at(first + 2),
            message_names: at(first + 3),
            receive_names: at(first + 4),
        };
        Arguments {
            messages: ring,
            receives: ring + shape.receives as u64,
            opens: ring + shape.opens as u64,
            counts: ring + shape.counts as u64,
            pairs: ring + shape.pairs as u64,
            pair_counts: ring + shape.pair_counts as u64,
            fed: ring + shape.fed as u64,
            done: ring + shape.done as u64,
            queues: [queue(0), queue(5)],
            matched: at(10),
            is_taken: at(11),
            seed,
            slots: SLOTS as u32,
            padding: 0,
        }
    }
}

/// Memory of the host that the card sees under the same address.
#[derive(Debug)]
struct Mapped {
    at: NonNull<u8>,
}

impl Mapped {
    fn new(bytes: usize) -> Result<Mapped, CardError> {
        let mut at = std::ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the driver writes the address where it is told; the card's context is current.
        let allocated = unsafe { sys::cuMemHostAlloc(&raw mut at, bytes, flags) }.result();
        tried("asking for memory that the card sees", allocated)?;
        // SAFETY: the driver gave so many bytes.
        unsafe { std::ptr::write_bytes(at.cast::<u8>(), 0, bytes) };
        Ok(Mapped { at: NonNull::new(at.cast()).expect("the driver gives memory or an error") })
    }

    /// The word at an offset.
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: within the memory, aligned as `Shape` lays it out, and only ever used as an atomic word, as by the card.
        unsafe { self.at.add(offset).cast().as_ref() }
    }

    /// The long word at an offset: `fed`, or the counts of a slot.
    fn long_word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.at.add(offset).cast().as_ref() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: from the driver, and given back once; no kernel uses it, for who owns both gives nothing back before the driver
        // has said so. A driver that fails here failed before, and said so then.
        let _ = unsafe { sys::cuMemFreeHost(self.at.as_ptr().cast()) };
    }
}

/// What a kernel has as long as it runs.
#[derive(Debug)]
struct Lent {
    card: Card,
    ring: Mapped,
    _queues: Queues<Card>,
    /// From the start on. Who is given up stays.
    stay: Option<Stay>,
}

/// A kernel that stays, fed by the host: what it is given is matched with what was left before, in MPI's order. It has a stream of its
/// own, behind which nothing waits: the card does other work beside it. Not so what the driver waits for all kernels with: to
/// synchronise the card, to give back memory where it has no pools of it, to load a kernel, which is therefore
/// [refused](CardError::IsStaying) to engines of this crate.
///
/// Dropped, it ends as [`stop`](Self::stop) says.
#[derive(Debug)]
pub struct Resident {
    layout: Layout,
    shape: Shape,
    /// None once it was given back, or up.
    lent: Option<Lent>,
    /// Whether a batch was waited for in vain.
    is_lost: bool,
    /// Batches fed, and taken: counted on, as the kernel does, from 0 again after 2³².
    fed: u32,
    done: u32,
    waiting: Waiting,
}

/// How many messages and receives the kernel's queues may have: those that no pair has been taken of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Waiting {
    messages: usize,
    receives: usize,
}

impl Waiting {
    fn has_room(self, batch: &Batch) -> bool {
        self.messages + batch.message_count() <= CAPACITY && self.receives + batch.receive_count() <= CAPACITY
    }

    fn fed(&mut self, batch: &Batch) {
        self.messages += batch.message_count();
        self.receives += batch.receive_count();
    }

    fn paired(&mut self, pairs: usize) {
        self.messages -= pairs;
        self.receives -= pairs;
    }
}

impl Resident {
    /// Starts it: one block, which stays on one multiprocessor until this is dropped.
    ///
    /// # Errors
    /// The driver failed; or it would wait for the end of the kernel: as it starts it ([`CardError::IsBlocking`]), or another that stays
    /// as it loads it ([`CardError::IsStaying`]); or it would end the kernel ([`CardError::IsWatched`]).
    pub fn start(card: &Card, layout: Layout, seed: u64) -> Result<Self, CardError> {
        let shape = Shape::of(layout);
        card.bind()?;
        card.load(Kernel::MatchResident, layout)?;
        let card = card.beside()?;
        let ring = Mapped::new(shape.bytes)?;
        let queues = Queues::new(&card, layout)?;
        let arguments = queues.arguments(ring.at.as_ptr() as u64, shape, seed);
        let threads = Kernel::MatchResident.threads_within(card.shared_bytes_most(), 1024, layout);
        // Made before it is started: dropped, it tells the kernel to stop, whatever fails from here on.
        let mut resident = Resident {
            layout,
            shape,
            lent: Some(Lent { card, ring, _queues: queues, stay: None }),
            is_lost: false,
            fed: 0,
            done: 0,
            waiting: Waiting::default(),
        };
        let lent = resident.lent.as_mut().expect("it has not ended");
        let grid = Grid { blocks: 1, threads };
        // SAFETY: as the source says; what it uses lives until `end` has seen it end.
        lent.stay =
            Some(unsafe { lent.card.launch_to_stay(Kernel::MatchResident, layout, grid, &arguments)? });
        Ok(resident)
    }

    /// Whether a batch may be fed before another is taken. If none is under way and it may not, too many messages or receives
    /// wait: more than [`CAPACITY`] with those of the batch.
    pub fn has_room(&self, batch: &Batch) -> bool {
        self.under_way() < SLOTS && self.waiting.has_room(batch)
    }

    /// Batches fed and not taken.
    pub fn under_way(&self) -> usize {
        self.fed.wrapping_sub(self.done) as usize
    }

    /// Feeds it a batch: messages and receives are called by their numbers, counted from the first batch on, and from 0 again after
    /// 2³² of them. No two that wait have the same, for no more than [`CAPACITY`] do.
    ///
    /// # Panics
    /// There is [no room](Self::has_room), or the batch has another layout or more than [`SLOT_ENTRIES`].
    pub fn feed(&mut self, batch: &Batch) {
        assert!(self.has_room(batch), "take what is done first");
        assert_eq!(batch.layout(), self.layout);
        let (counts, slot) = ([batch.message_count(), batch.receive_count()], self.fed as usize % SLOTS);
        assert!(counts.iter().all(|&count| count <= SLOT_ENTRIES), "{counts:?}");
        let (messages, receives, opens) = batch.words();
        let envelope_slot = slot * SLOT_ENTRIES * 8 * self.layout.envelope_words();
        let open_slot = slot * SLOT_ENTRIES * 8 * self.layout.open_words();
        self.copy(messages, envelope_slot);
        self.copy(receives, self.shape.receives + envelope_slot);
        self.copy(opens, self.shape.opens + open_slot);
        self.waiting.fed(batch);
        self.ring_up(counts[0] as u32, counts[1] as u32);
    }

    fn lent(&self) -> &Lent {
        self.lent.as_ref().expect("it has not ended")
    }

    fn ring(&self) -> &Mapped {
        &self.lent().ring
    }

    fn copy(&self, words: &[u64], offset: usize) {
        // SAFETY: within the ring, in a slot that the kernel is done with.
        unsafe {
            std::ptr::copy_nonoverlapping(
                words.as_ptr(),
                self.ring().at.add(offset).cast().as_ptr(),
                words.len(),
            );
        }
    }

    fn ring_up(&mut self, messages: u32, receives: u32) {
        let counts = self.shape.counts + self.fed as usize % SLOTS * 8;
        self.ring().long_word(counts).store(of_counts(messages, receives), Ordering::Relaxed);
        self.fed = self.fed.wrapping_add(1);
        // Partner: `load_acquire(resident.fed)` of `match_resident`, which reads the slot after it.
        self.ring().long_word(self.shape.fed).store(u64::from(self.fed), Ordering::Release);
    }

    /// Waits for the oldest batch under way; `each` is given the pairs, receive and message, in the order of posting.
    ///
    /// # Errors
    /// The driver failed, or the kernel has not answered for ten seconds: the batch may be waited for again.
    ///
    /// # Panics
    /// No batch is under way.
    pub fn take(&mut self, mut each: impl FnMut(u32, u32)) -> Result<usize, CardError> {
        assert!(self.under_way() > 0, "nothing is under way");
        // Partner: `store_release(resident.done, …)` of `match_resident`, which has written the pairs before it.
        let is_done = || self.ring().word(self.shape.done).load(Ordering::Acquire) != self.done;
        let lost = |why: &str| CardError::Driver("matching", why.to_owned());
        let answered = answered(PATIENCE, is_done, || self.lent().card.has_ended(), lost);
        self.is_lost = answered.is_err();
        answered?;
        let slot = self.done as usize % SLOTS;
        let count = self.ring().word(self.shape.pair_counts + 4 * slot).load(Ordering::Relaxed) as usize;
        let pairs = self.shape.pairs + slot * 2 * SLOT_ENTRIES * 8;
        for pair in 0..count {
            let word = |at: usize| self.ring().word(pairs + pair * 8 + at).load(Ordering::Relaxed);
            each(word(0), word(4));
        }
        self.done = self.done.wrapping_add(1);
        self.waiting.paired(count);
        Ok(count)
    }
}

impl Resident {
    /// Ends it: it matches what it was fed, of which the pairs are lost that were not taken, and then gives back its multiprocessor
    /// and its memory.
    ///
    /// # Errors
    /// The driver failed, or the kernel has not ended after ten seconds (at once, if a batch was waited for in vain before): then
    /// it is given up. It may still write to its memory, which therefore stays allocated, as its stream does, until the process
    /// ends; it has been told to stop, and does so if it ever gets to.
    pub fn stop(mut self) -> Result<(), CardError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), CardError> {
        let Some(lent) = self.lent.take() else { return Ok(()) };
        // Partner: as of `ring_up`; the count beside it is what was fed.
        lent.ring.long_word(self.shape.fed).store(STOP | u64::from(self.fed), Ordering::Release);
        let patience = if self.is_lost { Duration::ZERO } else { PATIENCE };
        // Asked, and not told by an event: that would wait in a queue of the card's that the application's streams may share.
        let ended = has_come(patience, || lent.card.has_ended());
        if ended == Ok(true) {
            return Ok(());
        }
        std::mem::forget(lent);
        ended.and(Err(CardError::Driver("ending a kernel that stays", "the kernel does not end".to_owned())))
    }
}

/// How many messages and receives a slot has, as the kernel reads it: one word.
fn of_counts(messages: u32, receives: u32) -> u64 {
    u64::from(receives) << 32 | u64::from(messages)
}

impl Drop for Resident {
    fn drop(&mut self) {
        // What failed was said before, or will be by the next call.
        let _ = self.end();
    }
}

/// The pairs of batches, receive and message, counted from the first batch on, in the order of posting: of a kernel that finds them
/// all in its ring as it begins, as many as that has room for, and ends with the last. For machines that do one thing at a time.
///
/// # Errors
/// The machine failed.
///
/// # Panics
/// There is no batch, or there are more than eight, or of several layouts, or one has more than [`SLOT_ENTRIES`].
pub fn fed_at_once<M: Machine>(
    machine: &M,
    threads: u32,
    batches: &[Batch],
    seed: u64,
) -> Result<Vec<Vec<(u32, u32)>>, M::Error> {
    let layout = batches[0].layout();
    assert!(batches.len() <= SLOTS && batches.iter().all(|batch| batch.layout() == layout));
    let shape = Shape::of(layout);
    let mut bytes = vec![0u8; shape.bytes];
    let mut put = |at: usize, from: &[u8]| bytes[at..at + from.len()].copy_from_slice(from);
    for (slot, batch) in batches.iter().enumerate() {
        let counts = [batch.message_count(), batch.receive_count()];
        assert!(counts.iter().all(|&count| count <= SLOT_ENTRIES), "{counts:?}");
        let (messages, receives, opens) = batch.words();
        let envelope_slot = slot * SLOT_ENTRIES * 8 * layout.envelope_words();
        put(envelope_slot, bytemuck::cast_slice(messages));
        put(shape.receives + envelope_slot, bytemuck::cast_slice(receives));
        put(shape.opens + slot * SLOT_ENTRIES * 8 * layout.open_words(), bytemuck::cast_slice(opens));
        put(shape.counts + slot * 8, bytemuck::bytes_of(&of_counts(counts[0] as u32, counts[1] as u32)));
    }
    put(shape.fed, bytemuck::bytes_of(&(STOP | batches.len() as u64)));
    let ring = machine.copied(&bytes)?;
    let queues = Queues::new(machine, layout)?;
    let arguments = queues.arguments(ring.address(), shape, seed);
    let threads = Kernel::MatchResident.threads_within(machine.shared_bytes_most(), threads, layout);
    // SAFETY: as the source says; all of it lives until `read` has seen it end.
    unsafe { machine.launch(Kernel::MatchResident, layout, Grid { blocks: 1, threads }, &arguments)? };
    machine.read(&ring, &mut bytes)?;
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let of = |slot: usize| {
        let pairs = shape.pairs + slot * 2 * SLOT_ENTRIES * 8;
        let count = word(shape.pair_counts + 4 * slot) as usize;
        (0..count).map(|pair| (word(pairs + pair * 8), word(pairs + pair * 8 + 4))).collect()
    };
    Ok((0..batches.len()).map(of).collect())
}

/// A ring in the memory of a machine, batches that lie there, and what feeds these into it: for a kernel that stays whose batches come
/// from the machine itself.
#[derive(Debug)]
struct Lying<M: Machine> {
    layout: Layout,
    shape: Shape,
    ring: M::Memory,
    _queues: Queues<M>,
    _batches: [M::Memory; 3],
    arguments: Arguments,
    feed: Feed,
}

impl<M: Machine> Lying<M> {
    /// # Panics
    /// As of [`fed_by_card`].
    fn new(machine: &M, stream: &Batch, entries: usize, seed: u64) -> Result<Self, M::Error> {
        assert!(entries <= SLOT_ENTRIES && stream.message_count() == stream.receive_count());
        assert!(stream.message_count() <= CAPACITY, "{} messages", stream.message_count());
        let (layout, batches) = (stream.layout(), stream.message_count() / entries);
        assert!(batches > 0, "nobody would say that it is to stop");
        let shape = Shape::of(layout);
        let (messages, receives, opens) = stream.words();
        let copied = |words: &[u64]| machine.copied(bytemuck::cast_slice(words));
        let lying = [copied(messages)?, copied(receives)?, copied(opens)?];
        let ring = machine.allocate(shape.bytes)?;
        let queues = Queues::new(machine, layout)?;
        let arguments = queues.arguments(ring.address(), shape, seed);
        let feed = Feed {
            messages: lying[0].address(),
            receives: lying[1].address(),
            opens: lying[2].address(),
            ring_messages: arguments.messages,
            ring_receives: arguments.receives,
            ring_opens: arguments.opens,
            ring_counts: arguments.counts,
            fed: arguments.fed,
            done: arguments.done,
            batches: batches as u32,
            entries: entries as u32,
            slots: SLOTS as u32,
            padding: 0,
        };
        Ok(Lying { layout, shape, ring, _queues: queues, _batches: lying, arguments, feed })
    }

    /// The pairs of the last batch, once all is done.
    fn last(&self, machine: &M) -> Result<usize, M::Error> {
        let mut ring = vec![0; self.shape.pair_counts + SLOTS * 4];
        machine.read(&self.ring, &mut ring)?;
        let slot = (self.feed.batches as usize - 1) % SLOTS;
        let count = &ring[self.shape.pair_counts + 4 * slot..][..4];
        Ok(u32::from_ne_bytes(count.try_into().expect("four bytes")) as usize)
    }
}

/// The pairs of the last of the batches of one stream, eight at most, which a kernel of the machine puts into the ring before the one
/// that stays begins: for machines that do one thing at a time.
///
/// # Errors
/// The machine failed.
///
/// # Panics
/// There are more than eight, or as of [`fed_by_card`].
pub fn fed_by_itself<M: Machine>(
    machine: &M,
    threads: u32,
    stream: &Batch,
    entries: usize,
    seed: u64,
) -> Result<usize, M::Error> {
    let lying = Lying::new(machine, stream, entries, seed)?;
    assert!(lying.feed.batches as usize <= SLOTS, "nobody makes room for more");
    let grid = Grid { blocks: 1, threads };
    // SAFETY: as the sources say; all of it lives until `last` has seen both end.
    unsafe {
        machine.launch(Kernel::FeedResident, lying.layout, grid, &lying.feed)?;
        machine.launch(Kernel::MatchResident, lying.layout, grid, &lying.arguments)?;
    }
    lying.last(machine)
}

/// Nanoseconds that a kernel that stays needs for batches of one stream that another block of the card feeds it, one after
/// the other; and the pairs of the last. Neither is waited for longer than `patience`: who has not ended by then is given up, as by
/// [`Resident::stop`].
///
/// # Errors
/// The driver failed, or one of both does not end.
///
/// # Panics
/// A batch has more than [`SLOT_ENTRIES`], or not as many receives as messages; there is none; or all of them together are more than
/// [`CAPACITY`], as many as may be left.
pub fn fed_by_card(
    card: &Card,
    stream: &Batch,
    entries: usize,
    seed: u64,
    patience: Duration,
) -> Result<(f64, usize), CardError> {
    card.load(Kernel::FeedResident, stream.layout())?;
    // Streams of their own: what is given up has nothing of the caller's behind it.
    let (staying, feeding) = (card.beside()?, card.beside()?);
    let lying = Lying::new(&staying, stream, entries, seed)?;
    // What was copied is there before anything of the other stream begins.
    staying.wait()?;
    let layout = lying.layout;
    let threads = Kernel::MatchResident.threads_within(card.shared_bytes_most(), 1024, layout);
    let begin = staying.moment()?;
    let grid = Grid { blocks: 1, threads };
    // SAFETY: as the sources say; all of it lives until both have ended, or for ever.
    let stay = unsafe { staying.launch_to_stay(Kernel::MatchResident, layout, grid, &lying.arguments)? };
    let feeds = Grid { blocks: 1, threads: 1024 };
    // SAFETY: the same.
    let fed = unsafe { feeding.launch(Kernel::FeedResident, layout, feeds, &lying.feed) };
    let told = match &fed {
        // Nobody else tells it to stop.
        Err(_) => feeding.write_beside(&lying.ring, lying.shape.fed, &STOP.to_ne_bytes()),
        Ok(()) => Ok(()),
    };
    let ended = fed.and_then(|()| feeding.ends_within(patience, "feeding a kernel that stays"));
    // Asked, and not told by an event, which waits for ever. What was not told to end is not waited for.
    let is_told = told.is_ok() && feeding.has_ended() == Ok(true);
    let patience = if is_told { patience } else { Duration::ZERO };
    let end = if ended.is_ok() { Some(staying.moment()) } else { None };
    if let Err(error) = staying.ends_within(patience, "ending a kernel that stays") {
        // It may still write to its memory, and what is given back waits for it.
        std::mem::forget((staying, feeding, lying, stay, begin, end));
        return Err(ended.err().unwrap_or(error));
    }
    drop(stay);
    ended?;
    let end = end.expect("both have ended")?;
    Ok((staying.between(&begin, &end)?, lying.last(&staying)?))
}

#[cfg(test)]
mod tests {
    use matchpoint::{ContextId, Envelope, Rank, Tag};

    use super::*;

    #[test]
    fn kept_entries_and_batch_must_fit() {
        let mut batch = Batch::empty(Layout::Packed);
        let envelope = Envelope::new(ContextId(0), Rank(1), Tag(2));
        assert!((0..SLOT_ENTRIES).all(|_| batch.push_message(&envelope)));
        let mut waiting = Waiting::default();
        for _ in 0..CAPACITY / SLOT_ENTRIES {
            assert!(waiting.has_room(&batch));
            waiting.fed(&batch);
        }
        assert!(!waiting.has_room(&batch));
        waiting.receives = SLOT_ENTRIES;
        waiting.paired(SLOT_ENTRIES);
        assert_eq!(waiting, Waiting { messages: CAPACITY - SLOT_ENTRIES, receives: 0 });
        assert!(waiting.has_room(&batch));
    }
}
