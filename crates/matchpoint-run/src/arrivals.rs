//! Files of arrival times, one per endpoint, in the format of `arrivals.rs` in `matchpoint-process`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::RunError;

const MAGIC: &[u8] = b"MPar";
const VERSION: u32 = 1;
const HEADER: usize = 16;
const RECORD: usize = 16;

/// Names of the clocks in recorded traces, by their numbers in the file.
const CLOCKS: [&str; 3] = ["monotonic", "tsc", "cntvct"];

/// Post and arrival times of the receives of one process, in ticks. [`u64::MAX`] is no arrival.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrivalTimes {
    /// As in recorded traces: `"tsc"`.
    pub clock: &'static str,
    /// Post and arrival times, unordered.
    pub matches: Vec<(u64, u64)>,
}

/// All endpoints of a process. `None` if the process has written no times.
///
/// # Errors
/// A file cannot be read or has another format.
pub fn of_process(folder: &Path, host: &str, pid: u64) -> Result<Option<ArrivalTimes>, RunError> {
    let mut times: Option<ArrivalTimes> = None;
    for path in arrival_files(folder, &format!("arrivals-{host}-{pid}-"))? {
        let Some(ArrivalTimes { clock, matches }) = read_file(&path)? else { continue };
        let all = times.get_or_insert_with(|| ArrivalTimes { clock, matches: Vec::new() });
        if all.clock != clock {
            return Err(RunError(format!("'{}': the clock changed", path.display())));
        }
        all.matches.extend(matches);
    }
    Ok(times)
}

fn arrival_files(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>, RunError> {
    let entries = fs::read_dir(folder).map_err(|error| RunError(format!("{}: {error}", folder.display())))?;
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(beginning) && name.ends_with(".bin")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_one).collect();
    found.sort();
    Ok(found)
}

/// `None` if the process was killed before its first write.
fn read_file(path: &Path) -> Result<Option<ArrivalTimes>, RunError> {
    let failed = |what: &str| RunError(format!("{}: {what}", path.display()));
    let bytes = fs::read(path).map_err(|error| failed(&error.to_string()))?;
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
    };
    if !bytes.is_empty() && !bytes.starts_with(MAGIC) {
        return Err(failed("not written by a provider of Matchpoint"));
    }
    let (Some(version), Some(clock), true) = (word(4), word(8), bytes.len() >= HEADER) else {
        return Ok(None);
    };
    if version != VERSION {
        return Err(failed(&format!("version {version} was written by another version of Matchpoint")));
    }
    let clock = CLOCKS.get(clock as usize).ok_or_else(|| failed("unknown clock"))?;
    let number = |eight: &[u8]| u64::from_le_bytes(eight.try_into().expect("eight bytes"));
    let records = bytes[HEADER..].chunks_exact(RECORD);
    let matches = records.map(|record| (number(&record[..8]), number(&record[8..]))).collect();
    Ok(Some(ArrivalTimes { clock, matches }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(clock: u32, matches: &[(u64, u64)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        [VERSION, clock, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        matches.iter().for_each(|(posted, arrived)| {
            bytes.extend(posted.to_le_bytes());
            bytes.extend(arrived.to_le_bytes());
        });
        bytes
    }

    #[test]
    fn endpoints_of_process_are_merged() {
        let folder = std::env::temp_dir().join(format!("matchpoint-seen-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("arrivals-node-7-0.bin"), file(1, &[(5, 6), (9, 8)])).unwrap();
        let mut cut = file(1, &[(20, 21), (30, 31)]);
        cut.truncate(cut.len() - 3);
        fs::write(folder.join("arrivals-node-7-1.bin"), cut).unwrap();
        fs::write(folder.join("arrivals-node-7-2.bin"), b"").unwrap();
        fs::write(folder.join("arrivals-node-71-0.bin"), file(1, &[(1, 1)])).unwrap();
        let times = of_process(&folder, "node", 7).unwrap().unwrap();
        assert_eq!((times.clock, times.matches), ("tsc", vec![(5, 6), (9, 8), (20, 21)]));
        assert_eq!(of_process(&folder, "node", 8).unwrap(), None);
        fs::write(folder.join("arrivals-node-8-0.bin"), b"something").unwrap();
        assert!(of_process(&folder, "node", 8).unwrap_err().to_string().contains("arrivals-node-8-0.bin"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
