//! Chunks of steps on the way from the simulation to the measuring thread.
//!
//! The simulation writes the steps of all ranks in one sequence, at half the size of the engines' types. The
//! measuring thread sorts each chunk by rank and converts the steps. A chunk has a few hundred steps of each
//! rank, so that one pair of clock readings covers many steps of one rank with warm caches.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::step::{Brief, CallEnd, Sink, Step};

/// Steps of all ranks, and the ends of their calls.
#[derive(Default)]
pub(crate) struct Chunk {
    steps: Vec<Brief>,
    /// Each end with the number of steps before it.
    ends: Vec<(u32, CallEnd)>,
}

/// Mean steps per rank in a chunk.
const STEPS_PER_RANK: usize = 256;

/// Limits of the steps in a chunk.
const CHUNK_MIN: usize = 4096;
const CHUNK_MAX: usize = 32_768;

/// Steps that may wait for measurement, in two to eight chunks. The simulation continues while the measuring
/// thread flushes caches for one or two milliseconds.
const IN_FLIGHT: usize = 65_536;

/// A call of this length gives the engine time for deferred maintenance.
const LONG_CALL_NS: u32 = 1000;

pub(crate) struct Batcher {
    open: Chunk,
    capacity: usize,
    full: SyncSender<Chunk>,
    /// Empty chunks for reuse.
    returned: Receiver<Chunk>,
    /// By process: it made a step since its last call ended.
    has_stepped: Vec<bool>,
}

fn capacity(processes: usize) -> usize {
    (processes * STEPS_PER_RANK).clamp(CHUNK_MIN, CHUNK_MAX)
}

/// Chunks that may wait for measurement.
pub(crate) fn chunks_in_flight(processes: usize) -> usize {
    (IN_FLIGHT / capacity(processes)).clamp(2, 8)
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Chunk>, returned: Receiver<Chunk>) -> Self {
        let capacity = capacity(processes);
        let open = Chunk { steps: Vec::with_capacity(capacity), ends: Vec::new() };
        Batcher { open, capacity, full, returned, has_stepped: vec![false; processes] }
    }

    /// Sends the last chunk.
    pub fn flush(mut self) {
        self.send();
    }

    #[cold]
    fn send(&mut self) {
        let mut spare = self.returned.try_recv().unwrap_or_default();
        spare.steps.clear();
        spare.steps.reserve(self.capacity);
        spare.ends.clear();
        // `send` fails only after a panic of the receiver, which the join of its thread reports.
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

/// Steps sorted by process, in the order of each process.
#[derive(Default)]
pub(crate) struct Sorted {
    steps: Vec<Step>,
    /// Index of the first step of each process, and the number of all steps.
    begins: Vec<u32>,
    /// Index of the next step of each process.
    next: Vec<u32>,
    /// Ends of calls, each with the number of earlier steps of its process in this chunk.
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

    /// Ends of calls in order, each with the number of earlier steps of its process in this chunk.
    pub fn ends(&self) -> &[(u32, CallEnd)] {
        &self.ends
    }

    pub fn of(&self, process: usize) -> &[Step] {
        &self.steps[self.begins[process] as usize..self.begins[process + 1] as usize]
    }
}
