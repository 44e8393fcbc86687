//! The report of one process for `matchpoint run`: a JSON file in the folder of the setting [`REPORT`]. A
//! rename replaces the whole file whenever an endpoint opens or closes.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, Once};

use matchpoint::Engine;

use crate::clock::Moment;
use crate::settings::{REPORT, settings};
use crate::tally::Tally;

/// The measurements of an endpoint and its engine.
pub struct State<'a> {
    /// The engine in use.
    pub engine: &'a dyn Engine,
    /// The counts.
    pub tally: Tally,
    /// `hybrid` replaced the engine of the [`settings`], because that engine's table was full.
    pub fell_back: bool,
}

struct EndpointFigures {
    front_end: &'static str,
    engine: String,
    /// The engine of the settings, if `hybrid` replaced it.
    replaced: Option<&'static str>,
    is_open: bool,
    tally: Tally,
    footprint_bytes: u64,
    elapsed_ns: u64,
    matching_ns: f64,
}

/// All endpoints of the process, open and closed.
static ENDPOINTS: Mutex<Vec<EndpointFigures>> = Mutex::new(Vec::new());

/// The entry of one endpoint in the report.
pub struct Endpoint {
    front_end: &'static str,
    opened: Moment,
    index: Option<usize>,
}

impl Endpoint {
    /// Creates an endpoint that the report does not contain yet.
    pub fn new(front_end: &'static str) -> Self {
        Endpoint { front_end, opened: Moment::now(), index: None }
    }

    /// Adds the endpoint to the report. The endpoint's elapsed time begins here.
    pub fn open(&mut self, state: &State<'_>) {
        self.opened = Moment::now();
        let figures = self.figures(state, true);
        let mut endpoints = ENDPOINTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.index = Some(endpoints.len());
        endpoints.push(figures);
    }

    /// Updates the endpoint in the report. Does nothing before [`open`](Self::open).
    pub fn update(&self, state: &State<'_>, is_open: bool) {
        let Some(index) = self.index else { return };
        let figures = self.figures(state, is_open);
        ENDPOINTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index] = figures;
    }

    fn figures(&self, state: &State<'_>, is_open: bool) -> EndpointFigures {
        let (elapsed_ns, ns_per_tick) = self.opened.since();
        let tally = state.tally;
        let operations = (tally.posts + tally.arrivals) as f64;
        let mean_ticks = tally.timed_ticks as f64 / tally.timed.max(1) as f64;
        EndpointFigures {
            front_end: self.front_end,
            engine: if state.fell_back { "hybrid".to_owned() } else { settings().engine.clone() },
            replaced: state.fell_back.then_some(&settings().engine),
            is_open,
            tally,
            footprint_bytes: state.engine.footprint().peak_bytes,
            elapsed_ns,
            matching_ns: mean_ticks * ns_per_tick * operations,
        }
    }
}

/// Returns the rank in `MPI_COMM_WORLD`, from the launcher's environment variables.
pub fn rank() -> Option<u64> {
    let names = ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the function writes to all bytes but the last, so a zero byte ends every name.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name)
        .map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

/// Returns a JSON string. Control characters become spaces.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns a JSON value: `null` for `None`.
pub fn or_null(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// Returns host name and process id for file names: `node7-4711`.
pub fn process_name() -> String {
    format!("{}-{}", host(), std::process::id())
}

/// Writes the report. `members`: names and JSON values that the caller adds.
///
/// After a failure, rank 0 prints one warning, and the job goes on.
pub fn write(rank: Option<u64>, members: &[(&str, String)]) {
    static WARNED: Once = Once::new();
    let Some(folder) = &settings().report else { return };
    let written = write_to(folder, rank, members);
    if let (Err(error), None | Some(0)) = (written, rank) {
        WARNED.call_once(|| warn(folder, &error));
    }
}

/// `eprintln!` would panic if standard error is closed.
fn warn(folder: &Path, error: &io::Error) {
    let _ = writeln!(
        io::stderr(),
        "matchpoint: warning: cannot write a report to '{}': {error}. hint: create the folder, or unset {REPORT}",
        folder.display()
    );
}

fn write_to(folder: &Path, rank: Option<u64>, members: &[(&str, String)]) -> io::Result<()> {
    let mut text = format!(
        "{{\"schema\":1,\"host\":{},\"pid\":{},\"rank\":{}",
        quoted(&host()),
        std::process::id(),
        or_null(rank),
    );
    for (name, value) in members {
        let _ = write!(text, ",\"{name}\":{value}");
    }
    text.push_str(",\"endpoints\":[");
    // The lock is held up to the end, because all threads use the same temporary file.
    let endpoints = ENDPOINTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (index, endpoint) in endpoints.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        write_endpoint(&mut text, endpoint);
    }
    text.push_str("]}\n");
    let name = format!("{}.json", process_name());
    let temporary = folder.join(format!("{name}.new"));
    std::fs::write(&temporary, text)?;
    std::fs::rename(temporary, folder.join(name))
}

fn write_endpoint(text: &mut String, endpoint: &EndpointFigures) {
    let tally = &endpoint.tally;
    let _ = write!(
        text,
        "{{\"front_end\":{},\"engine\":{},\"replaced\":{},\"open\":{},\"elapsed_ns\":{},\"matching_ns\":{:.0},\"bytes_max\":{},\
         \"posts\":{},\"posts_hit\":{},\"arrivals\":{},\"arrivals_hit\":{},\"probes\":{},\
         \"posted_max\":{},\"unexpected_max\":{},\"posted_sum\":{},\"unexpected_sum\":{},\
         \"posted_left\":{},\"unexpected_left\":{}}}",
        quoted(endpoint.front_end),
        quoted(&endpoint.engine),
        or_null(endpoint.replaced.map(quoted)),
        endpoint.is_open,
        endpoint.elapsed_ns,
        endpoint.matching_ns,
        endpoint.footprint_bytes,
        tally.posts,
        tally.posts_hit,
        tally.arrivals,
        tally.arrivals_hit,
        tally.probes,
        tally.posted_max,
        tally.unexpected_max,
        tally.posted_sum,
        tally.unexpected_sum,
        tally.posted_now,
        tally.unexpected_now,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(quoted("a \"b\"\\\n"), r#""a \"b\"\\ ""#);
    }
}
