//! Steps on their way from the simulation to the thread that measures, in batches of one rank each: many enough for
//! a clock to be read once per batch, few enough for thousands of ranks.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use crate::step::{Sink, Step};

/// Steps in one batch.
const BATCH: usize = 48;

/// Batches that may wait to be measured.
pub(crate) const IN_FLIGHT: usize = 256;

/// Steps of one process, in order.
pub(crate) struct Batch {
    pub process: usize,
    pub steps: Vec<Step>,
}

/// The sending end.
pub(crate) struct Batcher {
    open: Vec<Vec<Step>>,
    full: SyncSender<Batch>,
    /// Vectors that come back.
    empty: Receiver<Vec<Step>>,
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Batch>, empty: Receiver<Vec<Step>>) -> Self {
        Batcher { open: (0..processes).map(|_| Vec::new()).collect(), full, empty }
    }

    /// Sends what is left.
    pub fn flush(mut self) {
        for process in 0..self.open.len() {
            if !self.open[process].is_empty() {
                let steps = std::mem::take(&mut self.open[process]);
                self.send(process, steps);
            }
        }
    }

    fn send(&mut self, process: usize, steps: Vec<Step>) {
        // The receiver is gone only if it panicked, and that will be seen where it is joined.
        let _ = self.full.send(Batch { process, steps });
    }

    fn spare(&mut self) -> Vec<Step> {
        match self.empty.try_recv() {
            Ok(steps) => steps,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Vec::with_capacity(BATCH),
        }
    }
}

impl Sink for Batcher {
    #[inline]
    fn step(&mut self, process: usize, step: Step) {
        self.open[process].push(step);
        if self.open[process].len() >= BATCH {
            let spare = self.spare();
            let steps = std::mem::replace(&mut self.open[process], spare);
            self.send(process, steps);
        }
    }
}
