//! Steps on their way from the simulation to the thread that measures.
//!
//! The simulation writes one long row of steps, of all ranks as they come, and sends it in chunks; the measuring
//! thread, which has less to do, sorts each chunk by rank, and makes the engines' types of what the simulation wrote in
//! half the bytes. A chunk has a few hundred steps of each rank, so that clocks need be read only once for those of one
//! rank, and caches are warm for most of them.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::step::{Brief, Sink, Step};

/// Steps per rank in a chunk, on average.
const STEPS_PER_RANK: usize = 256;

/// Steps in a chunk, at least and at most.
const CHUNK_MIN: usize = 4096;
const CHUNK_MAX: usize = 32_768;

/// Steps that may wait to be measured, in two to eight chunks: while the measuring thread flushes caches, a millisecond or
/// two at a time, the simulation goes on.
const IN_FLIGHT: usize = 65_536;

/// The sending end.
pub(crate) struct Batcher {
    open: Vec<Brief>,
    capacity: usize,
    full: SyncSender<Vec<Brief>>,
    /// Chunks that come back, to be filled again.
    returned: Receiver<Vec<Brief>>,
}

fn capacity(processes: usize) -> usize {
    (processes * STEPS_PER_RANK).clamp(CHUNK_MIN, CHUNK_MAX)
}

/// Chunks that may wait to be measured.
pub(crate) fn chunks_in_flight(processes: usize) -> usize {
    (IN_FLIGHT / capacity(processes)).clamp(2, 8)
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Vec<Brief>>, returned: Receiver<Vec<Brief>>) -> Self {
        let capacity = capacity(processes);
        Batcher { open: Vec::with_capacity(capacity), capacity, full, returned }
    }

    /// Sends what is left.
    pub fn flush(mut self) {
        self.send();
    }

    #[cold]
    fn send(&mut self) {
        let mut spare = self.returned.try_recv().unwrap_or_default();
        spare.clear();
        spare.reserve(self.capacity);
        // The receiver is gone only if it panicked, and that will be seen where it is joined.
        let _ = self.full.send(std::mem::replace(&mut self.open, spare));
    }
}

impl Sink for Batcher {
    #[inline]
    fn step(&mut self, step: Brief) {
        self.open.push(step);
        if self.open.len() == self.capacity {
            self.send();
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
}

impl Sorted {
    pub fn sort(&mut self, chunk: &[Brief], processes: usize) {
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
        let Some(&any) = chunk.first() else { return };
        self.steps.resize(chunk.len(), any.step());
        for step in chunk {
            let next = &mut self.next[step.process as usize];
            self.steps[*next as usize] = step.step();
            *next += 1;
        }
    }

    pub fn of(&self, process: usize) -> &[Step] {
        &self.steps[self.begins[process] as usize..self.begins[process + 1] as usize]
    }
}
