//! Events of a trace as tables, and the replay of such tables through an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{BooleanBuilder, UInt64Builder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use matchpoint::{Engine as Matcher, Event, Message, MsgId, Outcome, Receive, RecvId, Refused, Selector};
use matchpoint_cli::failure::Failure;
use matchpoint_replay::{Arrivals, LogGp, Progress};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::engine::{ANY, Engine, envelope, selector, source_and_tag};
use crate::errors::{MatchpointError, arrow_error, wrong_argument};
use crate::numbers::{column, each_word, integers, stream};
use crate::table::Table;
use crate::wait;

const EVENTS: [&str; 6] = ["post", "arrive", "probe", "matched_probe", "cancel", "retract"];

/// Events of one rank of a trace, in the order of the replay. Fails if there are more than `limit`.
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
        Ok(ranks.into_iter().find(|of| of.rank == rank))
    };
    let of_rank = wait::run_parallel(py, &progress, notify, read)?;
    let of_rank =
        of_rank.ok_or_else(|| PyValueError::new_err(format!("the trace has no calls of rank {rank}")))?;
    table(of_rank.events.iter().map(|(event, _)| event))
}

/// A row: number of the event's name, id, context, source, tag.
type EventRow = (usize, Option<u64>, u64, i64, i64);

fn table<'a>(events: impl Iterator<Item = &'a Event>) -> PyResult<Table> {
    let rows: Vec<EventRow> = events.filter_map(row).collect();
    let unsigned = |of: fn(&EventRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<UInt64Array>())
    };
    let signed =
        |of: fn(&EventRow) -> i64| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let names = StringArray::from_iter_values(rows.iter().map(|row| EVENTS[row.0]));
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
        // A trace has no other events.
        _ => None,
    }
}

/// Result of `replay`.
#[pyclass(module = "matchpoint_mpi", frozen, get_all)]
pub struct Replay {
    /// One row per event: `matched`, the id of the entry taken or found, and `done` of a cancel or retract.
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

/// Plays a table of events on an engine.
#[pyfunction]
#[pyo3(signature = (events, engine, notify = None))]
pub(crate) fn replay(
    py: Python<'_>,
    events: &Bound<'_, PyAny>,
    engine: &Engine,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Replay> {
    let mut batches = stream(events)?;
    let mut played = Played::default();
    // A stream of a Python object may need the interpreter, and an error of the object may contain a hint.
    while let Some(batch) = batches.next().transpose().map_err(arrow_error)? {
        let events = parsed(&batch)?;
        let progress = Progress::default();
        let play = || {
            let mut matcher = engine.lock();
            played.play(matcher.as_mut(), &events, &progress);
            if progress.stopped() { Err(Failure::Interrupted) } else { Ok(()) }
        };
        wait::run(py, &progress, notify, play)?;
        if let Some((row, why)) = played.refused {
            return Err(MatchpointError::new_err(format!("the engine refused event {row}: {why}")));
        }
    }
    let columns: Vec<(&str, ArrayRef)> =
        vec![("matched", Arc::new(played.matched.finish())), ("done", Arc::new(played.done.finish()))];
    let outcomes = Py::new(py, Table::new(columns)?)?;
    Ok(Replay { outcomes, seconds: played.time.as_secs_f64(), events: played.events })
}

#[derive(Default)]
struct Played {
    matched: UInt64Builder,
    done: BooleanBuilder,
    time: Duration,
    events: usize,
    /// The first refused event, numbered from 0.
    refused: Option<(usize, Refused)>,
}

/// Events between checks for an interrupt.
const EVENTS_PER_CHECK: usize = 1 << 16;

impl Played {
    fn play(&mut self, engine: &mut dyn Matcher, events: &[Event], progress: &Progress) {
        let mut outcomes = Vec::with_capacity(EVENTS_PER_CHECK.min(events.len()));
        for part in events.chunks(EVENTS_PER_CHECK) {
            let begin = Instant::now();
            outcomes.extend(part.iter().map(|event| event.play(engine)));
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
            Outcome::Posted(Err(why)) | Outcome::Arrived(Err(why)) => {
                self.refused = self.refused.or(Some((self.events, why)));
                (None, None)
            }
            // The table has no other events.
            _ => (None, None),
        };
        self.matched.append_option(matched);
        self.done.append_option(done);
        self.events += 1;
    }
}

/// The events of a batch.
fn parsed(batch: &RecordBatch) -> PyResult<Vec<Event>> {
    let ids = integers(column(batch, "id")?, "id")?;
    let (sources, tags) =
        (integers(column(batch, "source")?, "source")?, integers(column(batch, "tag")?, "tag")?);
    let contexts = match batch.column_by_name("context") {
        Some(of) => integers(of, "context")?,
        None => vec![Some(0); batch.num_rows()],
    };
    let mut events = Vec::with_capacity(batch.num_rows());
    each_word(column(batch, "event")?, "event", &mut |row, word| {
        let number = |name: &str, value: i128| {
            PyValueError::new_err(format!("row {row}: {name} {value} is out of range"))
        };
        let id = || {
            let id =
                ids[row].ok_or_else(|| PyValueError::new_err(format!("row {row}: {word} needs an id")))?;
            u64::try_from(id).map_err(|_| number("id", id))
        };
        let field = |name, value: Option<i128>| {
            let value = value.unwrap_or(ANY.into());
            i64::try_from(value).map_err(|_| number(name, value))
        };
        let (source, tag) = (field("source", sources[row])?, field("tag", tags[row])?);
        let context = contexts[row].unwrap_or(0);
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
                let known = EVENTS.join(", ");
                let problem = format!("row {row}: there is no event '{other}', only {known}");
                return Err(PyValueError::new_err(problem));
            }
        });
        Ok(())
    })?;
    Ok(events)
}
