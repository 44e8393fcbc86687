//! Writer of one rank's file.

mod fields;

use std::collections::BTreeMap;
use std::io::{self, Write};

use self::fields::{Last, fields};
use super::block::{TIMES_HEADER, block, kind};
use super::head::{Clock, End, Head};
use super::layout::{self, MEMBERS, MEMBERS_FIELDS};
use super::varint::put;
use super::{MOST_RANKS, VERSION};
use crate::call::{Action, Call, CommId, NewComm};
use crate::function::Function;

/// Ticks of nanosecond 0. Negative times also have positive ticks.
const ZERO: u64 = 1 << 62;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub rank: u32,
    pub size: u32,
    pub host: String,
    /// Maximum error between the clocks of all ranks; `None` if unknown.
    pub clock_error_ns: Option<u64>,
    /// True if the calls do not distinguish `MPI_PROC_NULL` from `MPI_ANY_SOURCE`.
    pub null_looks_any: bool,
    /// Compression level of zstd. 0: no compression.
    pub level: i32,
    /// Size of a block before compression, in bytes.
    pub block_bytes: usize,
}

impl Settings {
    pub fn of(rank: u32, size: u32) -> Self {
        Settings {
            rank,
            size,
            host: String::new(),
            clock_error_ns: None,
            null_looks_any: false,
            level: 1,
            block_bytes: 64 << 10,
        }
    }
}

/// Writer of one rank's file. The format cannot contain:
///
/// * groups, and the results of `MPI_Comm_size` and `MPI_Comm_rank`,
/// * the creation of communicators except duplicates, `MPI_Comm_split`, `MPI_Intercomm_create` and
///   `MPI_Intercomm_merge` (members of [`NewComm::Listed`] are written),
/// * source, tag and size in the status of a cancelled message,
/// * a call that returns before its entry: the written call has no duration,
/// * names of unknown functions: all have the same name in the file.
pub struct Writer<W: Write> {
    out: W,
    settings: Settings,
    threads: BTreeMap<u16, Open>,
    calls: u64,
}

struct Open {
    content: Vec<u8>,
    times: Vec<u8>,
    calls: u64,
    ticks: u64,
    last: Last,
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// The file cannot be written, or the rank is invalid.
    pub fn new(mut out: W, settings: Settings) -> io::Result<Self> {
        if settings.size > MOST_RANKS || settings.rank >= settings.size {
            let problem = format!("there is no rank {} of {}", settings.rank, settings.size);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        out.write_all(&block(kind::HEAD, 0, 0, &serde_json::to_vec(&head(&settings))?, settings.level)?)?;
        if let Some(error_ns) = settings.clock_error_ns {
            let offset = [0, 0, error_ns].map(u64::to_le_bytes).concat();
            out.write_all(&block(kind::OFFSET, 0, 0, &offset, 0)?)?;
        }
        Ok(Writer { out, settings, threads: BTreeMap::new(), calls: 0 })
    }

    /// Writes a call.
    ///
    /// # Errors
    /// The file cannot be written, or the function cannot have this action.
    pub fn call(&mut self, call: &Call) -> io::Result<()> {
        let open = self.threads.entry(call.thread).or_insert_with(|| Open::at(ticks(call.enter_ns)));
        let (enter, leave) = (ticks(call.enter_ns), ticks(call.leave_ns));
        open.begin(call.function as u64, enter, leave.saturating_sub(enter));
        fields(&mut open.content, &mut open.last, call).map_err(|problem| {
            let problem = format!("{}: {problem}", call.function.name());
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        open.calls += 1;
        if let Action::CommCreate { how: NewComm::Listed { own, .. }, comm, .. } = call.action {
            if comm != CommId::NULL {
                let (own, remote) = call.integers.split_at(own as usize);
                open.begin(Function::ALL.len() as u64, enter, 0);
                open.last.members(&mut open.content, comm, own, remote);
            }
        }
        self.calls += 1;
        if open.content.len() + open.times.len() >= self.settings.block_bytes {
            self.close(call.thread)?;
        }
        Ok(())
    }

    /// Ends the file. `reason` is `finalize`, `abort` or `exit`.
    pub fn finish(mut self, reason: &str) -> io::Result<W> {
        let threads: Vec<u16> = self.threads.keys().copied().collect();
        threads.into_iter().try_for_each(|thread| self.close(thread))?;
        let end = End { reason: reason.to_owned(), calls: self.calls, ..End::default() };
        self.out.write_all(&block(kind::END, 0, 0, &serde_json::to_vec(&end)?, 0)?)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn close(&mut self, thread: u16) -> io::Result<()> {
        let Some(Open { mut content, times, calls, .. }) = self.threads.remove(&thread) else {
            return Ok(());
        };
        let after = u32::try_from(content.len()).map_err(io::Error::other)?;
        content[8..TIMES_HEADER].copy_from_slice(&after.to_le_bytes());
        content.extend(times);
        self.out.write_all(&block(kind::CALLS_THEN_TIMES, thread, calls, &content, self.settings.level)?)
    }
}

impl Open {
    fn at(ticks: u64) -> Self {
        let mut content = ticks.to_le_bytes().to_vec();
        content.resize(TIMES_HEADER, 0);
        Open { content, times: Vec::new(), calls: 0, ticks, last: Last::default() }
    }

    fn begin(&mut self, function: u64, enter: u64, took: u64) {
        put(&mut self.content, function);
        put(&mut self.times, enter.wrapping_sub(self.ticks));
        put(&mut self.times, took);
        self.ticks = enter;
    }
}

fn ticks(ns: i64) -> u64 {
    ZERO.wrapping_add_signed(ns)
}

fn head(settings: &Settings) -> Head {
    let mut functions: Vec<(String, String)> = Function::ALL
        .iter()
        .map(|&function| (function.name().to_owned(), layout::fields(function).to_owned()))
        .collect();
    functions.push((MEMBERS.to_owned(), MEMBERS_FIELDS.to_owned()));
    Head {
        version: VERSION,
        rank: settings.rank,
        size: settings.size,
        host: settings.host.clone(),
        boot: String::new(),
        pid: 0,
        processors: 0,
        library: String::new(),
        transport: String::new(),
        standard: String::new(),
        thread_level: String::new(),
        program: String::new(),
        started_ns: 0,
        clock: Clock { source: "nanoseconds".to_owned(), hz: 1e9, ticks: ZERO, ns: 0 },
        null_looks_any: settings.null_looks_any,
        functions,
    }
}
