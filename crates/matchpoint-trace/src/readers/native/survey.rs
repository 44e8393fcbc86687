//! What a file says before its calls are read: its blocks are hopped through by their headers.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::clock::{Evidence, UNKNOWN_NS};
use super::plan::Plan;
use super::unpack::{self, Next, next};
use crate::error::TraceError;
use crate::native::block::{HEADER, kind};
use crate::native::head::{End, Head, Module};
use crate::native::{MOST_RANKS, VERSION};
use crate::search::SearchCost;

/// What a file says.
#[derive(Debug)]
pub(super) struct Facts {
    pub head: Head,
    pub plans: Vec<Plan>,
    pub time: Evidence,
    /// Where the first and the last calls of each thread are.
    pub threads: BTreeMap<u16, (usize, usize)>,
    /// The call that a thread was last seen within, if none of its calls follow: its function, and the ticks since when.
    pub within: BTreeMap<u16, (usize, u64)>,
    pub end: Option<End>,
    /// Where its code lies, as the last of such blocks says.
    pub modules: Vec<Module>,
    /// What this rank measured of its library.
    pub searches: Vec<SearchCost>,
    /// Behind the last block that is whole.
    pub good: usize,
    /// What stands there is no block: neither one that was cut short, nor the zeros that a crashed host leaves.
    pub damage: bool,
    /// Calls in its blocks.
    pub calls: u64,
    /// Pairs and offsets that were not in order.
    pub disorder: bool,
    /// Of a file that is followed: the host's clock, and calls until then, where that was written last.
    pub reports: VecDeque<(i64, u64)>,
}

/// Why a file has no facts.
pub(super) enum Bad {
    /// It ends before its head does: the process was killed before it called anything.
    Short,
    /// It is no such file, or one that cannot be read.
    Damaged(TraceError),
}

impl Facts {
    /// Hops through a file.
    ///
    /// # Errors
    /// It has no head.
    pub fn of(path: &Path, bytes: &[u8]) -> Result<Facts, Bad> {
        let (head, plans, behind) = head(path, bytes)?;
        let mut facts = Facts {
            time: Evidence::default(),
            threads: BTreeMap::new(),
            within: BTreeMap::new(),
            end: None,
            modules: Vec::new(),
            searches: Vec::new(),
            good: behind,
            damage: false,
            calls: 0,
            disorder: false,
            reports: VecDeque::new(),
            head,
            plans,
        };
        // As if it stood in a block.
        facts.time.pair(facts.head.clock.ticks, facts.head.clock.ns);
        while facts.hop(path, bytes)? {}
        let rest = &bytes[facts.good..];
        facts.damage = !rest.iter().all(|&byte| byte == 0) && next(bytes, facts.good) == Next::NoBlock;
        Ok(facts)
    }

    /// What the beginning of a file says that is being written: its head alone.
    ///
    /// # Errors
    /// It is no such file, or the head is not whole yet.
    pub fn of_head(path: &Path, bytes: &[u8]) -> Result<Facts, Bad> {
        let (_, _, behind) = head(path, bytes)?;
        Facts::of(path, &bytes[..behind])
    }

    /// Goes on with what was written behind the blocks that it knows: `bytes` begin there.
    ///
    /// # Errors
    /// They are damaged, so that waiting for more of them would not help.
    pub fn go_on(&mut self, path: &Path, bytes: &[u8]) -> Result<(), TraceError> {
        self.threads.clear();
        self.good = 0;
        loop {
            match next(bytes, self.good) {
                Next::Block(header) => {
                    let behind = self.good + HEADER + header.packed as usize;
                    let whole = unpack::packed(path, bytes, self.good, &header);
                    match whole {
                        // Its size may be seen before its bytes are, by another host.
                        Err(_) if bytes[behind..].iter().all(|&byte| byte == 0) => return Ok(()),
                        Err(error) => return Err(error),
                        Ok(_) => {}
                    }
                }
                // So may that of a header, of which the beginning is there.
                Next::NoBlock if bytes.iter().skip(self.good + HEADER).any(|&byte| byte != 0) => {
                    let advice = "the file is damaged from here on; what was read before is good";
                    let error = TraceError::new(path, "what stands here is no block", advice);
                    return Err(error.at_offset(self.good as u64));
                }
                Next::NoBlock | Next::Cut => return Ok(()),
            }
            match self.hop(path, bytes) {
                Ok(_) => self.report(),
                Err(Bad::Damaged(error)) => return Err(error),
                Err(Bad::Short) => return Ok(()),
            }
        }
    }

    /// Notes how far the process was when it last told the time.
    fn report(&mut self) {
        const KEPT: usize = 4;
        let Some(&(_, ns)) = self.time.pairs.last() else { return };
        if self.reports.back().is_none_or(|last| last.0 < ns) {
            self.reports.push_back((ns, self.calls));
            if self.reports.len() > KEPT {
                self.reports.pop_front();
            }
        }
    }

    /// Forgets pairs in the middle, of which a process that runs for days has many.
    pub fn keep_recent_time(&mut self) {
        const RECENT: usize = 8;
        let pairs = &mut self.time.pairs;
        if pairs.len() > 2 * RECENT {
            pairs.drain(1..pairs.len() - RECENT);
        }
    }

    /// The functions of MPI that threads were within when the file was last written, and since when, in ticks.
    pub fn within(&self) -> impl Iterator<Item = (&str, u64)> {
        let ended = self.end.is_some();
        let within = self.within.values().filter(move |_| !ended);
        within.map(|&(function, since)| (self.head.functions[function].0.as_str(), since))
    }

    /// What tells hosts apart.
    pub fn host(&self) -> (&str, &str) {
        (&self.head.host, &self.head.boot)
    }

    /// How far the host's clock is from others' is known from its wall clock alone.
    pub fn by_wall_clock(&self) -> bool {
        self.time.offsets.iter().any(|offset| offset.2 == UNKNOWN_NS)
    }

    /// Takes the next block; false if there is none.
    fn hop(&mut self, path: &Path, bytes: &[u8]) -> Result<bool, Bad> {
        let Next::Block(header) = next(bytes, self.good) else { return Ok(false) };
        let at = self.good;
        match header.kind {
            kind::CALLS | kind::CALLS_THEN_TIMES => {
                self.threads.entry(header.thread).or_insert((at, at)).1 = at;
                self.within.remove(&header.thread);
                self.calls = self.calls.saturating_add(header.calls);
            }
            kind::CLOCK | kind::OFFSET | kind::END | kind::MODULES | kind::SEARCH => {
                let content = unpack::whole(path, bytes, at).map_err(Bad::Damaged)?;
                self.note(header.kind, &content);
            }
            kind::WITHIN => {
                let content = unpack::whole(path, bytes, at).map_err(Bad::Damaged)?;
                self.within.extend(within(&content, self.plans.len()).map(|call| (header.thread, call)));
            }
            _ => {}
        }
        self.good = at + HEADER + header.packed as usize;
        Ok(true)
    }

    fn note(&mut self, kind: u8, content: &[u8]) {
        let word = |at: &[u8]| u64::from_le_bytes(at.try_into().expect("eight bytes"));
        match kind {
            kind::CLOCK => {
                for pair in content.chunks_exact(16) {
                    let (ticks, ns) = (word(&pair[..8]), word(&pair[8..]) as i64);
                    // The first may repeat that of the head.
                    let again = self.time.pairs.last() == Some(&(ticks, ns));
                    self.disorder |= !again && !self.time.pair(ticks, ns);
                }
            }
            kind::OFFSET if content.len() >= 24 => {
                let (ticks, ns) = (word(&content[..8]), word(&content[8..16]) as i64);
                self.disorder |= !self.time.offset(ticks, ns, word(&content[16..24]));
            }
            kind::MODULES => self.modules = serde_json::from_str(&lenient(content)).unwrap_or_default(),
            kind::SEARCH => self.searches.extend(serde_json::from_str::<SearchCost>(&lenient(content))),
            kind::END => self.end = Some(serde_json::from_str(&lenient(content)).unwrap_or_default()),
            _ => {}
        }
    }
}

/// The function, one of so many, and the ticks.
fn within(content: &[u8], functions: usize) -> Option<(usize, u64)> {
    let (since, rest) = content.split_first_chunk()?;
    let function = usize::try_from(u64::from_le_bytes(*rest.first_chunk()?)).ok()?;
    (function < functions).then_some((function, u64::from_le_bytes(*since)))
}

/// Paths are bytes, and recorders have written them as they were.
fn lenient(content: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(content)
}

fn head(path: &Path, bytes: &[u8]) -> Result<(Head, Vec<Plan>, usize), Bad> {
    let bad =
        |problem: String, advice: &str| Bad::Damaged(TraceError::new(path, problem, advice).at_offset(0));
    let copy = "copy the file again, or leave this rank out";
    let header = match next(bytes, 0) {
        Next::Block(header) if header.kind == kind::HEAD => header,
        Next::Block(header) => {
            return Err(bad(format!("the first block is of kind {}, and no head", header.kind), copy));
        }
        Next::Cut => return Err(Bad::Short),
        Next::NoBlock if bytes.iter().all(|&byte| byte == 0) => return Err(Bad::Short),
        Next::NoBlock => return Err(bad("this is no file of a recorded trace".to_owned(), copy)),
    };
    let content = unpack::whole(path, bytes, 0).map_err(Bad::Damaged)?;
    check_version(&content).map_err(|version| {
        let problem =
            format!("the file is of version {version}, and version {VERSION} is the newest known here");
        bad(problem, "read it with the version of Matchpoint that recorded it, or a newer one")
    })?;
    let head: Head = serde_json::from_str(&lenient(&content))
        .map_err(|error| bad(format!("the head cannot be understood: {error}"), copy))?;
    if head.size > MOST_RANKS || head.rank >= head.size {
        return Err(bad(format!("the head says rank {} of {} processes", head.rank, head.size), copy));
    }
    let plans = head.functions.iter().map(|(name, fields)| Plan::new(name, fields));
    let plans = plans.collect::<Result<_, _>>().map_err(|problem| bad(problem, copy))?;
    Ok((head, plans, HEADER + header.packed as usize))
}

/// The version, if it is too new: what else a head says may have changed then.
fn check_version(content: &[u8]) -> Result<(), u64> {
    let json: Option<serde_json::Value> = serde_json::from_str(&lenient(content)).ok();
    let version = json.as_ref().and_then(|json| json.get("version")?.as_u64());
    match version {
        Some(version) if version > u64::from(VERSION) => Err(version),
        _ => Ok(()),
    }
}
