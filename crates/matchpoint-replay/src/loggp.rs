//! Network model: LogGP (Alexandrov et al. 1995), with eager and rendezvous protocol.

use std::fmt::{self, Display};
use std::str::FromStr;

/// The text form is `L=1000,o=300,g=50,G=0.1,S=65536`, in any order; each is optional.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogGp {
    /// L: latency of the wire.
    pub latency_ns: f64,
    /// o: processor time per send or receive.
    pub overhead_ns: f64,
    /// g: minimum interval between messages of one process.
    pub gap_ns: f64,
    /// G: time per byte.
    pub gap_per_byte_ns: f64,
    /// S: larger messages use the rendezvous protocol.
    pub eager_bytes: u64,
}

impl Default for LogGp {
    /// 1 µs, 0.3 µs, 20 million messages per second, 10 GB/s, eager up to 64 KiB.
    fn default() -> Self {
        LogGp {
            latency_ns: 1000.0,
            overhead_ns: 300.0,
            gap_ns: 50.0,
            gap_per_byte_ns: 0.1,
            eager_bytes: 65536,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    pub latency: i64,
    pub overhead: i64,
    pub gap: i64,
    gap_per_byte_ns: f64,
    pub eager_bytes: u64,
}

impl Delays {
    pub fn of(loggp: LogGp) -> Self {
        let LogGp { latency_ns, overhead_ns, gap_ns, gap_per_byte_ns, eager_bytes } = loggp;
        let (latency, overhead, gap) = (latency_ns as i64, overhead_ns as i64, gap_ns as i64);
        Delays { latency, overhead, gap, gap_per_byte_ns, eager_bytes }
    }

    /// A network without delays, for recorded times that already contain the delays.
    pub fn none() -> Self {
        Delays { latency: 0, overhead: 0, gap: 0, gap_per_byte_ns: 0.0, eager_bytes: u64::MAX }
    }

    /// Minimum time before one process can affect another process, in nanoseconds.
    pub fn lookahead(&self) -> i64 {
        self.latency
    }

    #[inline]
    pub fn wire(&self, bytes: u64) -> i64 {
        (self.gap_per_byte_ns * bytes.min(i64::MAX as u64) as i64 as f64) as i64
    }

    /// Time of a tree of messages, with `bytes` from each process.
    pub fn collective(&self, processes: u32, bytes: u64) -> i64 {
        let rounds = i64::from(processes.max(1).next_power_of_two().trailing_zeros());
        rounds * (self.latency + 2 * self.overhead + self.wire(bytes))
    }
}

impl Display for LogGp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogGp { latency_ns, overhead_ns, gap_ns, gap_per_byte_ns, eager_bytes } = self;
        write!(f, "L={latency_ns},o={overhead_ns},g={gap_ns},G={gap_per_byte_ns},S={eager_bytes}")
    }
}

impl FromStr for LogGp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parameters = LogGp::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not `key=value`"))?;
            let number = parse_non_negative(value)?;
            match key {
                "L" => parameters.latency_ns = number,
                "o" => parameters.overhead_ns = number,
                "g" => parameters.gap_ns = number,
                "G" => parameters.gap_per_byte_ns = number,
                "S" => parameters.eager_bytes = number as u64,
                _ => {
                    return Err(format!(
                        "LogGP has no parameter `{key}`; it has L, o, g, G (ns) and S (bytes)"
                    ));
                }
            }
        }
        Ok(parameters)
    }
}

fn parse_non_negative(value: &str) -> Result<f64, String> {
    let number: f64 =
        value.parse().map_err(|_| format!("'{value}' is not a number from 0, such as L=1500"))?;
    if number.is_finite() && (0.0..=1e15).contains(&number) {
        Ok(number)
    } else {
        Err(format!("`{value}` is out of range: 0 to 1e15"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_survive_text_round_trip() {
        let parameters: LogGp = "G=0.25,L=5,S=100".parse().unwrap();
        assert_eq!(parameters.to_string(), "L=5,o=300,g=50,G=0.25,S=100");
        assert_eq!(parameters.to_string().parse(), Ok(parameters));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for bad in ["L", "L=-1", "L=nan", "L=inf", "x=1", "L=1e300"] {
            assert!(bad.parse::<LogGp>().is_err(), "{bad}");
        }
    }
}
