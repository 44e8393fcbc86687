//! Makes long traces for speed measurements: repeats the calls of a real trace.
//!
//! The records of every rank between initialization and finalization are repeated, each time shifted by their duration.
//! Each repetition creates the communicators and requests of the application again.

use std::fs;
use std::path::Path;

use matchpoint_trace::call::Action;
use matchpoint_trace::{Call, Trace};

use crate::Failure;

/// Words at the end of a DUMPI file: a magic number, then offsets into the file. The offset of an absent part is 0.
const INDEX_WORDS: usize = 8;
/// Index of the word with the offset of the calls.
const BODY: usize = 5;
/// DUMPI stores seconds in 16 bits.
const SECONDS_MAX: u64 = 65535;

/// Bits in the mask of a record. Each adds a field after the mask.
const HAS_THREAD: u8 = 1 << 6;
const HAS_CPU_TIME: u8 = 1 << 2;
const HAS_WALL_TIME: u8 = 1 << 3;

pub fn amplify(from: &Path, to: &Path, times: u32) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    let trace = matchpoint_trace::open(from)?;
    let mut streams: Vec<_> = files(from, "bin")?;
    streams.sort();
    for meta in files(from, "meta")? {
        fs::copy(&meta, to.join(meta.file_name().unwrap_or_default()))?;
    }
    let cuts =
        trace.present().iter().map(|&rank| Cuts::find(&*trace, rank)).collect::<Result<Vec<_>, _>>()?;
    // All ranks are shifted by the same time, so that their clocks stay together.
    let seconds = cuts.iter().map(|cuts| cuts.seconds).max().unwrap_or(0);
    for (cuts, stream) in cuts.iter().zip(&streams) {
        let bytes = repeated(&fs::read(stream)?, cuts, seconds, times)?;
        fs::write(to.join(stream.file_name().unwrap_or_default()), bytes)?;
    }
    Ok(())
}

fn files(folder: &Path, extension: &str) -> Result<Vec<std::path::PathBuf>, Failure> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = entries.collect::<Result<Vec<_>, _>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|found| found == extension)).collect())
}

struct Cuts {
    /// Positions of the records between initialization and finalization, and of the next record.
    records: Vec<usize>,
    /// Duration of these records, in whole seconds.
    seconds: u64,
}

impl Cuts {
    fn find(trace: &dyn Trace, rank: u32) -> Result<Self, Failure> {
        let (mut reader, mut call) = (trace.rank(rank)?, Call::default());
        let (mut records, mut first_ns, mut last_ns) = (Vec::new(), None, 0);
        while reader.read(&mut call)? {
            if call.action == Action::Init {
                continue;
            }
            records.push(call.offset as usize);
            first_ns.get_or_insert(call.enter_ns);
            last_ns = call.leave_ns;
            if call.action == Action::Finalize {
                break;
            }
        }
        let seconds = (last_ns - first_ns.unwrap_or(last_ns)).max(0) as u64 / 1_000_000_000 + 1;
        Ok(Cuts { records, seconds })
    }
}

fn repeated(bytes: &[u8], cuts: &Cuts, seconds: u64, times: u32) -> Result<Vec<u8>, Failure> {
    let (&[first, .., last], true) = (&cuts.records[..], seconds * u64::from(times) < SECONDS_MAX) else {
        return Err("the trace is too short, or would become too long for its 16-bit seconds".into());
    };
    let mut out = bytes[..first].to_vec();
    for time in 0..times {
        for record in cuts.records.windows(2) {
            let begin = out.len();
            out.extend_from_slice(&bytes[record[0]..record[1]]);
            shift(&mut out[begin..], (seconds * u64::from(time)) as u16);
        }
    }
    let begin = out.len();
    out.extend_from_slice(&bytes[last..]);
    shift(&mut out[begin..], (seconds * u64::from(times - 1)) as u16);
    move_index(&mut out, bytes.len());
    Ok(out)
}

fn shift(record: &mut [u8], seconds: u16) {
    let mask = record[2];
    let mut at = 3 + if mask & HAS_THREAD != 0 { 2 } else { 0 };
    for clock in [HAS_CPU_TIME, HAS_WALL_TIME] {
        if mask & clock != 0 {
            for field in [at, at + 6] {
                let old = u16::from_be_bytes([record[field], record[field + 1]]);
                record[field..field + 2].copy_from_slice(&old.wrapping_add(seconds).to_be_bytes());
            }
            at += 12;
        }
    }
}

/// Corrects the offsets of the parts after the calls.
fn move_index(out: &mut [u8], old_len: usize) {
    let growth = (out.len() - old_len) as u64;
    let index = out.len() - INDEX_WORDS * 8;
    let word = |out: &[u8], at: usize| u64::from_be_bytes(out[at..at + 8].try_into().expect("eight bytes"));
    let body = word(out, index + BODY * 8);
    for at in (index + 8..out.len()).step_by(8) {
        let offset = word(out, at);
        if offset > body {
            out[at..at + 8].copy_from_slice(&(offset + growth).to_be_bytes());
        }
    }
}
