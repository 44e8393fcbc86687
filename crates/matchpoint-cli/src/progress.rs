//! The progress bar, if standard error is a terminal.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use matchpoint_replay::{Progress, format};

const REDRAW: Duration = Duration::from_millis(100);

pub fn bar(text: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:20}} {text}"));
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

pub fn shown<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        scope.spawn(move || draw(progress, &wait));
        let result = work();
        drop(done);
        result
    })
}

fn draw(progress: &Progress, wait: &mpsc::Receiver<()>) {
    let bar = bar("{percent:>3} %  {bytes} of {total_bytes}  {msg}{eta} left");
    let started = Instant::now();
    while wait.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
        bar.set_length(progress.bytes_total.load(Relaxed));
        bar.set_position(progress.bytes.load(Relaxed));
        if let calls @ 1.. = progress.calls.load(Relaxed) {
            bar.set_message(rate(calls, started.elapsed()));
        }
    }
    bar.finish_and_clear();
}

fn rate(calls: u64, elapsed: Duration) -> String {
    let per_second = calls as f64 / elapsed.as_secs_f64().max(1e-3);
    format!("{} M calls/s  ", format::digits(per_second / 1e6))
}

pub const INTERVAL: Duration = Duration::from_secs(10);

pub struct ProgressLines {
    next: Instant,
}

impl ProgressLines {
    pub fn at_once() -> Self {
        ProgressLines { next: Instant::now() }
    }

    pub fn later() -> Self {
        ProgressLines { next: Instant::now() + INTERVAL }
    }

    pub fn print(&mut self, line: impl FnOnce() -> String) {
        if Instant::now() >= self.next {
            anstream::eprintln!("matchpoint: {}", line());
            self.next = Instant::now() + INTERVAL;
        }
    }
}
