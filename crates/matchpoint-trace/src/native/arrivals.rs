//! The file of a rank's arrivals: when messages came that the rank received, in the order in which they came
//! (`docs/reference/trace-format.md`, *Arrivals*). It lies beside the rank's calls.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::native::block::{block, kind};
use crate::native::varint::{put, zigzag};
use crate::trace::Arrival;

/// The extension of such a file.
pub const EXTENSION: &str = "mpa";

/// The name of a rank's file.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.{EXTENSION}")
}

/// How a file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    /// Arrivals in it.
    pub arrivals: u64,
    /// Receives of which it is not known when their message arrived: those that the MPI library matches by itself (of a
    /// rank's messages to itself, say).
    pub unknown: u64,
}

/// A block is written when it has so many bytes.
const ENOUGH: usize = 60 << 10;
const LEVEL: i32 = 3;

/// Writes such a file: `arrivals` ascend.
///
/// # Errors
/// It cannot be written.
pub fn write(to: &mut impl Write, arrivals: &[Arrival], unknown: u64) -> io::Result<()> {
    let mut content = Vec::with_capacity(ENOUGH + 64);
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
        if content.len() >= ENOUGH || at + 1 == arrivals.len() {
            to.write_all(&block(kind::ARRIVALS, 0, 0, &content, LEVEL)?)?;
            content.clear();
        }
    }
    let sum = Sum { arrivals: arrivals.len() as u64, unknown };
    to.write_all(&block(kind::END, 0, 0, serde_json::to_string(&sum)?.as_bytes(), 0)?)
}
