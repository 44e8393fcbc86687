//! What a process tells `matchpoint run`: one file, in the folder that the environment names, renewed when an endpoint is
//! enabled or closed.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::clock::Moment;
use crate::library::library;
use crate::matching::Matching;
use crate::settings::settings;
use crate::tally::Tally;

/// What is told of one endpoint.
struct Line {
    front_end: &'static str,
    engine: String,
    is_open: bool,
    tally: Tally,
    footprint_bytes: usize,
    elapsed_ns: u64,
    matching_ns: f64,
}

static LINES: Mutex<(Vec<Line>, Vec<String>)> = Mutex::new((Vec::new(), Vec::new()));

/// An endpoint's place in the report.
pub struct Endpoint {
    front_end: &'static str,
    opened: Moment,
    line: Option<usize>,
}

impl Endpoint {
    /// One with this front end.
    pub fn new(front_end: &'static str) -> Self {
        Endpoint { front_end, opened: Moment::now(), line: None }
    }

    /// It is in use from now on.
    pub fn enabled(&mut self, matching: &Matching) {
        self.opened = Moment::now();
        let mut lines = LINES.lock().unwrap_or_else(|broken| broken.into_inner());
        self.line = Some(lines.0.len());
        lines.0.push(self.describe(matching, true));
        write(&lines.0, &lines.1);
    }

    /// It is not any more.
    pub fn closed(&mut self, matching: &Matching) {
        let Some(line) = self.line else { return };
        let mut lines = LINES.lock().unwrap_or_else(|broken| broken.into_inner());
        lines.0[line] = self.describe(matching, false);
        write(&lines.0, &lines.1);
    }

    fn describe(&self, matching: &Matching, is_open: bool) -> Line {
        let (elapsed_ns, ns_per_tick) = self.opened.since();
        let tally = matching.tally;
        let operations = (tally.posts + tally.arrivals) as f64;
        let mean_ticks = tally.timed_ticks as f64 / tally.timed.max(1) as f64;
        Line {
            front_end: self.front_end,
            engine: if matching.fell_back { "hybrid".to_owned() } else { settings().engine.clone() },
            is_open,
            tally,
            footprint_bytes: matching.engine().footprint().peak_bytes as usize,
            elapsed_ns,
            matching_ns: mean_ticks * ns_per_tick * operations,
        }
    }
}

/// An endpoint whose messages the core matches itself, and why.
pub fn unmatched(why: &str) {
    let mut lines = LINES.lock().unwrap_or_else(|broken| broken.into_inner());
    lines.1.push(why.to_owned());
    write(&lines.0, &lines.1);
}

/// The provider was loaded.
pub fn loaded() {
    let lines = LINES.lock().unwrap_or_else(|broken| broken.into_inner());
    write(&lines.0, &lines.1);
}

/// Which process of the job this is, as the launcher says.
fn rank() -> Option<u64> {
    let names = ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is as long as said, and ends with a zero whatever is written before.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name)
        .map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

fn quoted(text: &str) -> String {
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

/// This process, as names of files have it: `node7-4711`.
pub fn process() -> String {
    format!("{}-{}", host(), std::process::id())
}

/// The file of this kind for this process, in the folder that the environment names.
pub fn beside(kind: &str) -> Option<PathBuf> {
    let folder = settings().report.as_ref()?;
    Some(folder.join(format!("{kind}-{}.txt", process())))
}

/// A file that cannot be written is not worth a job: `matchpoint run` says which processes told nothing.
fn write(lines: &[Line], unmatched: &[String]) {
    let Some(folder) = &settings().report else { return };
    let version = library().version;
    let mut text = format!(
        "{{\"schema\":1,\"host\":{},\"pid\":{},\"rank\":{},\"libfabric\":\"{}.{}\",\"provider\":{},\"core\":{}",
        quoted(&host()),
        std::process::id(),
        rank().map_or_else(|| "null".to_owned(), |rank| rank.to_string()),
        version >> 16,
        version & 0xFFFF,
        quoted(&settings().name.to_string_lossy()),
        settings().core.as_ref().map_or_else(|| "null".to_owned(), |core| quoted(&core.to_string_lossy())),
    );
    let unmatched: Vec<_> = unmatched.iter().map(|why| quoted(why)).collect();
    let _ = write!(text, ",\"unmatched\":[{}],\"endpoints\":[", unmatched.join(","));
    for (at, line) in lines.iter().enumerate() {
        let t = &line.tally;
        let _ = write!(
            text,
            "{}{{\"front_end\":{},\"engine\":{},\"open\":{},\"elapsed_ns\":{},\"matching_ns\":{:.0},\"bytes_max\":{},\
             \"posts\":{},\"posts_hit\":{},\"arrivals\":{},\"arrivals_hit\":{},\"probes\":{},\
             \"posted_max\":{},\"unexpected_max\":{},\"posted_sum\":{},\"unexpected_sum\":{},\
             \"posted_left\":{},\"unexpected_left\":{}}}",
            if at == 0 { "" } else { "," },
            quoted(line.front_end),
            quoted(&line.engine),
            line.is_open,
            line.elapsed_ns,
            line.matching_ns,
            line.footprint_bytes,
            t.posts,
            t.posts_hit,
            t.arrivals,
            t.arrivals_hit,
            t.probes,
            t.posted_max,
            t.unexpected_max,
            t.posted_sum,
            t.unexpected_sum,
            t.posted_now,
            t.unexpected_now,
        );
    }
    text.push_str("]}\n");
    let name = format!("{}.json", process());
    let temporary = folder.join(format!("{name}.new"));
    if std::fs::write(&temporary, text).is_ok() {
        let _ = std::fs::rename(temporary, folder.join(name));
    }
}
