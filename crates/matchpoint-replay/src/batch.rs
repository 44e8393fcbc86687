//! Chunks of steps from the simulation to the measuring thread.
//!
//! The measuring thread sorts the compact steps of a chunk by rank. A chunk has a few hundred steps of each
//! rank, so that one time measurement covers many steps with warm caches.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::step::{CallEnd, CompactStep, Step, StepSink};

#[derive(Default)]
pub(crate) struct Chunk {
    steps: Vec<CompactStep>,
    ends: Vec<(u32, CallEnd)>,
}

const STEPS_PER_RANK: usize = 256;

const CHUNK_MIN: usize = 4096;
const CHUNK_MAX: usize = 32_768;

/// Steps in the queue to the measuring thread, in two to eight chunks. The thread flushes caches for one to
/// two milliseconds, and steps queue up meanwhile.
const IN_FLIGHT: usize = 65_536;

/// Calls of at least this length may execute searches that earlier calls had no time for.
const LONG_CALL_NS: u32 = 1000;

pub(crate) struct Batcher {
    open: Chunk,
    capacity: usize,
    full: SyncSender<Chunk>,
    returned: Receiver<Chunk>,
    has_stepped: Vec<bool>,
}

fn capacity(processes: usize) -> usize {
    (processes * STEPS_PER_RANK).clamp(CHUNK_MIN, CHUNK_MAX)
}

pub(crate) fn chunks_in_flight(processes: usize) -> usize {
    (IN_FLIGHT / capacity(processes)).clamp(2, 8)
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Chunk>, returned: Receiver<Chunk>) -> Self {
        let capacity = capacity(processes);
        let open = Chunk { steps: Vec::with_capacity(capacity), ends: Vec::new() };
        Batcher { open, capacity, full, returned, has_stepped: vec![false; processes] }
    }

    pub fn flush(mut self) {
        self.send_chunk();
    }

    #[cold]
    fn send_chunk(&mut self) {
        let mut spare = self.returned.try_recv().unwrap_or_default();
        spare.steps.clear();
        spare.steps.reserve(self.capacity);
        spare.ends.clear();
        // `send` fails only if the measuring thread panicked, which its join reports.
        let _ = self.full.send(std::mem::replace(&mut self.open, spare));
    }
}

impl StepSink for Batcher {
    #[inline]
    fn record_step(&mut self, step: CompactStep) {
        self.has_stepped[step.process as usize] = true;
        self.open.steps.push(step);
        if self.open.steps.len() == self.capacity {
            self.send_chunk();
        }
    }

    #[inline]
    fn end_call(&mut self, end: CallEnd) {
        let has_stepped = std::mem::take(&mut self.has_stepped[end.process as usize]);
        if has_stepped || end.took_ns >= LONG_CALL_NS {
            self.open.ends.push((self.open.steps.len() as u32, end));
        }
    }
}

#[derive(Default)]
pub(crate) struct SortedChunk {
    steps: Vec<Step>,
    /// For each process, the index of its first step; the last element is the number of all steps.
    begins: Vec<u32>,
    next: Vec<u32>,
    ends: Vec<(u32, CallEnd)>,
}

impl SortedChunk {
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
            self.steps.resize(chunk.len(), any.expand());
        }
        let mut ends = ends.iter().peekable();
        for at in 0..=chunk.len() {
            while let Some(&(_, end)) = ends.next_if(|&&(before, _)| before as usize <= at) {
                let process = end.process as usize;
                self.ends.push((self.next[process] - self.begins[process], end));
            }
            let Some(step) = chunk.get(at) else { break };
            let next = &mut self.next[step.process as usize];
            self.steps[*next as usize] = step.expand();
            *next += 1;
        }
    }

    pub fn ends(&self) -> &[(u32, CallEnd)] {
        &self.ends
    }

    pub fn steps_of(&self, process: usize) -> &[Step] {
        &self.steps[self.begins[process] as usize..self.begins[process + 1] as usize]
    }
}
