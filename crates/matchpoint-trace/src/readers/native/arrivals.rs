//! Reader of recorded arrivals.

use std::path::{Path, PathBuf};

use super::unpack;
use crate::error::TraceError;
use crate::native::arrivals::Sum;
use crate::native::block::{HEADER, Header, kind};
use crate::native::varint::{get, unzigzag};
use crate::readers::map::Map;
use crate::trace::Arrival;

const ADVICE: &str = "copy it again, or remove it and use another arrival order";

pub(super) struct Arrivals {
    path: PathBuf,
    map: Map,
    at: usize,
    read: u64,
    has_ended: bool,
    block: std::vec::IntoIter<Arrival>,
}

impl Arrivals {
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let (path, map) = (path.to_owned(), Map::open(path)?);
        Ok(Arrivals { path, map, at: 0, read: 0, has_ended: false, block: Vec::new().into_iter() })
    }

    fn error(&self, problem: impl Into<String>) -> TraceError {
        TraceError::new(&self.path, problem, ADVICE).at_offset(self.at as u64)
    }

    fn next_block(&mut self) -> Result<bool, TraceError> {
        let header = self.map.get(self.at..self.at + HEADER).and_then(|bytes| bytes.try_into().ok());
        let Some(header) = header.and_then(Header::read) else {
            return Err(self.error("no block here: the file is truncated or damaged"));
        };
        if !header.has_valid_sizes() || self.map.len() - self.at - HEADER < header.packed as usize {
            return Err(self.error("the block here is truncated or damaged"));
        }
        let content = unpack::whole(&self.path, &self.map, self.at)?;
        match header.kind {
            kind::ARRIVALS => {
                let arrivals =
                    decode(&content).ok_or_else(|| self.error("an arrival in this block is invalid"))?;
                self.read += arrivals.len() as u64;
                self.block = arrivals.into_iter();
            }
            kind::END => {
                let sum: Sum = serde_json::from_slice(&content)
                    .map_err(|error| self.error(format!("the end of the file is invalid: {error}")))?;
                if sum.arrivals != self.read {
                    let problem =
                        format!("the file should have {} arrivals, and has {}", sum.arrivals, self.read);
                    return Err(self.error(problem));
                }
                self.has_ended = true;
            }
            _ => {}
        }
        self.at += HEADER + header.packed as usize;
        Ok(!self.has_ended)
    }
}

impl Iterator for Arrivals {
    type Item = Result<Arrival, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(arrival) = self.block.next() {
                return Some(Ok(arrival));
            }
            if self.has_ended {
                return None;
            }
            if let Err(error) = self.next_block() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }
}

fn decode(content: &[u8]) -> Option<Vec<Arrival>> {
    let mut at_ns = i64::from_le_bytes(content.get(..8)?.try_into().ok()?);
    let mut at = 8;
    let mut number = || {
        let (value, length) = get(content, at)?;
        at += length;
        Some((value, at == content.len()))
    };
    let mut arrivals = Vec::with_capacity(content.len() / 4);
    loop {
        let (delta_ns, _) = number()?;
        let (from, _) = number()?;
        let (tag, is_last) = number()?;
        at_ns = at_ns.wrapping_add(unzigzag(delta_ns));
        arrivals.push(Arrival {
            at_ns,
            from: u32::try_from(from).ok()?,
            tag: i32::try_from(unzigzag(tag)).ok()?,
        });
        if is_last {
            return Some(arrivals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::arrivals::write;

    fn many() -> Vec<Arrival> {
        let mut at_ns = -5;
        let arrival = |number: u32| {
            at_ns += i64::from(number % 7) * 1_000_003;
            Arrival { at_ns, from: number % 300, tag: number as i32 - 1000 }
        };
        (0..50_000).map(arrival).collect()
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Arrival>, TraceError> {
        let path = std::env::temp_dir().join(format!("matchpoint-{name}-{}.mpa", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let read = Arrivals::open(&path).and_then(|arrivals| arrivals.collect());
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn arrivals_survive_round_trip() {
        for count in [0, 1, 2, 50_000] {
            let (mut bytes, arrivals) = (Vec::new(), &many()[..count]);
            write(&mut bytes, arrivals, 3).unwrap();
            assert_eq!(read("arrivals-read", &bytes).unwrap(), arrivals);
        }
    }

    #[test]
    fn damage_is_error_with_place() {
        let mut bytes = Vec::new();
        write(&mut bytes, &many(), 0).unwrap();
        for length in [10, 40, bytes.len() / 2, bytes.len() - 1] {
            let error = read("arrivals-cut", &bytes[..length]).unwrap_err();
            assert!(error.to_string().contains("byte "), "{error}");
        }
        for at in [3, 20, 100, bytes.len() - 5] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            read("arrivals-damaged", &damaged).unwrap_err();
        }
    }
}
