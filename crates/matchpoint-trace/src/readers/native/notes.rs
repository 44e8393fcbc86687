//! Limitations of a trace, as sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::clock::{Timeline, UNKNOWN_NS};
use super::facts::{Facts, RankFile};
use super::lane::Lane;
use crate::native::manifest::{self, Manifest};

const NAMED: usize = 4;

type Files = BTreeMap<u32, RankFile>;

pub(super) fn all(files: &Files, manifest: &Manifest, ranks: u32) -> Vec<String> {
    let notes = [
        damaged(files),
        cut_short(files, manifest),
        ended_early(files, manifest),
        aborted(files),
        left_out(files),
        unseen(files),
        waited(files),
        clocks(files),
        manifest_contradictions(files, manifest, ranks),
        running(manifest),
        spawned(manifest),
    ];
    notes.into_iter().flatten().collect()
}

/// Maximum error between the clocks of all ranks. `None` if a host's clock was not compared with that of rank
/// 0's host.
pub(super) fn clock_error_ns(files: &Files) -> Option<u64> {
    let hosts = hosts(files);
    let error = |facts: &Facts| match facts.time.offsets.iter().map(|offset| offset.2).max() {
        // Hosts without names may be different.
        None => (hosts.len() == 1 && hosts.iter().all(|host| !host.0.is_empty())).then_some(0),
        Some(UNKNOWN_NS) => None,
        known => known,
    };
    let errors: Option<Vec<u64>> = facts(files).map(|(_, _, facts)| error(facts)).collect();
    let mut errors = errors.filter(|errors| !errors.is_empty())?;
    errors.sort_unstable();
    Some(errors.iter().rev().take(2).fold(0, |sum, &error| sum.saturating_add(error)))
}

fn hosts(files: &Files) -> BTreeSet<(&str, &str)> {
    facts(files).map(|(_, _, facts)| facts.host()).collect()
}

fn facts(files: &Files) -> impl Iterator<Item = (u32, &RankFile, &Arc<Facts>)> {
    files.iter().filter_map(|(rank, file)| Some((*rank, file, file.facts.as_ref().ok()?)))
}

fn list(mut named: Vec<String>) -> String {
    if named.len() > NAMED {
        let more = named.len() - NAMED;
        named.truncate(NAMED);
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

fn damaged(files: &Files) -> Option<String> {
    let bad: Vec<(&RankFile, String)> = files
        .values()
        .filter_map(|file| match &file.facts {
            Err(problem) => Some((file, problem.clone())),
            Ok(facts) if facts.has_damage => Some((file, format!("no block at byte {}", facts.good))),
            Ok(_) => None,
        })
        .collect();
    let (first, problem) = bad.first()?;
    let name = first.path.file_name().unwrap_or_default().to_string_lossy();
    Some(format!("The files of {} ranks are damaged, for example {name}: {problem}.", bad.len()))
}

fn cut_short(files: &Files, manifest: &Manifest) -> Option<String> {
    let cut = manifest.finished().into_iter().filter_map(|(rank, listed)| {
        let file = files.get(&rank).filter(|file| is_cut(file, listed))?;
        let (bytes, calls) = (file.map.len(), file.facts.as_ref().map_or(0, |facts| facts.calls));
        Some(format!(
            "{} has {bytes} of {} bytes and {calls} of {} calls",
            listed.file, listed.bytes, listed.calls
        ))
    });
    let cut: Vec<String> = cut.collect();
    (!cut.is_empty()).then(|| {
        let (files, were) = if cut.len() == 1 { ("file", "was") } else { ("files", "were") };
        format!(
            "{} {files} {were} truncated after the run, for example by an incomplete copy: {}. Copy the trace again.",
            cut.len(),
            list(cut)
        )
    })
}

fn is_cut(file: &RankFile, listed: &manifest::RankFile) -> bool {
    (file.map.len() as u64) < listed.bytes
}

/// Note about files without an end. If the manifest has the lengths and a file was never longer, the process
/// was killed.
fn ended_early(files: &Files, manifest: &Manifest) -> Option<String> {
    let finished = manifest.finished();
    let was_cut = |rank, file| finished.get(&rank).is_some_and(|listed| is_cut(file, listed));
    let early: Vec<String> = facts(files)
        .filter(|(_, _, facts)| facts.end.is_none() && !facts.has_damage)
        .filter(|&(rank, file, _)| !was_cut(rank, file))
        .map(|(rank, file, facts)| {
            let unfinished = unfinished_calls(facts);
            match last_s(file, facts) {
                Some(seconds) => format!("rank {rank} after {seconds:.3} s{unfinished}"),
                None => format!("rank {rank} before its first call{unfinished}"),
            }
        })
        .collect();
    if early.is_empty() {
        return None;
    }
    let one = early.len() == 1;
    let (files, end) = if one { ("file", "ends") } else { ("files", "end") };
    let their = if one { "its process" } else { "their processes" };
    let why = match manifest.state.as_str() {
        "finished" => format!("{their} died, or could not write"),
        "running" => format!("{their} died or could not write, or the job still runs"),
        _ => format!("{their} died or could not write, or the trace was copied in part"),
    };
    Some(format!("{} {files} {end} early ({why}): {}.", early.len(), list(early)))
}

fn unfinished_calls(facts: &Facts) -> String {
    let mut time = Timeline::new(&facts.time, facts.head.clock.hz);
    let last_ns = facts.time.pairs.last().map_or(i64::MIN, |&(ticks, _)| time.ns(ticks));
    let unfinished = facts.unfinished_calls().map(|(function, since)| {
        let seconds = last_ns.saturating_sub(time.ns(since)).max(0) as f64 / 1e9;
        format!(" and then {seconds:.1} s in {function}")
    });
    unfinished.collect()
}

fn last_s(file: &RankFile, facts: &Facts) -> Option<f64> {
    let mut time = Timeline::new(&facts.time, facts.head.clock.hz);
    let blocks = facts.threads.iter();
    let spans = blocks.filter_map(|(&thread, &(first, last))| {
        let of = |block| Lane::new(thread, block).span(&file.path, &file.map, facts);
        Some((of(first)?.0, of(last)?.1))
    });
    let ns = spans.map(|(enter, leave)| (time.ns(enter), time.ns(leave)));
    let (first, last) = ns.reduce(|all, of| (all.0.min(of.0), all.1.max(of.1)))?;
    Some(last.saturating_sub(first).max(0) as f64 / 1e9)
}

fn aborted(files: &Files) -> Option<String> {
    let ended = |reason: &str| {
        let of =
            facts(files).filter(|(_, _, facts)| facts.end.as_ref().is_some_and(|end| end.reason == reason));
        of.map(|(rank, _, _)| rank.to_string()).collect::<Vec<_>>()
    };
    let (aborted, left) = (ended("abort"), ended("exit"));
    let mut sentences = Vec::new();
    if !aborted.is_empty() {
        sentences.push(format!("MPI_Abort ended the run, called by rank {}.", list(aborted)));
    }
    if !left.is_empty() {
        sentences.push(format!("Ended without MPI_Finalize: rank {}.", list(left)));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn left_out(files: &Files) -> Option<String> {
    let ends = || facts(files).filter_map(|(_, file, facts)| Some((file, facts, facts.end.as_ref()?)));
    let left: Vec<_> = ends().filter(|(_, _, end)| end.left_out > 0).collect();
    let total = left.iter().fold(0u64, |sum, (_, _, end)| sum.saturating_add(end.left_out));
    let first_s = left.iter().filter_map(|(_, facts, end)| {
        let mut time = Timeline::new(&facts.time, facts.head.clock.hz);
        let (began, limit) = (time.ns(facts.head.clock.ticks), time.ns(end.limit_ticks?));
        Some(limit.saturating_sub(began).max(0) as f64 / 1e9)
    });
    let first_s = first_s.fold(f64::INFINITY, f64::min);
    (total > 0).then(|| {
        let since = if first_s.is_finite() { format!(", {first_s:.3} s into the run at the earliest") } else { String::new() };
        format!(
            "The limit of disk space was reached by {} ranks{since}: {total} later calls were only counted. The \
             results may not hold for the whole run.",
            left.len()
        )
    })
}

fn unseen(files: &Files) -> Option<String> {
    let ends = || facts(files).filter_map(|(_, _, facts)| facts.end.as_ref()).filter(|end| end.unseen > 0);
    let total = ends().fold(0u64, |sum, end| sum.saturating_add(end.unseen));
    (total > 0).then(|| {
        format!(
            "{total} calls of {} ranks are not in the trace: in callbacks, left by a jump or an exception, with \
             millions of requests, or without memory.",
            ends().count()
        )
    })
}

fn waited(files: &Files) -> Option<String> {
    let ends = facts(files).filter_map(|(_, _, facts)| facts.end.as_ref());
    let waited: Vec<u64> = ends.map(|end| end.waited_ns).filter(|&waited| waited > 0).collect();
    let longest = *waited.iter().max()?;
    Some(format!(
        "Threads of {} ranks waited for the recorder, one up to {:.3} s: calls were faster than the disk.",
        waited.len(),
        longest as f64 / 1e9
    ))
}

fn clocks(files: &Files) -> Option<String> {
    let has_disorder = facts(files).filter(|(_, _, facts)| facts.has_disorder).count();
    let hosts = hosts(files);
    let mut sentences = Vec::new();
    if has_disorder > 0 {
        sentences.push(format!("The clocks of {has_disorder} ranks went backward: these times are ignored."));
    }
    if clock_error_ns(files).is_none() && hosts.len() > 1 {
        sentences.push(format!(
            "The clocks of {} hosts were not compared during the run.{}",
            hosts.len(),
            if facts(files).any(|(_, _, facts)| facts.uses_wall_clock()) {
                " Their wall clocks are used, with errors of milliseconds or more."
            } else {
                ""
            }
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn manifest_contradictions(files: &Files, manifest: &Manifest, ranks: u32) -> Option<String> {
    let mut sentences = Vec::new();
    if let Some(listed) = manifest.ranks.filter(|listed| *listed < ranks) {
        sentences
            .push(format!("The manifest has {listed} processes, the files have {ranks}, which is used."));
    }
    let longer = manifest.finished().into_iter().filter(|(_, listed)| listed.bytes > 0).filter_map(
        |(rank, listed)| {
            let there = files.get(&rank)?.map.len() as u64;
            (there > listed.bytes).then(|| format!("{} has {there}, not {}", listed.file, listed.bytes))
        },
    );
    let longer: Vec<String> = longer.collect();
    if !longer.is_empty() {
        sentences.push(format!("Files are longer than in the manifest: {} bytes.", list(longer)));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn running(manifest: &Manifest) -> Option<String> {
    if let Some(status) = manifest.exit_status.filter(|&status| status != 0) {
        return Some(format!("The job failed: its launcher ended with exit code {status}."));
    }
    (manifest.state == "running").then(|| {
        "The manifest marks the job as running: the job runs, or was killed with its recorder.".to_owned()
    })
}

fn spawned(manifest: &Manifest) -> Option<String> {
    let folders = manifest.spawned.clone();
    (!folders.is_empty()).then(|| {
        format!(
            "Spawned processes, and further jobs of the command, have separate traces: {}.",
            list(folders)
        )
    })
}
