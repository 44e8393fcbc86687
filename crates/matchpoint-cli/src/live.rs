//! `matchpoint record --live`: a table of queues below the output of the job.
//!
//! On a terminal, this process forwards the output of the job: the process erases the table, prints a line, and draws
//! the table again. Output to a file is not forwarded.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use matchpoint_record::watch::Watch;
use matchpoint_record::watch::snapshot::JobState;

use crate::job::Watcher;
use crate::progress::INTERVAL;
use crate::top::{REFRESH, table};

/// Maximum time of an update. Signals are handled after an update.
const UPDATE_MAX: Duration = Duration::from_millis(300);

const ROWS: usize = 8;

/// Time to wait for output after the end of the launcher, because some launchers leave processes behind.
const OUTPUT_WAIT: Duration = Duration::from_secs(1);

pub struct Live {
    watch: Watch,
    table: Option<Arc<Mutex<TableState>>>,
    forwarders: Vec<JoinHandle<()>>,
    begun: Instant,
    looked: Option<Instant>,
}

impl Live {
    /// Forwards the output of `command` if standard error is a terminal.
    pub fn new(trace: &Path, command: &mut Command) -> Live {
        let shown = io::stderr().is_terminal();
        if shown {
            command.stderr(Stdio::piped());
            if io::stdout().is_terminal() {
                command.stdout(Stdio::piped());
            }
        }
        Live {
            watch: Watch::new(trace),
            table: shown.then(Arc::default),
            forwarders: Vec::new(),
            begun: Instant::now(),
            looked: None,
        }
    }

    pub fn end(self) {
        let begun = Instant::now();
        while self.forwarders.iter().any(|thread| !thread.is_finished()) && begun.elapsed() < OUTPUT_WAIT {
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(state) = &self.table {
            locked(state).end();
        }
    }
}

impl Watcher for Live {
    fn on_start(&mut self, job: &mut Child) {
        let Some(state) = &self.table else { return };
        if let Some(from) = job.stdout.take() {
            self.forwarders.push(forward(from, Stream::Out, state.clone()));
        }
        if let Some(from) = job.stderr.take() {
            self.forwarders.push(forward(from, Stream::Err, state.clone()));
        }
    }

    fn on_poll(&mut self) {
        let every = if self.table.is_some() { REFRESH } else { INTERVAL };
        if self.looked.unwrap_or(self.begun).elapsed() < every {
            return;
        }
        let begun = Instant::now();
        while self.watch.read_some() && begun.elapsed() < UPDATE_MAX {}
        self.looked = Some(Instant::now());
        let snapshot = self.watch.snapshot();
        if snapshot.state == JobState::Waiting {
            return;
        }
        match &self.table {
            Some(state) => {
                let (width, height) = terminal_size::terminal_size_of(io::stderr())
                    .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
                // A character in the last column may wrap the line.
                let lines = table::page(&snapshot, width.saturating_sub(1), height / 2, ROWS);
                locked(state).show(lines, width);
            }
            None => {
                let passed = matchpoint_replay::format::seconds(self.begun.elapsed().as_secs_f64().round());
                anstream::eprintln!("matchpoint: after {passed}: {}", table::totals(&snapshot));
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

fn locked(table: &Mutex<TableState>) -> MutexGuard<'_, TableState> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forward(
    mut from: impl Read + Send + 'static,
    to: Stream,
    table: Arc<Mutex<TableState>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut bytes = [0; 8192];
        loop {
            match from.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(length) => locked(&table).print(to, &bytes[..length]),
            }
        }
    })
}

#[derive(Default)]
struct TableState {
    lines: Vec<String>,
    width: usize,
    drawn: usize,
    /// Incomplete last lines of standard output and standard error.
    begun: [Vec<u8>; 2],
    over: bool,
}

impl TableState {
    fn show(&mut self, lines: Vec<String>, width: usize) {
        if !self.over {
            (self.lines, self.width) = (lines, width);
            self.put(|_| Ok(()));
        }
    }

    fn print(&mut self, to: Stream, bytes: &[u8]) {
        let begun = &mut self.begun[to as usize];
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let mut printed = if whole > 0 { std::mem::take(begun) } else { Vec::new() };
        printed.extend_from_slice(&bytes[..whole]);
        self.begun[to as usize].extend_from_slice(&bytes[whole..]);
        self.put(|_| write(to, &printed));
    }

    fn end(&mut self) {
        self.lines.clear();
        let rest = std::mem::take(&mut self.begun);
        self.put(|_| write(Stream::Out, &rest[0]).and_then(|()| write(Stream::Err, &rest[1])));
        self.over = true;
    }

    /// Erases the table, prints, and draws the table. Errors are ignored, so that the job continues without a terminal.
    fn put(&mut self, print: impl FnOnce(&mut Self) -> io::Result<()>) {
        let _ = self.erase().and_then(|()| print(self)).and_then(|()| self.draw());
    }

    fn erase(&mut self) -> io::Result<()> {
        if self.drawn > 0 {
            let up = std::mem::take(&mut self.drawn);
            write(Stream::Err, format!("\x1b[{up}A\r\x1b[J").as_bytes())?;
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        let mut text = String::new();
        let shown = |line: &str| line.chars().take(self.width.saturating_sub(1)).collect::<String>();
        let begun = self.begun.iter().map(|bytes| visible(bytes)).filter(|line| !line.is_empty());
        let begun: Vec<String> = begun.map(|line| shown(&line)).collect();
        if self.lines.is_empty() && begun.is_empty() {
            return Ok(());
        }
        for line in begun.iter().chain(&self.lines) {
            text.push_str(line);
            text.push_str("\r\n");
        }
        self.drawn = begun.len() + self.lines.len();
        let mut err = anstream::AutoStream::auto(io::stderr().lock());
        err.write_all(text.as_bytes())?;
        err.flush()
    }
}

fn write(to: Stream, bytes: &[u8]) -> io::Result<()> {
    match to {
        Stream::Out => io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush()),
        Stream::Err => io::stderr().lock().write_all(bytes),
    }
}

fn visible(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let last = text.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut shown = String::new();
    let mut letters = last.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => drop(letters.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            '\t' => shown.push(' '),
            _ if letter.is_control() => {}
            _ => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn last_text_of_line_is_visible() {
        assert_eq!(visible(b"10 %\r20 %\r"), "20 %");
        assert_eq!(visible(b"\x1b[1mname:\x1b[0m "), "name: ");
        assert_eq!(visible(b"a\tb\x07"), "a b");
        assert_eq!(visible(b""), "");
    }
}
