//! A synthetic machine with known parameters, and its measurements.

use matchpoint_calibrate::plan::{Measurement, Part, PostOrder, Settings, rounds};
use matchpoint_calibrate::ranks::{RankPlace, Ranks};
use matchpoint_calibrate::raw::{FORMAT, Head, Measured, Raw, SentAtOnce, VERSION, Writer};
use matchpoint_model::Locality;

pub const BATCHES: u32 = 32;

/// α, R_b and the largest size.
pub type Protocol = (f64, f64, u32);

pub struct SyntheticMachine {
    pub on_socket: Vec<Protocol>,
    pub on_node: Vec<Protocol>,
    pub off_node: Vec<Protocol>,
    pub node_rate: f64,
    pub attempt_s: f64,
    /// Number of concurrent messages from which an entry costs more, and the factor.
    pub cold: (u32, f64),
    /// o and g of LogP.
    pub overhead_s: f64,
    pub gap_s: f64,
    pub eager_max: u32,
    pub delta_s_per_byte: f64,
    /// Duration of a stage of the barrier that several pairs need in every second direction.
    pub barrier_stage_s: f64,
    /// Relative standard deviation of times.
    pub noise: f64,
    /// Relative standard deviation of the speed between rounds.
    pub drift: f64,
    /// One batch in `outliers` takes three times as long; 0 means none.
    pub outliers: u32,
    /// Interruptions of the processes by host load.
    pub turns: Option<Interruptions>,
}

/// Probability per exchange, and maximum duration in seconds. Long exchanges are measured only a few times.
pub struct Interruptions {
    pub share: f64,
    pub longest_s: f64,
}

impl SyntheticMachine {
    /// The paper's table 1.
    pub fn blue_waters() -> SyntheticMachine {
        SyntheticMachine {
            on_socket: vec![(4.4e-7, 2.2e9, 512), (5.3e-7, 3.2e9, 8192), (1.7e-6, 6.2e9, u32::MAX)],
            on_node: vec![(8.3e-7, 4.8e8, 512), (1.2e-6, 9.6e8, 8192), (2.5e-6, 6.2e9, u32::MAX)],
            off_node: vec![(2.3e-6, 1.3e9, 512), (7.0e-6, 7.5e8, 8192), (3.0e-6, 2.9e9, u32::MAX)],
            node_rate: 6.6e9,
            attempt_s: 2.0 * 8.4e-9,
            cold: (u32::MAX, 1.0),
            overhead_s: 3e-7,
            gap_s: 5e-7,
            eager_max: 8192,
            delta_s_per_byte: 1.0e-10,
            barrier_stage_s: 0.0,
            noise: 0.0,
            drift: 0.0,
            outliers: 0,
            turns: None,
        }
    }

    fn protocol(&self, placement: Locality, bytes: u32) -> Protocol {
        let all = match placement {
            Locality::OnSocket => &self.on_socket,
            Locality::OnNode => &self.on_node,
            Locality::OffNode => &self.off_node,
        };
        *all.iter().find(|(_, _, largest)| bytes <= *largest).expect("the last has no largest")
    }

    pub fn attempt_s(&self, messages: u32) -> f64 {
        self.attempt_s * if messages >= self.cold.0 { self.cold.1 } else { 1.0 }
    }

    pub fn time_s(&self, of: &Measurement) -> f64 {
        let placement = of.placement.unwrap_or(Locality::OnSocket);
        let (alpha, rate, _) = self.protocol(placement, of.bytes);
        let (bytes, messages) = (f64::from(of.bytes), f64::from(of.messages));
        let pairs = of.pairs.len() as f64;
        let is_limited = placement == Locality::OffNode && of.part == Part::Injection;
        let per_byte = if is_limited { (1.0 / rate).max(pairs / self.node_rate) } else { 1.0 / rate };
        match of.part {
            Part::Overhead => return messages * self.overhead_s,
            Part::Gap => return alpha + (messages - 1.0) * self.gap_s,
            _ => {}
        }
        let attempts = match of.order {
            PostOrder::Equal => 0.0,
            PostOrder::Reversed => messages * (messages - 1.0) / 2.0,
            PostOrder::Random => messages * (messages - 1.0) / 4.0,
        };
        let shared = if of.part == Part::LineShared { pairs * messages * bytes } else { 0.0 };
        let barrier_s = pairs.log2().ceil() * self.barrier_stage_s;
        messages * (alpha + bytes * per_byte)
            + barrier_s / 2.0
            + attempts * self.attempt_s(of.messages)
            + shared * self.delta_s_per_byte
    }

    pub fn seconds(&self, of: &Measurement, speed: f64, random: &mut fastrand::Rng) -> Vec<f64> {
        let exact = self.time_s(of) * speed;
        let batch = |index: u32| {
            let late = if self.outliers > 0 && index % self.outliers == 0 { 3.0 } else { 1.0 };
            exact * late * (1.0 + self.noise * normal(random))
        };
        let Some(turns) = &self.turns else { return (0..BATCHES).map(batch).collect() };
        let interrupted =
            (0..5).map(|_| if random.f64() < turns.share { turns.longest_s * random.f64() } else { 0.0 });
        interrupted.map(|turn| exact + turn).collect()
    }

    pub fn raw(&self, ranks: Ranks, settings: Settings, seed: u64) -> Raw {
        let mut random = fastrand::Rng::with_seed(seed);
        let speeds: Vec<f64> = (0..settings.rounds).map(|_| 1.0 + self.drift * normal(&mut random)).collect();
        let all = rounds(&ranks, &settings);
        let placed: Vec<_> = Locality::ALL
            .into_iter()
            .filter_map(|placement| Some((placement, ranks.pair(placement).ok()?)))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.jsonl");
        let bytes_max = settings.bytes_max;
        let mut writer = Writer::begin(&path, &head(ranks, settings)).unwrap();
        for (round, measurement) in all {
            let seconds = self.seconds(&measurement, speeds[round as usize], &mut random);
            writer.add(&Measured { round, measurement, seconds }).unwrap();
        }
        for (placement, pair) in placed {
            let at_once_max_bytes = self.eager_max.min(bytes_max);
            writer.add_sent_at_once(&SentAtOnce { placement, pair, at_once_max_bytes }).unwrap();
        }
        writer.end().unwrap();
        Raw::read(&path).unwrap()
    }
}

/// A normal random number, bounded so that no time is negative.
fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

pub fn head(ranks: Ranks, settings: Settings) -> Head {
    Head {
        format: FORMAT.to_owned(),
        version: VERSION,
        command: vec!["mpiexec".to_owned(), "-n".to_owned(), ranks.0.len().to_string()],
        started: "2026-11-22T06:30:00Z".to_owned(),
        mpi: "made up 1.0".to_owned(),
        tick_s: 1e-9,
        host: "made up, 32 cores".to_owned(),
        settings,
        ranks,
    }
}

/// Two sockets and `ranks` bound ranks per node.
pub fn nodes(nodes: u32, ranks: u32) -> Ranks {
    let place = |rank: u32| RankPlace {
        rank,
        node: rank / ranks * ranks,
        host: format!("n{}", rank / ranks),
        package: Some(rank % ranks * 2 / ranks),
        packages: 2,
        cpus: 1,
    };
    Ranks((0..nodes * ranks).map(place).collect())
}
