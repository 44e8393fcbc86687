//! Facts about a rank's file from the headers of its blocks.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{ClockSamples, UNKNOWN_NS};
use super::plan::Plan;
use super::unpack::{self, NextBlock, next};
use crate::error::TraceError;
use crate::native::block::{HEADER, kind};
use crate::native::head::{End, Head, Module};
use crate::native::{MOST_RANKS, VERSION};
use crate::readers::map::Map;
use crate::search::SearchCost;

#[derive(Debug)]
pub(super) struct Facts {
    pub head: Head,
    pub plans: Vec<Plan>,
    pub time: ClockSamples,
    /// First and last block with calls, by thread.
    pub threads: BTreeMap<u16, (usize, usize)>,
    /// For each thread: a function that the thread has not left, and the ticks of the entry, if no later call
    /// follows.
    pub unfinished: BTreeMap<u16, (usize, u64)>,
    pub end: Option<End>,
    pub modules: Vec<Module>,
    pub searches: Vec<SearchCost>,
    /// Position after the last whole block.
    pub good: usize,
    /// True if the file has damage other than a truncated block, or zeros after a crash of the host.
    pub has_damage: bool,
    pub calls: u64,
    pub has_disorder: bool,
    /// For a followed file: times in the host's clock, and numbers of calls until these times.
    pub reports: VecDeque<(i64, u64)>,
}

pub(super) enum FactsError {
    /// The file ends within the head, because the process was killed before its first call.
    Truncated,
    Damaged(TraceError),
}

impl Facts {
    pub fn of(path: &Path, bytes: &[u8]) -> Result<Facts, FactsError> {
        let (head, plans, after) = head(path, bytes)?;
        let mut facts = Facts {
            time: ClockSamples::default(),
            threads: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            end: None,
            modules: Vec::new(),
            searches: Vec::new(),
            good: after,
            has_damage: false,
            calls: 0,
            has_disorder: false,
            reports: VecDeque::new(),
            head,
            plans,
        };
        // The head has the first pair of ticks and nanoseconds.
        facts.time.pair(facts.head.clock.ticks, facts.head.clock.ns);
        while facts.visit_block(path, bytes)? {}
        let rest = &bytes[facts.good..];
        facts.has_damage =
            !rest.iter().all(|&byte| byte == 0) && next(bytes, facts.good) == NextBlock::NoBlock;
        Ok(facts)
    }

    /// Reads the head of a file that a process still writes.
    pub fn of_head(path: &Path, bytes: &[u8]) -> Result<Facts, FactsError> {
        let (_, _, after) = head(path, bytes)?;
        Facts::of(path, &bytes[..after])
    }

    /// Reads further blocks. `bytes` start after the known blocks.
    pub fn extend(&mut self, path: &Path, bytes: &[u8]) -> Result<(), TraceError> {
        self.threads.clear();
        self.good = 0;
        loop {
            match next(bytes, self.good) {
                NextBlock::Block(header) => {
                    let after = self.good + HEADER + header.packed as usize;
                    let whole = unpack::packed(path, bytes, self.good, &header);
                    match whole {
                        // Another host may see the file size before the bytes, so zeros may become a block
                        // later.
                        Err(_) if bytes[after..].iter().all(|&byte| byte == 0) => return Ok(()),
                        Err(error) => return Err(error),
                        Ok(_) => {}
                    }
                }
                // An incomplete header may also be damaged.
                NextBlock::NoBlock if bytes.iter().skip(self.good + HEADER).any(|&byte| byte != 0) => {
                    let advice = "the file is damaged from here on; what was read before is good";
                    let error = TraceError::new(path, "no block here", advice);
                    return Err(error.at_offset(self.good as u64));
                }
                NextBlock::NoBlock | NextBlock::Cut => return Ok(()),
            }
            match self.visit_block(path, bytes) {
                Ok(_) => self.report(),
                Err(FactsError::Damaged(error)) => return Err(error),
                Err(FactsError::Truncated) => return Ok(()),
            }
        }
    }

    fn report(&mut self) {
        const PAIRS_KEPT_EACH_SIDE: usize = 4;
        let Some(&(_, ns)) = self.time.pairs.last() else { return };
        if self.reports.back().is_none_or(|last| last.0 < ns) {
            self.reports.push_back((ns, self.calls));
            if self.reports.len() > PAIRS_KEPT_EACH_SIDE {
                self.reports.pop_front();
            }
        }
    }

    /// Removes pairs in the middle: a process that runs for days has many.
    pub fn keep_recent_time(&mut self) {
        const RECENT: usize = 8;
        let pairs = &mut self.time.pairs;
        if pairs.len() > 2 * RECENT {
            pairs.drain(1..pairs.len() - RECENT);
        }
    }

    /// Functions that threads had not left at the last write, with the ticks of their entries.
    pub fn unfinished_calls(&self) -> impl Iterator<Item = (&str, u64)> {
        let ended = self.end.is_some();
        let unfinished = self.unfinished.values().filter(move |_| !ended);
        unfinished.map(|&(function, since)| (self.head.functions[function].0.as_str(), since))
    }

    pub fn host(&self) -> (&str, &str) {
        (&self.head.host, &self.head.boot)
    }

    pub fn uses_wall_clock(&self) -> bool {
        self.time.offsets.iter().any(|offset| offset.2 == UNKNOWN_NS)
    }

    fn visit_block(&mut self, path: &Path, bytes: &[u8]) -> Result<bool, FactsError> {
        let NextBlock::Block(header) = next(bytes, self.good) else { return Ok(false) };
        let at = self.good;
        match header.kind {
            kind::CALLS | kind::CALLS_THEN_TIMES => {
                self.threads.entry(header.thread).or_insert((at, at)).1 = at;
                self.unfinished.remove(&header.thread);
                self.calls = self.calls.saturating_add(header.calls);
            }
            kind::CLOCK | kind::OFFSET | kind::END | kind::MODULES | kind::SEARCH => {
                let content = unpack::whole(path, bytes, at).map_err(FactsError::Damaged)?;
                self.add_content(header.kind, &content);
            }
            kind::WITHIN => {
                let content = unpack::whole(path, bytes, at).map_err(FactsError::Damaged)?;
                self.unfinished
                    .extend(parse_unfinished(&content, self.plans.len()).map(|call| (header.thread, call)));
            }
            _ => {}
        }
        self.good = at + HEADER + header.packed as usize;
        Ok(true)
    }

    fn add_content(&mut self, kind: u8, content: &[u8]) {
        let word = |at: &[u8]| u64::from_le_bytes(at.try_into().expect("eight bytes"));
        match kind {
            kind::CLOCK => {
                for pair in content.chunks_exact(16) {
                    let (ticks, ns) = (word(&pair[..8]), word(&pair[8..]) as i64);
                    // The first pair may equal the pair of the head.
                    let again = self.time.pairs.last() == Some(&(ticks, ns));
                    self.has_disorder |= !again && !self.time.pair(ticks, ns);
                }
            }
            kind::OFFSET if content.len() >= 24 => {
                let (ticks, ns) = (word(&content[..8]), word(&content[8..16]) as i64);
                self.has_disorder |= !self.time.offset(ticks, ns, word(&content[16..24]));
            }
            kind::MODULES => self.modules = serde_json::from_str(&decode_lossy(content)).unwrap_or_default(),
            kind::SEARCH => self.searches.extend(serde_json::from_str::<SearchCost>(&decode_lossy(content))),
            kind::END => self.end = Some(serde_json::from_str(&decode_lossy(content)).unwrap_or_default()),
            _ => {}
        }
    }
}

fn parse_unfinished(content: &[u8], functions: usize) -> Option<(usize, u64)> {
    let (since, rest) = content.split_first_chunk()?;
    let function = usize::try_from(u64::from_le_bytes(*rest.first_chunk()?)).ok()?;
    (function < functions).then_some((function, u64::from_le_bytes(*since)))
}

/// Paths are bytes, which recorders write unchanged.
fn decode_lossy(content: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(content)
}

fn head(path: &Path, bytes: &[u8]) -> Result<(Head, Vec<Plan>, usize), FactsError> {
    let bad = |problem: String, advice: &str| {
        FactsError::Damaged(TraceError::new(path, problem, advice).at_offset(0))
    };
    let copy = "copy the file again, or remove the file to analyze the other ranks";
    let header = match next(bytes, 0) {
        NextBlock::Block(header) if header.kind == kind::HEAD => header,
        NextBlock::Block(header) => {
            return Err(bad(format!("the first block has kind {}, and is not a head", header.kind), copy));
        }
        NextBlock::Cut => return Err(FactsError::Truncated),
        NextBlock::NoBlock if bytes.iter().all(|&byte| byte == 0) => return Err(FactsError::Truncated),
        NextBlock::NoBlock => return Err(bad("not a file of a recorded trace".to_owned(), copy)),
    };
    let content = unpack::whole(path, bytes, 0).map_err(FactsError::Damaged)?;
    check_version(&content).map_err(|version| {
        let problem =
            format!("the file has version {version}, but this command reads versions up to {VERSION}");
        bad(problem, "read it with the version of Matchpoint that recorded it, or a newer one")
    })?;
    let head: Head = serde_json::from_str(&decode_lossy(&content))
        .map_err(|error| bad(format!("the head cannot be understood: {error}"), copy))?;
    if head.size > MOST_RANKS || head.rank >= head.size {
        return Err(bad(
            format!("the file's head is invalid: rank {} of {} processes", head.rank, head.size),
            copy,
        ));
    }
    let plans = head.functions.iter().map(|(name, fields)| Plan::new(name, fields));
    let plans = plans.collect::<Result<_, _>>().map_err(|problem| bad(problem, copy))?;
    Ok((head, plans, HEADER + header.packed as usize))
}

fn check_version(content: &[u8]) -> Result<(), u64> {
    let json: Option<serde_json::Value> = serde_json::from_str(&decode_lossy(content)).ok();
    let version = json.as_ref().and_then(|json| json.get("version")?.as_u64());
    match version {
        Some(version) if version > u64::from(VERSION) => Err(version),
        _ => Ok(()),
    }
}

pub(super) struct RankFile {
    pub path: PathBuf,
    pub map: Map,
    /// `Err` is the error of the rank's readers.
    pub facts: Result<Arc<Facts>, String>,
}

impl RankFile {
    /// True for a file without calls of a process that may have made calls.
    pub fn is_silent(&self) -> bool {
        let has_all =
            |facts: &Facts| facts.end.as_ref().is_some_and(|end| end.left_out == 0 && end.unseen == 0);
        self.facts.as_ref().is_ok_and(|facts| facts.calls == 0 && !facts.has_damage && !has_all(facts))
    }
}
