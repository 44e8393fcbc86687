//! Steps on their way from the simulation to the thread that measures.
//!
//! The simulation writes one long row of steps, of all ranks as they come, and sends it in chunks; the measuring
//! thread, which has less to do, sorts each chunk by rank, and makes the engines' types of what the simulation wrote in
//! half the bytes. A chunk has a few hundred steps of each rank, so that clocks need be read only once for those of one
//! rank, and caches are warm for most of them.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::step::{Brief, CallEnd, Sink, Step};

/// Steps of all ranks, and the ends of the calls that they belong to.
#[derive(Default)]
pub(crate) struct Chunk {
    steps: Vec<Brief>,
    /// Each with the number of steps before it.
    ends: Vec<(u32, CallEnd)>,
}

/// Steps per rank in a chunk, on average.
const STEPS_PER_RANK: usize = 256;

/// Steps in a chunk, at least and at most.
const CHUNK_MIN: usize = 4096;
const CHUNK_MAX: usize = 32_768;

/// Steps that may wait to be measured, in two to eight chunks: while the measuring thread flushes caches, a millisecond or
/// two at a time, the simulation goes on.
const IN_FLIGHT: usize = 65_536;

/// A call that takes so long may do what earlier ones have left to do.
const LONG_CALL_NS: u32 = 1000;

/// The sending end.
pub(crate) struct Batcher {
    open: Chunk,
    capacity: usize,
    full: SyncSender<Chunk>,
    /// Chunks that come back, to be filled again.
    returned: Receiver<Chunk>,
    /// By process: it has made a step since its last call ended.
    has_stepped: Vec<bool>,
}

fn capacity(processes: usize) -> usize {
    (processes * STEPS_PER_RANK).clamp(CHUNK_MIN, CHUNK_MAX)
}

/// Chunks that may wait to be measured.
pub(crate) fn chunks_in_flight(processes: usize) -> usize {
    (IN_FLIGHT / capacity(processes)).clamp(2, 8)
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Chunk>, returned: Receiver<Chunk>) -> Self {
        let capacity = capacity(processes);
        let open = Chunk { steps: Vec::with_capacity(capacity), ends: Vec::new() };
        Batcher { open, capacity, full, returned, has_stepped: vec![false; processes] }
    }

    /// Sends what is left.
    pub fn flush(mut self) {
        self.send();
    }

    #[cold]
    fn send(&mut self) {
        let mut spare = self.returned.try_recv().unwrap_or_default();
        spare.steps.clear();
        spare.steps.reserve(self.capacity);
        spare.ends.clear();
        // The receiver is gone only if it panicked, and that will be seen where it is joined.
        let _ = self.full.send(std::mem::replace(&mut self.open, spare));
    }
}

impl Sink for Batcher {
    #[inline]
    fn step(&mut self, step: Brief) {
        self.has_stepped[step.process as usize] = true;
        self.open.steps.push(step);
        if self.open.steps.len() == self.capacity {
            self.send();
        }
    }

    #[inline]
    fn ended(&mut self, end: CallEnd) {
        let has_stepped = std::mem::take(&mut self.has_stepped[end.process as usize]);
        if has_stepped || end.took_ns >= LONG_CALL_NS {
            self.open.ends.push((self.open.steps.len() as u32, end));
        }
    }
}

/// Steps sorted by process, those of one process in their order.
#[derive(Default)]
pub(crate) struct Sorted {
    steps: Vec<Step>,
    /// Where each process's steps begin, and one more.
    begins: Vec<u32>,
    /// Where the next step of each process goes.
    next: Vec<u32>,
    /// Ends of calls, each with the number of steps of its process in this chunk before it.
    ends: Vec<(u32, CallEnd)>,
}

impl Sorted {
    pub fn sort(&mut self, chunk: &Chunk, processes: usize) {
        let Chunk { steps: chunk, ends } = chunk;
        self.begins.clear();
        self.begins.resize(processes + 1, 0);
        for step in chunk {
            self.begins[step.process as usize + 1] += 1;
        }
        for process in 0..processes {
            self.begins[process + 1] += self.begins[process];
        }
        self.next.clone_from(&self.begins);
        self.steps.clear();
        self.ends.clear();
        if let Some(&any) = chunk.first() {
            self.steps.resize(chunk.len(), any.step());
        }
        let mut ends = ends.iter().peekable();
        for at in 0..=chunk.len() {
            while let Some(&(_, end)) = ends.next_if(|&&(before, _)| before as usize <= at) {
                let process = end.process as usize;
                self.ends.push((self.next[process] - self.begins[process], end));
            }
            let Some(step) = chunk.get(at) else { break };
            let next = &mut self.next[step.process as usize];
            self.steps[*next as usize] = step.step();
            *next += 1;
        }
    }

    /// Ends of calls, those of one process in their order, each with the number of its steps in this chunk before it.
    pub fn ends(&self) -> &[(u32, CallEnd)] {
        &self.ends
    }

    pub fn of(&self, process: usize) -> &[Step] {
        &self.steps[self.begins[process] as usize..self.begins[process + 1] as usize]
    }
}
