//! Iterates over the calls of a rank, and over all ranks in parallel.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use matchpoint_replay::Progress;
use matchpoint_trace::columns::Row;
use matchpoint_trace::{Call, Trace, TraceError};
use rayon::prelude::*;

use super::origin::Origin;
use crate::failure::Failure;

const CALLS_PER_CHECK: u64 = 4096;

/// Returns the number of calls.
pub(super) fn each_call(
    trace: &dyn Trace,
    origin: &Origin,
    rank: u32,
    progress: &Progress,
    mut take: impl FnMut(&mut Call) -> io::Result<()>,
) -> io::Result<u64> {
    let mut stream = trace.rank(rank).map_err(io::Error::other)?;
    let (mut call, mut calls, mut sites, mut reported) = (Call::default(), 0, 0, 0);
    while stream.read(&mut call).map_err(io::Error::other)? {
        sites += u64::from(call.site != 0);
        take(&mut call)?;
        calls += 1;
        if calls % CALLS_PER_CHECK == 0 {
            if progress.stopped() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            progress.calls.fetch_add(CALLS_PER_CHECK, Relaxed);
            progress.bytes.fetch_add(stream.position() - reported, Relaxed);
            reported = stream.position();
        }
    }
    origin.saw_sites(sites);
    progress.calls.fetch_add(calls % CALLS_PER_CHECK, Relaxed);
    progress.bytes.fetch_add(stream.position() - reported, Relaxed);
    Ok(calls)
}

/// Passes rows of the table of calls, and returns their number.
pub(super) fn each_row(
    trace: &dyn Trace,
    origin: &Origin,
    progress: &Progress,
    mut take: impl FnMut(&Row) -> io::Result<()>,
) -> io::Result<u64> {
    let (mut row, mut rows) = (Row::default(), 0);
    for &rank in trace.present() {
        let mut number = 0;
        rows += each_call(trace, origin, rank, progress, |call| {
            row.fill(rank, number, call);
            number += 1;
            take(&row)
        })?;
    }
    Ok(rows)
}

/// The results are in the order of ranks. After an error, no further rank starts.
pub(super) fn each_rank<T: Send, E: Send>(
    trace: &dyn Trace,
    work: impl Fn(usize, u32) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    trace.present().par_iter().enumerate().map(|(index, &rank)| work(index, rank)).collect()
}

pub(super) struct Written {
    pub calls: u64,
    pub notes: Vec<String>,
}

pub(super) fn failed(
    progress: &Progress,
    error: &io::Error,
    writing: impl Fn(&io::Error) -> Failure,
) -> Failure {
    let of_trace = error.get_ref().is_some_and(|error| error.is::<TraceError>());
    match error.kind() {
        _ if progress.stopped() => Failure::Interrupted,
        _ if of_trace => Failure::Message(error.to_string()),
        _ => writing(error),
    }
}
