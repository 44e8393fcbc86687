//! File of a rank's recorded arrivals (`docs/reference/trace-format.md`, *Arrivals*).

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::native::block::{block, kind};
use crate::native::varint::{put, zigzag};
use crate::trace::Arrival;

pub const EXTENSION: &str = "mpa";

pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.{EXTENSION}")
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    pub arrivals: u64,
    /// Receives that the MPI library matched internally. Their messages have no arrival time.
    pub unknown: u64,
}

const BLOCK_BYTES: usize = 60 << 10;
const LEVEL: i32 = 3;

/// `arrivals` must ascend by time.
pub fn write(to: &mut impl Write, arrivals: &[Arrival], unknown: u64) -> io::Result<()> {
    let mut content = Vec::with_capacity(BLOCK_BYTES + 64);
    let mut last_ns = 0;
    for (at, &Arrival { at_ns, from, tag }) in arrivals.iter().enumerate() {
        if content.is_empty() {
            content.extend_from_slice(&at_ns.to_le_bytes());
            last_ns = at_ns;
        }
        put(&mut content, zigzag(at_ns.wrapping_sub(last_ns)));
        put(&mut content, u64::from(from));
        put(&mut content, zigzag(i64::from(tag)));
        last_ns = at_ns;
        if content.len() >= BLOCK_BYTES || at + 1 == arrivals.len() {
            to.write_all(&block(kind::ARRIVALS, 0, 0, &content, LEVEL)?)?;
            content.clear();
        }
    }
    let sum = Sum { arrivals: arrivals.len() as u64, unknown };
    to.write_all(&block(kind::END, 0, 0, serde_json::to_string(&sum)?.as_bytes(), 0)?)
}
