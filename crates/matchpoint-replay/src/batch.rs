//! Steps on their way from the simulation to the thread that measures, in batches of one rank each: many enough for
//! a clock to be read once per batch, few enough for thousands of ranks.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::step::{Sink, Step};

/// Steps in one batch.
const BATCH: usize = 48;

/// Batches sent at once: waking a thread costs as much as measuring one.
const PARCEL: usize = 32;

/// Parcels that may wait to be measured.
pub(crate) const IN_FLIGHT: usize = 8;

/// Steps of one process, in order.
pub(crate) struct Batch {
    pub process: usize,
    pub steps: Vec<Step>,
}

/// The sending end.
pub(crate) struct Batcher {
    open: Vec<Vec<Step>>,
    parcel: Vec<Batch>,
    full: SyncSender<Vec<Batch>>,
    /// Parcels that come back, their batches empty.
    returned: Receiver<Vec<Batch>>,
    spare: Vec<Vec<Step>>,
}

impl Batcher {
    pub fn new(processes: usize, full: SyncSender<Vec<Batch>>, returned: Receiver<Vec<Batch>>) -> Self {
        let open = (0..processes).map(|_| Vec::new()).collect();
        Batcher { open, parcel: Vec::new(), full, returned, spare: Vec::new() }
    }

    /// Sends what is left.
    pub fn flush(mut self) {
        for process in 0..self.open.len() {
            let steps = std::mem::take(&mut self.open[process]);
            if !steps.is_empty() {
                self.parcel.push(Batch { process, steps });
            }
        }
        self.send();
    }

    #[cold]
    fn close(&mut self, process: usize) {
        let spare = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BATCH));
        let steps = std::mem::replace(&mut self.open[process], spare);
        self.parcel.push(Batch { process, steps });
        if self.parcel.len() == PARCEL {
            self.send();
        }
    }

    fn send(&mut self) {
        let parcel = std::mem::take(&mut self.parcel);
        // The receiver is gone only if it panicked, and that will be seen where it is joined.
        let _ = self.full.send(parcel);
        if let Ok(mut returned) = self.returned.try_recv() {
            self.spare.extend(returned.drain(..).map(|batch| batch.steps));
            self.parcel = returned;
        }
    }
}

impl Sink for Batcher {
    #[inline]
    fn step(&mut self, process: usize, step: Step) {
        self.open[process].push(step);
        if self.open[process].len() >= BATCH {
            self.close(process);
        }
    }
}
