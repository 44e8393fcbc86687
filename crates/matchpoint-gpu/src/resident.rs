//! A persistent kernel that receives batches through a ring in memory shared by host and card.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys;

use crate::batch::{Batch, Layout};
use crate::card::{Card, CardError, PersistentKernel, check};
use crate::kernels::Kernel;
use crate::machine::{Grid, Machine, Memory};
use crate::timeout::{TIMEOUT, wait_for_batch};

/// Maximum number of messages, and of receives, of a batch.
pub const SLOT_ENTRIES: usize = 1024;
/// Maximum number of batches in flight.
const SLOTS: usize = 8;
/// Maximum number of unmatched messages, and of unmatched receives.
pub const CAPACITY: usize = 1 << 16;
/// A flag above the count of submitted batches.
const STOP: u64 = 1 << 32;

/// `Queue` of `kernels/resident.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Queue {
    messages: u64,
    receives: u64,
    masks: u64,
    message_names: u64,
    receive_names: u64,
}

/// `Resident` of `kernels/resident.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Arguments {
    messages: u64,
    receives: u64,
    masks: u64,
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

/// `Feed` of `kernels/resident.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Feed {
    messages: u64,
    receives: u64,
    masks: u64,
    ring_messages: u64,
    ring_receives: u64,
    ring_masks: u64,
    ring_counts: u64,
    fed: u64,
    done: u64,
    batches: u32,
    entries: u32,
    slots: u32,
    padding: u32,
}

/// Offsets of the parts of a ring, in bytes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    receives: usize,
    masks: usize,
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
        let masks = receives + envelopes;
        let counts = masks + SLOTS * SLOT_ENTRIES * 8 * layout.mask_words();
        let pairs = counts + SLOTS * 8;
        let pair_counts = pairs + SLOTS * 2 * SLOT_ENTRIES * 8;
        // Separate cache lines: one side writes a word that the other polls.
        let fed = (pair_counts + SLOTS * 4).next_multiple_of(128);
        let done = fed + 128;
        Shape { receives, masks, counts, pairs, pair_counts, fed, done, bytes: done + 128 }
    }

    fn slot(self, layout: Layout, slot: usize, batch: &Batch) -> [(usize, &[u64]); 3] {
        let (messages, receives, masks) = batch.words();
        let envelopes = slot * SLOT_ENTRIES * 8 * layout.envelope_words();
        let masks_at = self.masks + slot * SLOT_ENTRIES * 8 * layout.mask_words();
        [(envelopes, messages), (self.receives + envelopes, receives), (masks_at, masks)]
    }
}

#[derive(Debug)]
struct Queues<M: Machine> {
    memories: Vec<M::Memory>,
}

impl<M: Machine> Queues<M> {
    fn new(machine: &M, layout: Layout) -> Result<Self, M::Error> {
        let envelopes = CAPACITY * 8 * layout.envelope_words();
        let masks = CAPACITY * 8 * layout.mask_words();
        let queue = [envelopes, envelopes, masks, CAPACITY * 4, CAPACITY * 4];
        let all = queue.into_iter().chain(queue).chain([CAPACITY * 4, CAPACITY * 4]);
        Ok(Queues { memories: all.map(|bytes| machine.allocate(bytes)).collect::<Result<_, _>>()? })
    }

    fn arguments(&self, ring: u64, shape: Shape, seed: u64) -> Arguments {
        let at = |index: usize| self.memories[index].address();
        let queue = |first: usize| Queue {
            messages: at(first),
            receives: at(first + 1),
            masks: at(first + 2),
            message_names: at(first + 3),
            receive_names: at(first + 4),
        };
        Arguments {
            messages: ring,
            receives: ring + shape.receives as u64,
            masks: ring + shape.masks as u64,
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

/// Host memory that the card sees at the same address.
#[derive(Debug)]
struct Mapped {
    at: NonNull<u8>,
}

impl Mapped {
    fn new(bytes: usize) -> Result<Mapped, CardError> {
        let mut at = std::ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the driver writes one address. The card's context is current.
        let allocated = unsafe { sys::cuMemHostAlloc(&raw mut at, bytes, flags) }.result();
        check("asking for memory that the card sees", allocated)?;
        // SAFETY: the driver allocated `bytes` bytes.
        unsafe { std::ptr::write_bytes(at.cast::<u8>(), 0, bytes) };
        Ok(Mapped { at: NonNull::new(at.cast()).expect("the driver gives memory or an error") })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: within the memory and aligned, by `Shape`. Host and card access the word atomically.
        unsafe { self.at.add(offset).cast().as_ref() }
    }

    fn long_word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as for `word`.
        unsafe { self.at.add(offset).cast().as_ref() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: allocated by the driver, freed once, after the driver has reported the kernel's end. A
        // failure follows an earlier failure.
        let _ = unsafe { sys::cuMemFreeHost(self.at.as_ptr().cast()) };
    }
}

#[derive(Debug)]
struct KernelResources {
    card: Card,
    ring: Mapped,
    _queues: Queues<Card>,
    running: Option<PersistentKernel>,
}

/// A persistent kernel. It matches each batch from the host with earlier unmatched entries, in MPI's order.
///
/// The kernel has a separate stream, so other work of the card runs concurrently. Operations that wait for
/// all kernels hang: synchronizing the card, freeing memory without pools, loading a kernel, which engines
/// therefore [refuse](CardError::PersistentKernelRuns). A drop ends the kernel as [`stop`](Self::stop) does.
#[derive(Debug)]
pub struct Resident {
    layout: Layout,
    shape: Shape,
    /// `None` after the resources were freed or abandoned.
    resources: Option<KernelResources>,
    is_lost: bool,
    /// Submitted and completed batches, modulo 2³².
    fed: u32,
    done: u32,
    waiting: QueueLengths,
}

/// Upper limits of the kernel's queue lengths: entries without a received pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct QueueLengths {
    messages: usize,
    receives: usize,
}

impl QueueLengths {
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
    /// Starts the kernel: one block, which occupies one multiprocessor until the drop.
    ///
    /// # Errors
    /// The driver fails. The driver would wait for a persistent kernel's end: at the launch
    /// ([`CardError::BlockingLaunches`]), or at the load with another such kernel
    /// ([`CardError::PersistentKernelRuns`]). The driver would end the kernel
    /// ([`CardError::KernelTimeLimit`]).
    pub fn start(card: &Card, layout: Layout, seed: u64) -> Result<Self, CardError> {
        let shape = Shape::of(layout);
        card.bind()?;
        card.load(Kernel::MatchResident, layout)?;
        let card = card.with_new_stream()?;
        let ring = Mapped::new(shape.bytes)?;
        let queues = Queues::new(&card, layout)?;
        let arguments = queues.arguments(ring.at.as_ptr() as u64, shape, seed);
        let threads = Kernel::MatchResident.threads_within(card.shared_bytes_max(), 1024, layout);
        // The drop of `resident` stops the kernel if a later step fails.
        let mut resident = Resident {
            layout,
            shape,
            resources: Some(KernelResources { card, ring, _queues: queues, running: None }),
            is_lost: false,
            fed: 0,
            done: 0,
            waiting: QueueLengths::default(),
        };
        let resources = resident.resources.as_mut().expect("the kernel has not ended");
        let grid = Grid { blocks: 1, threads };
        // SAFETY: the arguments have the source's types. All memory exists until the kernel ends, or leaks.
        resources.running = Some(unsafe {
            resources.card.launch_persistent(Kernel::MatchResident, layout, grid, &arguments)?
        });
        Ok(resident)
    }

    /// True if the kernel accepts the batch now. False without batches in flight: the unmatched entries and
    /// the batch exceed [`CAPACITY`].
    pub fn has_room(&self, batch: &Batch) -> bool {
        self.in_flight() < SLOTS && self.waiting.has_room(batch)
    }

    pub fn in_flight(&self) -> usize {
        self.fed.wrapping_sub(self.done) as usize
    }

    /// Submits a batch. Its entries get consecutive numbers, from the first batch on, modulo 2³². Numbers of
    /// unmatched entries differ, because at most [`CAPACITY`] exist.
    ///
    /// # Panics
    /// There is [no room](Self::has_room), the layout differs, or a side has more than [`SLOT_ENTRIES`]
    /// entries.
    pub fn feed(&mut self, batch: &Batch) {
        assert!(self.has_room(batch), "take completed batches first");
        assert_eq!(batch.layout(), self.layout);
        let (counts, slot) = ([batch.message_count(), batch.receive_count()], self.fed as usize % SLOTS);
        assert!(counts.iter().all(|&count| count <= SLOT_ENTRIES), "{counts:?}");
        for (offset, words) in self.shape.slot(self.layout, slot, batch) {
            self.copy(words, offset);
        }
        self.waiting.fed(batch);
        self.publish(counts[0] as u32, counts[1] as u32);
    }

    fn resources(&self) -> &KernelResources {
        self.resources.as_ref().expect("the kernel has not ended")
    }

    fn ring(&self) -> &Mapped {
        &self.resources().ring
    }

    fn copy(&self, words: &[u64], offset: usize) {
        // SAFETY: within the ring, in a slot that the kernel has finished.
        unsafe {
            std::ptr::copy_nonoverlapping(
                words.as_ptr(),
                self.ring().at.add(offset).cast().as_ptr(),
                words.len(),
            );
        }
    }

    fn publish(&mut self, messages: u32, receives: u32) {
        let counts = self.shape.counts + self.fed as usize % SLOTS * 8;
        self.ring().long_word(counts).store(pack_counts(messages, receives), Ordering::Relaxed);
        self.fed = self.fed.wrapping_add(1);
        // Pairs with `load_acquire(resident.fed)` in `match_resident`, which then reads the slot.
        self.ring().long_word(self.shape.fed).store(u64::from(self.fed), Ordering::Release);
    }

    /// Waits for the oldest batch in flight. Calls `each` with each pair (receive, message), in posted order.
    ///
    /// # Errors
    /// The driver fails, or the kernel does not complete the batch within ten seconds. The caller may wait
    /// again.
    ///
    /// # Panics
    /// No batch is in flight.
    pub fn take(&mut self, mut each: impl FnMut(u32, u32)) -> Result<usize, CardError> {
        assert!(self.in_flight() > 0, "no batch is in flight");
        // Pairs with `store_release(resident.done, …)` in `match_resident`, after the writes of the pairs.
        let is_done = || self.ring().word(self.shape.done).load(Ordering::Acquire) != self.done;
        let lost = |why: &str| CardError::Driver("matching", why.to_owned());
        let result = wait_for_batch(TIMEOUT, is_done, || self.resources().card.has_ended(), lost);
        self.is_lost = result.is_err();
        result?;
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
    /// Ends the kernel after all submitted batches, and frees its multiprocessor and memory. Pairs that were
    /// not taken are lost.
    ///
    /// # Errors
    /// The driver fails, or the kernel does not end within ten seconds, or at once if an earlier wait failed.
    /// Such a kernel is abandoned: memory and stream stay allocated until the process ends, because the
    /// kernel may still write. The stop flag stays set.
    pub fn stop(mut self) -> Result<(), CardError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), CardError> {
        let Some(resources) = self.resources.take() else { return Ok(()) };
        // Pairs with the same load as in `publish`. The lower half counts submitted batches.
        resources.ring.long_word(self.shape.fed).store(STOP | u64::from(self.fed), Ordering::Release);
        let timeout = if self.is_lost { Duration::ZERO } else { TIMEOUT };
        // A query, because an event would wait in a hardware queue that the application's streams may share.
        let ended = resources.card.wait_at_most(timeout, "ending a persistent kernel");
        if ended.is_err() {
            std::mem::forget(resources);
        }
        ended
    }
}

/// Message and receive count of a slot in one word, as the kernel reads it.
fn pack_counts(messages: u32, receives: u32) -> u64 {
    u64::from(receives) << 32 | u64::from(messages)
}

impl Drop for Resident {
    fn drop(&mut self) {
        // An error was reported before, or the next call reports the error.
        let _ = self.end();
    }
}

/// Pairs (receive, message) of each batch, numbered from the first batch on, in posted order. All batches are
/// in the ring before the kernel starts, for machines that run one operation at a time.
///
/// # Panics
/// No batch, more than eight batches, different layouts, or a side with more than [`SLOT_ENTRIES`] entries.
pub fn match_preloaded_batches<M: Machine>(
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
        for (offset, words) in shape.slot(layout, slot, batch) {
            put(offset, bytemuck::cast_slice(words));
        }
        put(shape.counts + slot * 8, bytemuck::bytes_of(&pack_counts(counts[0] as u32, counts[1] as u32)));
    }
    put(shape.fed, bytemuck::bytes_of(&(STOP | batches.len() as u64)));
    let ring = machine.copied(&bytes)?;
    let queues = Queues::new(machine, layout)?;
    let arguments = queues.arguments(ring.address(), shape, seed);
    let threads = Kernel::MatchResident.threads_within(machine.shared_bytes_max(), threads, layout);
    // SAFETY: the arguments have the source's types. All memory exists until `read` has seen the end.
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

/// A ring in the machine's memory, for a persistent kernel and a kernel that submits batches.
#[derive(Debug)]
struct CardRing<M: Machine> {
    layout: Layout,
    shape: Shape,
    memory: M::Memory,
    _queues: Queues<M>,
    _batches: [M::Memory; 3],
    arguments: Arguments,
    feed: Feed,
}

impl<M: Machine> CardRing<M> {
    /// # Panics
    /// As for [`match_stream_on_card`].
    fn new(machine: &M, stream: &Batch, entries: usize, seed: u64) -> Result<Self, M::Error> {
        assert!(entries <= SLOT_ENTRIES && stream.message_count() == stream.receive_count());
        assert!(stream.message_count() <= CAPACITY, "{} messages", stream.message_count());
        let (layout, batches) = (stream.layout(), stream.message_count() / entries);
        assert!(batches > 0, "without a batch, the kernel does not stop");
        let shape = Shape::of(layout);
        let (messages, receives, masks) = stream.words();
        let copied = |words: &[u64]| machine.copied(bytemuck::cast_slice(words));
        let copies = [copied(messages)?, copied(receives)?, copied(masks)?];
        let memory = machine.allocate(shape.bytes)?;
        let queues = Queues::new(machine, layout)?;
        let arguments = queues.arguments(memory.address(), shape, seed);
        let feed = Feed {
            messages: copies[0].address(),
            receives: copies[1].address(),
            masks: copies[2].address(),
            ring_messages: arguments.messages,
            ring_receives: arguments.receives,
            ring_masks: arguments.masks,
            ring_counts: arguments.counts,
            fed: arguments.fed,
            done: arguments.done,
            batches: batches as u32,
            entries: entries as u32,
            slots: SLOTS as u32,
            padding: 0,
        };
        Ok(CardRing { layout, shape, memory, _queues: queues, _batches: copies, arguments, feed })
    }

    /// Number of pairs of the last batch, after both kernels have ended.
    fn last(&self, machine: &M) -> Result<usize, M::Error> {
        let mut bytes = vec![0; self.shape.pair_counts + SLOTS * 4];
        machine.read(&self.memory, &mut bytes)?;
        let slot = (self.feed.batches as usize - 1) % SLOTS;
        let count = &bytes[self.shape.pair_counts + 4 * slot..][..4];
        Ok(u32::from_ne_bytes(count.try_into().expect("four bytes")) as usize)
    }
}

/// Number of pairs of the last batch of `stream`. A kernel submits the batches before the persistent kernel
/// starts, for machines that run one operation at a time.
///
/// # Panics
/// There are more than eight batches, or as for [`match_stream_on_card`].
pub fn match_preloaded_stream<M: Machine>(
    machine: &M,
    threads: u32,
    stream: &Batch,
    entries: usize,
    seed: u64,
) -> Result<usize, M::Error> {
    let ring = CardRing::new(machine, stream, entries, seed)?;
    assert!(ring.feed.batches as usize <= SLOTS, "the slots hold no more batches");
    let grid = Grid { blocks: 1, threads };
    // SAFETY: the arguments have the sources' types. All memory exists until `last` has seen both end.
    unsafe {
        machine.launch(Kernel::FeedResident, ring.layout, grid, &ring.feed)?;
        machine.launch(Kernel::MatchResident, ring.layout, grid, &ring.arguments)?;
    }
    ring.last(machine)
}

/// Nanoseconds of a persistent kernel for `stream`, and the pairs of the last batch. Another block submits
/// the batches one after the other. Waits at most `timeout` for each kernel, then abandons the kernel as
/// [`Resident::stop`] does.
///
/// # Errors
/// The driver fails, or a kernel does not end.
///
/// # Panics
/// A batch has more than [`SLOT_ENTRIES`] entries on a side, or differing sides. There is no batch, or the
/// stream exceeds [`CAPACITY`].
pub fn match_stream_on_card(
    card: &Card,
    stream: &Batch,
    entries: usize,
    seed: u64,
    timeout: Duration,
) -> Result<(f64, usize), CardError> {
    card.load(Kernel::FeedResident, stream.layout())?;
    // The caller's operations do not wait for an abandoned kernel.
    let (persistent, feeder) = (card.with_new_stream()?, card.with_new_stream()?);
    let ring = CardRing::new(&persistent, stream, entries, seed)?;
    // The copies end before the other stream starts.
    persistent.wait()?;
    let layout = ring.layout;
    let threads = Kernel::MatchResident.threads_within(card.shared_bytes_max(), 1024, layout);
    let begin = persistent.record_event()?;
    let grid = Grid { blocks: 1, threads };
    // SAFETY: the arguments have the sources' types. All memory exists until both kernels end, or leaks.
    let running =
        unsafe { persistent.launch_persistent(Kernel::MatchResident, layout, grid, &ring.arguments)? };
    let feeds = Grid { blocks: 1, threads: 1024 };
    // SAFETY: the arguments have the sources' types. All memory exists until both kernels end, or leaks.
    let fed = unsafe { feeder.launch(Kernel::FeedResident, layout, feeds, &ring.feed) };
    let stopped = match &fed {
        // Without the second kernel, only the host can stop the persistent kernel.
        Err(_) => feeder.write_concurrently(&ring.memory, ring.shape.fed, &STOP.to_ne_bytes()),
        Ok(()) => Ok(()),
    };
    let ended = fed.and_then(|()| feeder.wait_at_most(timeout, "submitting to a persistent kernel"));
    // A query, because an event waits without limit.
    let is_fed = stopped.is_ok() && feeder.has_ended() == Ok(true);
    let timeout = if is_fed { timeout } else { Duration::ZERO };
    let end = if ended.is_ok() { Some(persistent.record_event()) } else { None };
    if let Err(error) = persistent.wait_at_most(timeout, "ending a persistent kernel") {
        // The kernel may still write to its memory, and freeing memory waits for it.
        std::mem::forget((persistent, feeder, ring, running, begin, end));
        return Err(ended.err().unwrap_or(error));
    }
    drop(running);
    ended?;
    let end = end.expect("both have ended")?;
    Ok((persistent.elapsed_ns(&begin, &end)?, ring.last(&persistent)?))
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
        let mut waiting = QueueLengths::default();
        for _ in 0..CAPACITY / SLOT_ENTRIES {
            assert!(waiting.has_room(&batch));
            waiting.fed(&batch);
        }
        assert!(!waiting.has_room(&batch));
        waiting.receives = SLOT_ENTRIES;
        waiting.paired(SLOT_ENTRIES);
        assert_eq!(waiting, QueueLengths { messages: CAPACITY - SLOT_ENTRIES, receives: 0 });
        assert!(waiting.has_room(&batch));
    }
}
