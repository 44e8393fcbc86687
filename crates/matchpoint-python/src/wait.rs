//! Runs long work in another thread. The calling thread handles Python's signals and shows the progress.

use std::panic;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::Duration;
use std::{process, thread};

use matchpoint_cli::failure::Failure;
use matchpoint_replay::Progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::exception;

/// Interval at which the calling thread checks for signals.
const CHECK: Duration = Duration::from_millis(50);

/// Stack of the working thread, as large as that of the command's main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` in another thread. Calls `notify` with the bytes done and the bytes in total.
///
/// If a signal handler raises an exception such as `KeyboardInterrupt`, the work stops and the exception is
/// returned.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    notify: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (mut work, mut value) = (Some(work), Err(Failure::Interrupted));
    run_each(
        py,
        progress,
        notify,
        || Ok(work.take()),
        |work| {
            value = Ok(work()?);
            Ok(())
        },
    )?;
    value.map_err(exception)
}

/// Runs `work` in another thread on each item that `next` returns. `next` runs in the calling thread between
/// the items.
///
/// If a signal handler raises an exception, the work stops and the exception is returned.
pub(crate) fn run_each<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    notify: Option<&Bound<'_, PyAny>>,
    next: impl FnMut() -> PyResult<Option<T>>,
    mut work: impl FnMut(T) -> Result<(), Failure> + Send,
) -> PyResult<()> {
    let (items, received) = sync_channel(1);
    let (finished, results) = channel();
    let work_on_items = move || {
        for item in received {
            let result = work(item);
            let has_failed = result.is_err();
            if finished.send(result).is_err() || has_failed {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("matchpoint-work".to_owned()).stack_size(STACK_BYTES);
        let worker = worker.spawn_scoped(scope, work_on_items).map_err(thread_error)?;
        let mut waiter = Waiter { py, progress, notify, results };
        let result = send_items(next, items, &mut waiter);
        // The work may need another thread of Python before it can end.
        py.detach(|| worker.join()).unwrap_or_else(|panic| panic::resume_unwind(panic));
        result
    })
}

/// Passes the items to the worker, and waits for each result. The worker ends after the last item.
fn send_items<T>(
    mut next: impl FnMut() -> PyResult<Option<T>>,
    items: SyncSender<T>,
    waiter: &mut Waiter<'_, '_>,
) -> PyResult<()> {
    while let Some(item) = next()? {
        // The worker closes the channel if the work panics.
        if items.send(item).is_err() {
            break;
        }
        waiter.wait()?;
    }
    Ok(())
}

struct Waiter<'a, 'py> {
    py: Python<'py>,
    progress: &'a Progress,
    notify: Option<&'a Bound<'py, PyAny>>,
    results: Receiver<Result<(), Failure>>,
}

impl Waiter<'_, '_> {
    /// Waits for the result of an item. An exception of a signal handler stops the work.
    fn wait(&mut self) -> PyResult<()> {
        let show = || show_progress(self.progress, self.notify);
        loop {
            let results = &mut self.results;
            match self.py.detach(move || results.recv_timeout(CHECK)) {
                Ok(result) => return result.map_err(exception).and_then(|()| show()),
                // The work panicked.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(raised) = self.py.check_signals().and_then(|()| show()) {
                self.progress.stop();
                return Err(raised);
            }
        }
    }
}

/// As [`run`], for work with the threads of rayon.
///
/// A process that Python's multiprocessing forked has the pool of its parent, but not the threads. Work for
/// that pool would never end, so such a process uses a separate pool.
pub(crate) fn run_parallel<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    notify: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    /// The process that may use rayon's global pool.
    static OWNER: OnceLock<u32> = OnceLock::new();
    if *OWNER.get_or_init(process::id) == process::id() {
        return run(py, progress, notify, work);
    }
    let pool = ThreadPoolBuilder::new().stack_size(STACK_BYTES).build().map_err(thread_error)?;
    run(py, progress, notify, || pool.install(work))
}

fn show_progress(progress: &Progress, notify: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(notify) = notify else { return Ok(()) };
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    notify.call1((read(&progress.bytes), read(&progress.bytes_total))).map(drop)
}

/// The error for a thread that the system refused.
pub(crate) fn thread_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
}
