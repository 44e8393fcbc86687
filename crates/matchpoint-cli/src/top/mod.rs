//! `matchpoint top`: shows the queues of a running job.
//!
//! `matchpoint-record` reads the growing files. [`table`] and [`json()`] are the output, [`screen`] is the terminal.

pub mod screen;
pub mod table;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use matchpoint_record::watch::snapshot::{ProcessState, Row, Snapshot};
use matchpoint_record::watch::{Watch, target};
use screen::Screen;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::Top;
use crate::failure::Failure;
use crate::job::signalled;

pub const REFRESH: Duration = Duration::from_secs(1);

/// Ranks shown without a terminal.
const PLAIN_ROWS: usize = 20;

pub fn run(arguments: &Top) -> Result<(), Failure> {
    let mut watch = Watch::new(&target::folder(&arguments.target)?);
    if arguments.once {
        watch.read_all();
        return print(&checked(&watch)?, arguments);
    }
    let stop = signalled(&[SIGINT, SIGTERM, SIGHUP])?;
    if arguments.json || !io::stdout().is_terminal() {
        follow(&mut watch, arguments, &stop)
    } else {
        show(&mut watch, arguments, &stop)
    }
}

/// The current snapshot, or an error if no file is readable.
fn checked(watch: &Watch) -> Result<Snapshot, Failure> {
    let snapshot = watch.snapshot();
    match snapshot.problem() {
        Some(problem) => Err(Failure::Message(problem)),
        None => Ok(snapshot),
    }
}

fn follow(watch: &mut Watch, arguments: &Top, stop: &AtomicBool) -> Result<(), Failure> {
    loop {
        let begun = Instant::now();
        watch.read_all();
        let snapshot = checked(watch)?;
        print(&snapshot, arguments)?;
        while begun.elapsed() < REFRESH && !snapshot.is_over() {
            if stop.load(Relaxed) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if snapshot.is_over() || stop.load(Relaxed) {
            return Ok(());
        }
    }
}

fn print(snapshot: &Snapshot, arguments: &Top) -> Result<(), Failure> {
    let text = if arguments.json {
        json(snapshot)
    } else {
        let lines = table::lines(snapshot, arguments.rows.unwrap_or(PLAIN_ROWS));
        lines.join("\n") + "\n" + if arguments.once { "" } else { "\n" }
    };
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::printing(&error))
}

fn show(watch: &mut Watch, arguments: &Top, stop: &AtomicBool) -> Result<(), Failure> {
    let last = {
        let mut screen = Screen::open().map_err(|error| Failure::printing(&error))?;
        loop {
            // A long trace needs several updates, which show the progress.
            let begun = Instant::now();
            while watch.read_some() && begun.elapsed() < REFRESH {}
            let snapshot = checked(watch)?;
            let (width, height) = screen.size();
            let page = table::page(&snapshot, width, height, arguments.rows.unwrap_or(usize::MAX));
            screen.draw(&page).map_err(|error| Failure::printing(&error))?;
            if snapshot.is_over() || screen.quits_within(REFRESH.saturating_sub(begun.elapsed()), stop) {
                break snapshot;
            }
        }
    };
    // The alternate screen disappears, so the last snapshot is printed.
    print(&last, &Top { target: String::new(), once: true, json: false, rows: arguments.rows })
}

/// A snapshot as one line of JSON.
pub fn json(snapshot: &Snapshot) -> String {
    let rows: Vec<Value> = snapshot.rows.iter().map(row).collect();
    let whole = json!({
        "at": humantime::format_rfc3339_millis(snapshot.at).to_string(),
        "trace": snapshot.folder.display().to_string(),
        "command": snapshot.command,
        "mpi": snapshot.library,
        "state": snapshot.state.word(),
        "exit_status": snapshot.exit_status,
        "ranks": snapshot.ranks,
        "calls": snapshot.rows.iter().map(|row| row.calls).sum::<u64>(),
        "calls_per_s": snapshot.rows.iter().map(|row| row.calls_per_s).sum::<f64>(),
        "posted": snapshot.total(|row| row.posted),
        "unexpected": snapshot.total(|row| row.unexpected),
        "elsewhere": snapshot.elsewhere,
        "behind": snapshot.behind,
        "by_rank": rows,
    });
    format!("{whole}\n")
}

fn row(row: &Row) -> Value {
    let mut value = json!(row);
    if let ProcessState::Unreadable(why) = &row.life {
        value["why"] = json!(why);
    }
    value
}
