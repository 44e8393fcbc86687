//! A machine whose parameters are known, and what would be measured on it.

// Each test is a program of its own, and none uses all of this.
#![allow(dead_code)]

use matchpoint_calibrate::plan::{Measurement, Order, Part, Settings, measurements};
use matchpoint_calibrate::raw::{FORMAT, Head, Measured, Raw, VERSION, Writer};
use matchpoint_calibrate::topology::{Placement, RankPlace, Topology};

/// α, R_b and the largest size of a protocol.
pub type Protocol = (f64, f64, u32);

pub struct MadeUp {
    pub on_socket: Vec<Protocol>,
    pub on_node: Vec<Protocol>,
    pub off_node: Vec<Protocol>,
    pub node_rate: f64,
    pub attempt_s: f64,
    pub delta_s_per_byte: f64,
    /// Standard deviation, relative.
    pub noise: f64,
    /// One batch of so many is late by a factor of three; 0: none.
    pub outliers: u32,
}

impl MadeUp {
    /// Table 1 of the paper.
    pub fn blue_waters() -> MadeUp {
        MadeUp {
            on_socket: vec![(4.4e-7, 2.2e9, 512), (5.3e-7, 3.2e9, 8192), (1.7e-6, 6.2e9, u32::MAX)],
            on_node: vec![(8.3e-7, 4.8e8, 512), (1.2e-6, 9.6e8, 8192), (2.5e-6, 6.2e9, u32::MAX)],
            off_node: vec![(2.3e-6, 1.3e9, 512), (7.0e-6, 7.5e8, 8192), (3.0e-6, 2.9e9, u32::MAX)],
            node_rate: 6.6e9,
            attempt_s: 2.0 * 8.4e-9,
            delta_s_per_byte: 1.0e-10,
            noise: 0.0,
            outliers: 0,
        }
    }

    fn protocol(&self, placement: Placement, bytes: u32) -> Protocol {
        let all = match placement {
            Placement::OnSocket => &self.on_socket,
            Placement::OnNode => &self.on_node,
            Placement::OffNode => &self.off_node,
        };
        *all.iter().find(|(_, _, largest)| bytes <= *largest).expect("the last has no largest")
    }

    /// Without noise.
    pub fn time_s(&self, of: &Measurement) -> f64 {
        let placement = of.placement.unwrap_or(Placement::OnSocket);
        let (alpha, rate, _) = self.protocol(placement, of.bytes);
        let (bytes, messages) = (f64::from(of.bytes), f64::from(of.messages));
        let pairs = of.pairs.len() as f64;
        let is_limited = placement == Placement::OffNode && of.part == Part::Injection;
        let per_byte = if is_limited { (1.0 / rate).max(pairs / self.node_rate) } else { 1.0 / rate };
        let attempts = match of.order {
            Order::Equal => 0.0,
            Order::Reversed => messages * (messages - 1.0) / 2.0,
            Order::Random => messages * (messages - 1.0) / 4.0,
        };
        let shared = if of.part == Part::LineShared { pairs * messages * bytes } else { 0.0 };
        messages * (alpha + bytes * per_byte) + attempts * self.attempt_s + shared * self.delta_s_per_byte
    }

    /// Batches of one measurement.
    pub fn seconds(&self, of: &Measurement, random: &mut fastrand::Rng) -> Vec<f64> {
        let exact = self.time_s(of);
        let batch = |index: u32| {
            let late = if self.outliers > 0 && index % self.outliers == 0 { 3.0 } else { 1.0 };
            exact * late * (1.0 + self.noise * normal(random))
        };
        (0..11).map(batch).collect()
    }

    /// All that would be measured.
    pub fn raw(&self, topology: Topology, settings: Settings, seed: u64) -> Raw {
        let mut random = fastrand::Rng::with_seed(seed);
        let all = measurements(&topology, &settings);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.jsonl");
        let mut writer = Writer::begin(&path, &head(topology, settings)).unwrap();
        for measurement in all {
            let seconds = self.seconds(&measurement, &mut random);
            writer.add(&Measured { measurement, seconds }).unwrap();
        }
        writer.end().unwrap();
        Raw::read(&path).unwrap()
    }
}

/// Twelve uniform numbers: bounded, so that no time is negative.
fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

pub fn head(topology: Topology, settings: Settings) -> Head {
    Head {
        format: FORMAT.to_owned(),
        version: VERSION,
        command: vec!["mpiexec".to_owned(), "-n".to_owned(), topology.0.len().to_string()],
        started: "2026-11-22T06:30:00Z".to_owned(),
        mpi: "made up 1.0".to_owned(),
        tick_s: 1e-9,
        host: "made up, 32 cores".to_owned(),
        settings,
        ranks: topology,
    }
}

/// Nodes of two sockets, with so many ranks on each, bound.
pub fn nodes(nodes: u32, ranks: u32) -> Topology {
    let place = |rank: u32| RankPlace {
        rank,
        node: rank / ranks * ranks,
        host: format!("n{}", rank / ranks),
        package: Some(rank % ranks * 2 / ranks),
        packages: 2,
        cpus: 1,
    };
    Topology((0..nodes * ranks).map(place).collect())
}
