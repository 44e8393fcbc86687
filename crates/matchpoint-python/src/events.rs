//! Events of a trace as tables, and the replay of such tables through an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{BooleanBuilder, UInt64Builder};
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use matchpoint::{Engine as Matcher, Event, Message, MsgId, Outcome, Receive, RecvId, Refused, Selector};
use matchpoint_cli::failure::Failure;
use matchpoint_replay::{Arrivals, LogGp, Progress};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

use crate::engine::{Engine, envelope, selector, source_and_tag};
use crate::errors::{arrow_error, wrong_argument};
use crate::numbers::{column, for_each_text, integers, stream};
use crate::table::Table;
use crate::wait;

const EVENT_NAMES: [&str; 6] = ["post", "arrive", "probe", "matched_probe", "cancel", "retract"];

/// Returns the events of one rank of a trace, in the order of the replay. More events than `limit` are an
/// error.
#[pyfunction]
#[pyo3(signature = (path, rank, arrivals, limit, notify = None))]
pub(crate) fn events(
    py: Python<'_>,
    path: PathBuf,
    rank: u32,
    arrivals: Option<&str>,
    limit: usize,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let arrivals = arrivals.map(str::parse::<Arrivals>).transpose().map_err(wrong_argument)?;
    let progress = Progress::default();
    let read = || -> Result<_, Failure> {
        let trace = matchpoint_trace::open(&path)?;
        let arrivals = arrivals.unwrap_or_else(|| Arrivals::best_of(trace.as_ref()));
        if !trace.present().contains(&rank) {
            return Ok(None);
        }
        let only = Some(rank);
        let (ranks, has_more) =
            matchpoint_replay::events(trace.as_ref(), arrivals, LogGp::default(), only, limit, &progress)?;
        if has_more {
            let problem = format!("rank {rank} has more than {limit} events\nhint: pass a larger limit");
            return Err(Failure::Message(problem));
        }
        Ok(ranks.into_iter().find(|events| events.rank == rank))
    };
    let of_rank = wait::run_parallel(py, &progress, notify, read)?;
    let of_rank =
        of_rank.ok_or_else(|| PyValueError::new_err(format!("the trace has no calls of rank {rank}")))?;
    table(of_rank.events.iter().map(|(event, _)| event))
}

/// A row of the table: index in [`EVENT_NAMES`], id, context, source, tag.
type EventRow = (usize, Option<u64>, u64, i64, i64);

fn table<'a>(events: impl Iterator<Item = &'a Event>) -> PyResult<Table> {
    let rows: Vec<EventRow> = events.filter_map(row).collect();
    let unsigned = |of: fn(&EventRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<UInt64Array>())
    };
    let signed =
        |of: fn(&EventRow) -> i64| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let names = StringArray::from_iter_values(rows.iter().map(|row| EVENT_NAMES[row.0]));
    Table::new(vec![
        ("event", Arc::new(names)),
        ("id", unsigned(|row| row.1)),
        ("context", unsigned(|row| Some(row.2))),
        ("source", signed(|row| row.3)),
        ("tag", signed(|row| row.4)),
    ])
}

fn row(event: &Event) -> Option<EventRow> {
    let of_selector = |at: usize, id: Option<u64>, of: &Selector| {
        let (source, tag) = source_and_tag(of);
        (at, id, of.context().0.into(), source, tag)
    };
    let of_message = |at: usize, of: &Message| {
        let envelope = of.envelope;
        (at, Some(of.id.0), envelope.context.0.into(), envelope.source.0.into(), envelope.tag.0 as i64)
    };
    match event {
        Event::Post(of) => Some(of_selector(0, Some(of.id.0), &of.selector)),
        Event::Arrive(of) => Some(of_message(1, of)),
        Event::Probe(of) => Some(of_selector(2, None, of)),
        Event::MatchedProbe(of) => Some(of_selector(3, None, of)),
        Event::Cancel(of) => Some(of_selector(4, Some(of.id.0), &of.selector)),
        Event::Retract(of) => Some(of_message(5, of)),
        // `matchpoint_replay` returns no other events.
        _ => None,
    }
}

/// Result of `replay`.
#[pyclass(module = "matchpoint_mpi", frozen, get_all)]
pub struct Replay {
    /// One row per event: `matched` is the id of the entry that matched or was found, `done` the result of a
    /// cancel or retract.
    outcomes: Py<Table>,
    /// Time of all calls of the engine, in seconds.
    seconds: f64,
    /// Number of events.
    events: usize,
}

#[pymethods]
impl Replay {
    fn __repr__(&self) -> String {
        format!("<Replay of {} events in {:.6} s>", self.events, self.seconds)
    }
}

/// Calls an engine with each event of a table.
#[pyfunction]
#[pyo3(signature = (events, engine, notify = None))]
pub(crate) fn replay(
    py: Python<'_>,
    events: &Bound<'_, PyAny>,
    engine: &Engine,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Replay> {
    let mut batches = stream(events)?;
    let mut replayer = Replayer::default();
    let result = replayer.play_stream(py, &mut batches, engine, notify);
    // The destructor of a stream may wait for Python threads.
    py.detach(|| drop(batches));
    result?;
    let columns: Vec<(&str, ArrayRef)> =
        vec![("matched", Arc::new(replayer.matched.finish())), ("done", Arc::new(replayer.done.finish()))];
    let outcomes = Py::new(py, Table::new(columns)?)?;
    Ok(Replay { outcomes, seconds: replayer.time.as_secs_f64(), events: replayer.events })
}

/// Converts an error of a stream. Returns the exception of the stream's Python code, if any, such as the
/// `KeyboardInterrupt` of Ctrl-C.
fn stream_error(py: Python<'_>, error: ArrowError) -> PyErr {
    if let Some(pending) = PyErr::take(py) {
        return pending;
    }
    // An Arrow stream passes only the text of an exception. The text from pyarrow ends with the exception's
    // name.
    let text = error.to_string();
    if text.contains("Python exception: ") && text.trim_end().ends_with("KeyboardInterrupt") {
        return PyKeyboardInterrupt::new_err(());
    }
    arrow_error(error)
}

#[derive(Default)]
struct Replayer {
    matched: UInt64Builder,
    done: BooleanBuilder,
    time: Duration,
    events: usize,
    /// The first refused event, numbered from 0.
    refused: Option<(usize, Refused)>,
}

/// Events between two reads of the clock.
const EVENTS_PER_TIME: usize = 1 << 16;

/// Events between two checks for an interrupt. One search of a long list may take milliseconds.
const EVENTS_PER_CHECK: usize = 16;

impl Replayer {
    /// Replays all batches of a stream.
    fn play_stream(
        &mut self,
        py: Python<'_>,
        batches: &mut ArrowArrayStreamReader,
        engine: &Engine,
        notify: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut rows = 0;
        // The stream may wait for other threads of Python, so these threads may run meanwhile. The stream is
        // read in this thread, because the Python code of the stream may work in one thread only.
        let next = || {
            let batch = py.detach(|| batches.next()).transpose().map_err(|error| stream_error(py, error))?;
            let Some(batch) = batch else { return Ok(None) };
            let events = py.detach(|| parse_events(&batch, rows))?;
            rows += events.len();
            Ok(Some(events))
        };
        let progress = Progress::default();
        wait::run_each(py, &progress, notify, next, |events| {
            let mut matcher = engine.lock_detached();
            self.play(matcher.as_mut(), &events, &progress);
            if progress.stopped() {
                return Err(Failure::Interrupted);
            }
            let refused =
                |(row, reason)| Failure::Message(format!("the engine refused event {row}: {reason}"));
            self.refused.map_or(Ok(()), |event| Err(refused(event)))
        })
    }

    fn play(&mut self, engine: &mut dyn Matcher, events: &[Event], progress: &Progress) {
        let mut outcomes = Vec::with_capacity(EVENTS_PER_TIME.min(events.len()));
        for part in events.chunks(EVENTS_PER_TIME) {
            let begin = Instant::now();
            for events in part.chunks(EVENTS_PER_CHECK) {
                if progress.stopped() {
                    break;
                }
                outcomes.extend(events.iter().map(|event| event.play(engine)));
            }
            self.time += begin.elapsed();
            for outcome in outcomes.drain(..) {
                self.add(outcome);
            }
            if progress.stopped() || self.refused.is_some() {
                return;
            }
        }
    }

    fn add(&mut self, outcome: Outcome) {
        let (matched, done) = match outcome {
            Outcome::Posted(Ok(message)) | Outcome::Found(message) => (message.map(|id| id.0), None),
            Outcome::Arrived(Ok(receive)) => (receive.map(|id| id.0), None),
            Outcome::Done(done) => (None, Some(done)),
            Outcome::Posted(Err(reason)) | Outcome::Arrived(Err(reason)) => {
                self.refused = self.refused.or(Some((self.events, reason)));
                (None, None)
            }
            // The table contains no other events.
            _ => (None, None),
        };
        self.matched.append_option(matched);
        self.done.append_option(done);
        self.events += 1;
    }
}

/// Converts the rows of a batch to events. `first` is the number of the batch's first row in the table.
fn parse_events(batch: &RecordBatch, first: usize) -> PyResult<Vec<Event>> {
    let ids = integers(column(batch, "id")?, "id")?;
    let (sources, tags) =
        (integers(column(batch, "source")?, "source")?, integers(column(batch, "tag")?, "tag")?);
    let contexts = match batch.column_by_name("context") {
        Some(array) => integers(array, "context")?,
        None => vec![Some(0); batch.num_rows()],
    };
    let mut events = Vec::with_capacity(batch.num_rows());
    for_each_text(column(batch, "event")?, "event", first, &mut |at, word| {
        let row = first + at;
        let number = |name: &str, value: i128| {
            PyValueError::new_err(format!("row {row}: {name} {value} is out of range"))
        };
        let id = || {
            let id =
                ids[at].ok_or_else(|| PyValueError::new_err(format!("row {row}: {word} needs an id")))?;
            u64::try_from(id).map_err(|_| number("id", id))
        };
        let present = |name: &str, hint: &str, value: Option<i128>| {
            value.ok_or_else(|| PyValueError::new_err(format!("row {row}: the {name} has no value{hint}")))
        };
        let field = |name, value: Option<i128>| {
            let value = present(name, "; -1 is the wildcard", value)?;
            i64::try_from(value).map_err(|_| number(name, value))
        };
        let (source, tag) = (field("source", sources[at])?, field("tag", tags[at])?);
        let context = present("context", "", contexts[at])?;
        let context = u32::try_from(context).map_err(|_| number("context", context))?;
        let receive = || Ok::<_, PyErr>(Receive::new(RecvId(id()?), selector(context, source, tag)?));
        let message = || Ok::<_, PyErr>(Message::new(MsgId(id()?), envelope(context, source, tag)?));
        events.push(match word {
            "post" => Event::Post(receive()?),
            "arrive" => Event::Arrive(message()?),
            "probe" => Event::Probe(selector(context, source, tag)?),
            "matched_probe" => Event::MatchedProbe(selector(context, source, tag)?),
            "cancel" => Event::Cancel(receive()?),
            "retract" => Event::Retract(message()?),
            other => {
                let known = EVENT_NAMES.join(", ");
                let problem = format!("row {row}: there is no event '{other}', only {known}");
                return Err(PyValueError::new_err(problem));
            }
        });
        Ok(())
    })?;
    Ok(events)
}
