//! The operations: matrix products on the levels of a hierarchy, gathers, and HighVolumePingPong.

use std::num::NonZeroU32;

use matchpoint_calibrate::plan::{Measurement, Part, PostOrder, ROUNDS};
use matchpoint_calibrate::validation::measured::Measured;
use matchpoint_calibrate::validation::{Application, Asked, Operation, played};
use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Sent};
use matchpoint_replay::Progress;
use matchpoint_replay::format;

use crate::failure::Failure;
use crate::predict::amg::Hierarchy;

const GATHERED_BYTES: [u64; 3] = [8, 1 << 10, 32 << 10];

const VOLUMES: [u32; 5] = [1, 10, 100, 1000, 5000];
const VOLUME_BYTES: [u32; 3] = [8, 1 << 10, 32 << 10];

/// Maximum bytes of all messages. More bytes would measure the memory.
const VOLUME_BYTES_MAX: u64 = 4 << 20;

#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub processes: NonZeroU32,
    pub ranks: u32,
    pub messages_max: u32,
}

pub(super) fn operations(
    hierarchy: &Hierarchy,
    sizes: Sizes,
    extent: Extent,
    progress: &Progress,
) -> Result<(Vec<Operation>, Vec<String>), Failure> {
    let mut notes = hierarchy.notes();
    let mut operations = Vec::new();
    for product in hierarchy.products(extent.processes, sizes, progress)? {
        let application = if product.operation == "spmv" { Application::Spmv } else { Application::Spgemm };
        if product.exchange.messages.is_empty() {
            let title = application.title();
            notes.push(format!("{title} on level {} needs no message, and is omitted.", product.level));
            continue;
        }
        let asked = extent.asked(&product.exchange, product.processes.get())?;
        operations.push(Operation { application, name: product.level.to_string(), asked });
    }
    for bytes in GATHERED_BYTES {
        let exchange = gather(extent.processes.get(), bytes);
        let asked = extent.asked(&exchange, extent.processes.get())?;
        operations.push(Operation { application: Application::Gather, name: format::bytes(bytes), asked });
    }
    operations.extend(volumes(extent.messages_max));
    Ok((operations, notes))
}

impl Extent {
    /// With fewer ranks than processes, two ranks play one process.
    fn asked(self, exchange: &Exchange, processes: u32) -> Result<Asked, Failure> {
        let are_all = self.ranks == self.processes.get();
        let played = if are_all { played::all(exchange) } else { played::one(exchange, processes) };
        Ok(Asked::Exchange(played?))
    }
}

fn gather(processes: u32, bytes: u64) -> Exchange {
    Exchange { messages: (1..processes).map(|from| Sent::one(from, 0, bytes)).collect() }
}

fn volumes(messages_max: u32) -> Vec<Operation> {
    let mut volumes = Vec::new();
    for (application, order) in [
        (Application::VolumeEqual, PostOrder::Equal),
        (Application::VolumeReversed, PostOrder::Reversed),
        (Application::VolumeRandom, PostOrder::Random),
    ] {
        for bytes in VOLUME_BYTES {
            for messages in VOLUMES {
                if messages > messages_max || u64::from(messages) * u64::from(bytes) > VOLUME_BYTES_MAX {
                    continue;
                }
                let (part, placement, pairs) = (Part::Queue, None, vec![(0, 1)]);
                let asked = Asked::Volume(Measurement { part, placement, pairs, order, messages, bytes });
                let name = format!("{} × {}", format::count(messages.into()), format::bytes(bytes.into()));
                volumes.push(Operation { application, name, asked });
            }
        }
    }
    volumes
}

/// Tolerated excess for connections and requests.
const SOME_MORE: f64 = 2.0;

pub(super) fn beyond_budget(all: &[Measured], budget_s: f64) -> Option<String> {
    let times_s = all.iter().map(|one| one.took.as_secs_f64());
    let beyond_s: Vec<f64> = times_s.filter(|took_s| *took_s > SOME_MORE * budget_s).collect();
    (!beyond_s.is_empty()).then(|| {
        format!(
            "{} of {} operations took longer than --seconds {budget_s}, {} in all: each of {ROUNDS} rounds needs three \
             repetitions.",
            beyond_s.len(),
            all.len(),
            format::seconds(beyond_s.iter().sum())
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn overlong_measurement_is_reported() {
        let took = |seconds| {
            let mut measured = Measured::default();
            measured.took = Duration::from_secs_f64(seconds);
            measured
        };
        assert_eq!(beyond_budget(&[took(0.1), took(0.3)], 0.2), None);
        let note = beyond_budget(&[took(0.1), took(1.5), took(2.5)], 0.2).unwrap();
        assert!(
            note.starts_with("2 of 3 operations took longer than --seconds 0.2, 4.00 s in all"),
            "{note}"
        );
    }

    #[test]
    fn gather_sends_to_first_process() {
        let exchange = gather(4, 8);
        assert_eq!((exchange.count(), exchange.bytes()), (3, 24));
        assert!(exchange.messages.iter().all(|sent| sent.to == 0 && sent.from > 0));
        assert!(gather(1, 8).messages.is_empty());
    }

    #[test]
    fn volumes_are_bounded() {
        let all = volumes(5000);
        let most = |of: &Operation| match &of.asked {
            Asked::Volume(of) => u64::from(of.messages) * u64::from(of.bytes),
            Asked::Exchange(_) => 0,
        };
        assert!(all.iter().all(|volume| (1..=VOLUME_BYTES_MAX).contains(&most(volume))));
        assert_eq!(all.len() % 3, 0);
        assert_eq!(volumes(10).len(), 3 * 3 * 2);
    }
}
