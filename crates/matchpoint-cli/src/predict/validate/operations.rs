//! The operations: matrix products on the levels of a hierarchy, gathers, and HighVolumePingPong.

use std::num::NonZeroU32;

use matchpoint_calibrate::plan::{Measurement, Part, PostOrder};
use matchpoint_model::sparse::Sizes;
use matchpoint_model::{Exchange, Sent};
use matchpoint_replay::Progress;
use matchpoint_replay::format;

use super::played::{self, Played};
use super::validated::Application;
use crate::failure::Failure;
use crate::predict::amg::Hierarchy;

const GATHERED_BYTES: [u64; 3] = [8, 1 << 10, 32 << 10];

const VOLUMES: [u32; 5] = [1, 10, 100, 1000, 5000];
const VOLUME_BYTES: [u32; 3] = [8, 1 << 10, 32 << 10];

/// Maximum bytes of all messages. More bytes would measure the memory.
const VOLUME_BYTES_MAX: u64 = 4 << 20;

pub(super) struct Operation {
    pub application: Application,
    pub name: String,
    pub asked: Asked,
}

pub(super) enum Asked {
    Exchange(Played),
    /// Algorithm 1 of the paper, between ranks 0 and 1.
    Volume(Measurement),
}

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

/// Attempts of a list for n messages of HighVolumePingPong. In random order, the mean.
pub(super) fn volume_attempts(order: PostOrder, messages: u32) -> u64 {
    let n = u64::from(messages);
    match order {
        PostOrder::Equal => n,
        PostOrder::Reversed => n * (n + 1) / 2,
        PostOrder::Random => n * (n + 3) / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Over all orders of n messages, a list compares n (n + 3) ÷ 4 entries on average.
    #[test]
    fn volume_attempts_follow_order() {
        let of =
            [PostOrder::Equal, PostOrder::Reversed, PostOrder::Random].map(|order| volume_attempts(order, 5));
        assert_eq!(of, [5, 15, 10]);
        assert_eq!(volume_attempts(PostOrder::Random, 1), 1);
    }
}
