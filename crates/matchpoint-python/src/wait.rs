//! Long work without the interpreter lock: Python's signals and the progress stay in the calling thread.

use std::panic;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{process, thread};

use matchpoint_cli::failure::Failure;
use matchpoint_replay::Progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::exception;

/// Interval of the checks for signals.
const CHECK: Duration = Duration::from_millis(50);

/// Stack of the working thread: as much as the main thread of the command.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` in another thread. `notify` is called with the bytes done and the bytes in total.
///
/// A signal handler that raises (`KeyboardInterrupt`) stops the work; its exception is returned.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    notify: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (caller, is_done) = (thread::current(), AtomicBool::new(false));
    let finished = &is_done;
    let result = thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
            finished.store(true, Ordering::Release);
            caller.unpark();
            result
        })?;
        let mut outcome = Ok(());
        while !finished.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(CHECK));
            if outcome.is_ok() {
                outcome = py.check_signals().and_then(|()| shown(progress, notify));
                if outcome.is_err() {
                    progress.stop();
                }
            }
        }
        let result = worker.join().and_then(|result| result);
        outcome.map(|()| result)
    })?;
    let value = result.unwrap_or_else(|panic| panic::resume_unwind(panic)).map_err(exception)?;
    shown(progress, notify).map(|()| value)
}

/// As [`run`], for work with the threads of rayon.
///
/// A forked process, as multiprocessing starts, has the pool of its parent without the threads: work for that pool
/// never ends. The work of such a process has a separate pool.
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

fn shown(progress: &Progress, notify: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(notify) = notify else { return Ok(()) };
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    notify.call1((read(&progress.bytes), read(&progress.bytes_total))).map(drop)
}

/// The error for a thread that the system refused.
pub(crate) fn thread_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
}
