//! Files with arrival times for `matchpoint run --record`: one file per endpoint, in the folder of the
//! setting [`ARRIVALS`](crate::settings::ARRIVALS).
//!
//! The recorder of MPI calls cannot see arrivals. Each record has the time of a post or matched probe, and
//! the arrival time of the message. The first time identifies the call in the recorder's trace.
//!
//! ```text
//! "MPar"  version: u32  clock: u32 (clock::Shared)  0: u32      header, then one record per match, unordered:
//! posted: u64 ticks     arrived: u64 ticks                      little-endian
//! ```
//!
//! The arrival time is [`NEVER`] for a receive that was cancelled, or was still posted when the endpoint
//! closed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::clock::SharedClock;
use crate::report;
use crate::settings::settings;

const MAGIC: [u8; 4] = *b"MPar";
const VERSION: u32 = 1;
/// The arrival time of a receive without a message.
const NEVER: u64 = u64::MAX;

/// The file of one endpoint.
pub struct Arrivals {
    clock: SharedClock,
    file: BufWriter<File>,
    /// Times of posts of the entries in the posted queue, by id.
    posted: HashMap<u64, u64>,
    /// Arrival times of the entries in the unexpected queue, by id.
    arrived: HashMap<u64, u64>,
}

impl Arrivals {
    /// Creates the file if the settings request arrival times. Failures are ignored: the reader reports a
    /// missing file.
    pub fn begin() -> Option<Box<Self>> {
        static ENDPOINTS: AtomicU32 = AtomicU32::new(0);
        let folder = settings().arrivals.as_ref()?;
        let number = ENDPOINTS.fetch_add(1, Relaxed);
        Self::new(&folder.join(format!("arrivals-{}-{number}.bin", report::process_name())))
    }

    fn new(path: &Path) -> Option<Box<Self>> {
        let clock = SharedClock::choose();
        let mut file = BufWriter::with_capacity(64 << 10, File::create(path).ok()?);
        let words = [VERSION, clock as u32, 0];
        file.write_all(&MAGIC).ok()?;
        words.iter().try_for_each(|word| file.write_all(&word.to_le_bytes())).ok()?;
        file.flush().ok()?;
        Some(Box::new(Arrivals { clock, file, posted: HashMap::new(), arrived: HashMap::new() }))
    }

    /// Records a post or a matched probe. `message`: the unexpected message that matched.
    #[cold]
    pub fn posted(&mut self, id: u64, message: Option<u64>) {
        let now = self.clock.now();
        match message {
            Some(message) => {
                let arrived = self.arrived.remove(&message);
                self.write(now, arrived.unwrap_or(now));
            }
            None => drop(self.posted.insert(id, now)),
        }
    }

    /// Records an arrival. `receive`: the posted receive that matched.
    #[cold]
    pub fn arrived(&mut self, id: u64, receive: Option<u64>) {
        let now = self.clock.now();
        match receive {
            Some(receive) => {
                if let Some(posted) = self.posted.remove(&receive) {
                    self.write(posted, now);
                }
            }
            None => drop(self.arrived.insert(id, now)),
        }
    }

    /// Records that a message matched `receive` when the message's source became known.
    #[cold]
    pub fn readdressed(&mut self, message: u64, receive: u64) {
        let arrived = self.arrived.remove(&message);
        if let (Some(posted), Some(arrived)) = (self.posted.remove(&receive), arrived) {
            self.write(posted, arrived);
        }
    }

    /// Records that an entry was removed from its queue without a match.
    #[cold]
    pub fn removed(&mut self, id: u64) {
        self.arrived.remove(&id);
        if let Some(posted) = self.posted.remove(&id) {
            self.write(posted, NEVER);
        }
    }

    fn write(&mut self, posted: u64, arrived: u64) {
        let mut record = [0; 16];
        record[..8].copy_from_slice(&posted.to_le_bytes());
        record[8..].copy_from_slice(&arrived.to_le_bytes());
        // On a full disk the file is truncated, which its reader reports.
        let _ = self.file.write_all(&record);
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        for posted in std::mem::take(&mut self.posted).into_values() {
            self.write(posted, NEVER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_has_times_of_post_and_arrival() {
        let path = std::env::temp_dir().join(format!("matchpoint-arrivals-{}", std::process::id()));
        let mut log = Arrivals::new(&path).expect("the file is writable");
        log.posted(1, None);
        log.arrived(2, None);
        log.posted(3, Some(2));
        log.arrived(4, Some(1));
        log.posted(5, None);
        log.removed(5);
        log.arrived(8, None);
        log.posted(7, None);
        log.readdressed(8, 7);
        log.posted(6, None);
        drop(log);
        let bytes = std::fs::read(&path).expect("the file exists");
        std::fs::remove_file(&path).expect("the file is removable");
        let numbers: Vec<u64> =
            bytes[16..].chunks(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect();
        let [late, unexpected, early, expected, _, NEVER, after, readdressed, _, NEVER] = numbers[..] else {
            panic!("five records expected: {numbers:?}")
        };
        assert_eq!(bytes[..8], *b"MPar\x01\0\0\0");
        assert!(early < unexpected && unexpected < late && late < expected && readdressed < after);
    }
}
