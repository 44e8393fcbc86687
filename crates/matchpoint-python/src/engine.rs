//! The Python class `Engine`: a matching engine for teaching and prototypes.

use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::{Int64Array, UInt64Array};
use matchpoint::{
    ContextId, Drained, Engine as Matcher, Entry, Envelope, Hints, Message, MsgId, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag, Wild, engines,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::errors::{MatchpointError, wrong_argument};
use crate::table::Table;

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` in Python.
pub(crate) const ANY: i64 = -1;

/// A matching engine: the posted receive queue and the unexpected message queue of one process.
///
/// `name` is an engine of `matchpoint engines`, with parameters: "bins:n=64". With `counting`, the engine counts the
/// entries compared (`attempts`), and its calls take longer.
///
/// Ids are chosen by the caller. `ANY_SOURCE` and `ANY_TAG` (-1) are wildcards.
///
/// >>> import matchpoint_mpi as mp
/// >>> engine = mp.Engine("hybrid")
/// >>> engine.post(1, source=mp.ANY_SOURCE, tag=7)     # no message yet: the receive is queued
/// >>> engine.arrive(100, source=3, tag=7)             # the message takes receive 1
/// 1
/// >>> engine.arrive(101, source=3, tag=8)             # no receive: an unexpected message
/// >>> engine.posted_len, engine.unexpected_len
/// (0, 1)
/// >>> engine.probe(source=3)
/// 101
/// >>> mp.Engine("lisst")
/// Traceback (most recent call last):
///     ...
/// ValueError: there is no engine `lisst`; there are ...
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Engine {
    name: String,
    matcher: Mutex<Box<dyn Matcher>>,
}

impl Engine {
    pub(crate) fn create(name: &str, counting: bool) -> PyResult<Self> {
        let built = if counting { engines::create_counting(name) } else { engines::create(name) };
        Ok(Engine { name: name.to_owned(), matcher: Mutex::new(built.map_err(wrong_argument)?) })
    }

    /// Locks the engine. While this thread waits for the lock, other threads of Python run.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn Matcher>> {
        self.matcher.lock_py_attached(py).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Locks the engine in a thread that is not attached to the interpreter.
    pub(crate) fn lock_detached(&self) -> MutexGuard<'_, Box<dyn Matcher>> {
        self.matcher.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn refused(reason: Refused) -> PyErr {
    MatchpointError::new_err(format!("the engine refused the call: {reason}"))
}

fn rank(source: i64) -> PyResult<Rank> {
    let known = u32::try_from(source).ok().filter(|&source| source != Rank::UNKNOWN.0);
    known.map(Rank).ok_or_else(|| PyValueError::new_err(format!("a source is a rank from 0, not {source}")))
}

fn tag(tag: i64) -> PyResult<Tag> {
    let known = u64::try_from(tag).map(Tag);
    known.map_err(|_| PyValueError::new_err(format!("a tag is a number from 0, not {tag}")))
}

pub(crate) fn envelope(context: u32, source: i64, number: i64) -> PyResult<Envelope> {
    Ok(Envelope::new(ContextId(context), rank(source)?, tag(number)?))
}

pub(crate) fn selector(context: u32, source: i64, number: i64) -> PyResult<Selector> {
    let source = if source == ANY { Wild::Any } else { Wild::Is(rank(source)?) };
    let tag = if number == ANY { Wild::Any } else { Wild::Is(tag(number)?) };
    Ok(Selector::new(ContextId(context), source, tag))
}

/// Returns source and tag of a selector; -1 for wildcards.
pub(crate) fn source_and_tag(selector: &Selector) -> (i64, i64) {
    let source = match selector.source() {
        Wild::Is(rank) => i64::from(rank.0),
        _ => ANY,
    };
    let tag = match selector.tag() {
        Wild::Is(tag) => tag.0 as i64,
        _ => ANY,
    };
    (source, tag)
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (name, *, counting = false))]
    fn new(name: &str, counting: bool) -> PyResult<Self> {
        Engine::create(name, counting)
    }

    /// Name with parameters, as passed to the constructor.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Posts a receive. Returns the id of the message that matched, or None if the receive was queued.
    #[pyo3(
        signature = (id, source = ANY, tag = ANY, context = 0),
        text_signature = "($self, id, source=-1, tag=-1, context=0)"
    )]
    fn post(&self, py: Python<'_>, id: u64, source: i64, tag: i64, context: u32) -> PyResult<Option<u64>> {
        let receive = Receive::new(RecvId(id), selector(context, source, tag)?);
        Ok(self.lock(py).post(receive).map_err(refused)?.map(|message| message.0))
    }

    /// Delivers a message. Returns the id of the receive that matched, or None if the message was queued.
    #[pyo3(signature = (id, source, tag, context = 0))]
    fn arrive(&self, py: Python<'_>, id: u64, source: i64, tag: i64, context: u32) -> PyResult<Option<u64>> {
        let message = Message::new(MsgId(id), envelope(context, source, tag)?);
        Ok(self.lock(py).arrive_message(message).map_err(refused)?.map(|receive| receive.0))
    }

    /// Returns the id of the message that a receive would take now, and leaves the message queued (MPI_Iprobe).
    #[pyo3(
        signature = (source = ANY, tag = ANY, context = 0),
        text_signature = "($self, source=-1, tag=-1, context=0)"
    )]
    fn probe(&self, py: Python<'_>, source: i64, tag: i64, context: u32) -> PyResult<Option<u64>> {
        Ok(self.lock(py).probe(&selector(context, source, tag)?).map(|message| message.0))
    }

    /// Removes the message that a receive would take now, and returns its id (MPI_Improbe).
    #[pyo3(
        signature = (source = ANY, tag = ANY, context = 0),
        text_signature = "($self, source=-1, tag=-1, context=0)"
    )]
    fn matched_probe(&self, py: Python<'_>, source: i64, tag: i64, context: u32) -> PyResult<Option<u64>> {
        Ok(self.lock(py).matched_probe(&selector(context, source, tag)?).map(|message| message.0))
    }

    /// Withdraws a posted receive (MPI_Cancel). The arguments are those of the post. Returns True if the
    /// receive was posted.
    #[pyo3(
        signature = (id, source = ANY, tag = ANY, context = 0),
        text_signature = "($self, id, source=-1, tag=-1, context=0)"
    )]
    fn cancel(&self, py: Python<'_>, id: u64, source: i64, tag: i64, context: u32) -> PyResult<bool> {
        Ok(self.lock(py).cancel(&Receive::new(RecvId(id), selector(context, source, tag)?)))
    }

    /// Withdraws an unexpected message. The arguments are those of the arrival. Returns True if the message
    /// was queued.
    #[pyo3(signature = (id, source, tag, context = 0))]
    fn retract(&self, py: Python<'_>, id: u64, source: i64, tag: i64, context: u32) -> PyResult<bool> {
        Ok(self.lock(py).retract(&Message::new(MsgId(id), envelope(context, source, tag)?)))
    }

    /// Delivers a message with an unknown source, as libfabric does (FI_ADDR_UNSPEC). Returns as `arrive`.
    #[pyo3(signature = (id, tag, context = 0))]
    fn arrive_unknown(&self, py: Python<'_>, id: u64, tag: i64, context: u32) -> PyResult<Option<u64>> {
        let message = Message::new(MsgId(id), envelope_of_unknown_source(context, tag)?);
        Ok(self.lock(py).arrive_message(message).map_err(refused)?.map(|receive| receive.0))
    }

    /// Sets the source of a message from `arrive_unknown`. Returns the id of the receive that matched, or
    /// None.
    #[pyo3(signature = (id, tag, source, context = 0))]
    fn readdress(
        &self,
        py: Python<'_>,
        id: u64,
        tag: i64,
        source: i64,
        context: u32,
    ) -> PyResult<Option<u64>> {
        let message = Message::new(MsgId(id), envelope_of_unknown_source(context, tag)?);
        match self.lock(py).readdress(&message, rank(source)?).map_err(refused)? {
            Readdressed::Matched(receive) => Ok(Some(receive.0)),
            Readdressed::SourceSet => Ok(None),
            Readdressed::Unchanged => Err(PyValueError::new_err(format!(
                "no message {id} with an unknown source is queued\nhint: pass id and tag of arrive_unknown"
            ))),
        }
    }

    /// Replaces the assertions on a context (MPI-4.1 section 7.4.4).
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (context = 0, *, no_any_source = false, no_any_tag = false, exact_length = false,
        allow_overtaking = false, no_unexpected = false))]
    fn set_hints(
        &self,
        py: Python<'_>,
        context: u32,
        no_any_source: bool,
        no_any_tag: bool,
        exact_length: bool,
        allow_overtaking: bool,
        no_unexpected: bool,
    ) -> PyResult<()> {
        let hints = Hints { no_any_source, no_any_tag, exact_length, allow_overtaking, no_unexpected };
        self.lock(py).set_hints(ContextId(context), hints).map_err(refused)
    }

    /// Removes all entries of a context. Returns the ids of the receives and of the messages, oldest first.
    fn close(&self, py: Python<'_>, context: u32) -> (Vec<u64>, Vec<u64>) {
        let mut drained = Drained::default();
        self.lock(py).close(ContextId(context), &mut drained);
        let receives = drained.receives.iter().map(|id| id.0).collect();
        (receives, drained.messages.iter().map(|id| id.0).collect())
    }

    /// Removes the receives from a failed process. Returns the ids of removed receives, and of any-source
    /// receives, which stay posted.
    #[pyo3(signature = (source, context = 0))]
    fn fail_source(&self, py: Python<'_>, source: i64, context: u32) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let mut drained = Drained::default();
        self.lock(py).fail_source(ContextId(context), rank(source)?, &mut drained);
        let receives = drained.receives.iter().map(|id| id.0).collect();
        Ok((receives, drained.pending.iter().map(|id| id.0).collect()))
    }

    /// Entries of a queue, "posted" or "unexpected", oldest first: id, context, source, tag.
    fn entries(&self, py: Python<'_>, queue: &str) -> PyResult<Table> {
        let queue = match queue {
            "posted" => Queue::Posted,
            "unexpected" => Queue::Unexpected,
            other => {
                let problem = format!("there is no queue '{other}', only posted and unexpected");
                return Err(PyValueError::new_err(problem));
            }
        };
        let mut rows: Vec<(u64, u64, i64, i64)> = Vec::new();
        self.lock(py).visit(queue, &mut |entry| {
            rows.push(match entry {
                Entry::Receive(Receive { id, selector, .. }) => {
                    let (source, tag) = source_and_tag(&selector);
                    (id.0, selector.context().0.into(), source, tag)
                }
                Entry::Message(Message { id, envelope, .. }) => {
                    let source =
                        if envelope.source == Rank::UNKNOWN { ANY } else { envelope.source.0.into() };
                    (id.0, envelope.context.0.into(), source, envelope.tag.0 as i64)
                }
            });
        });
        let unsigned = |field: fn(&(u64, u64, i64, i64)) -> u64| {
            Arc::new(rows.iter().map(field).collect::<UInt64Array>())
        };
        let signed = |field: fn(&(u64, u64, i64, i64)) -> i64| {
            Arc::new(rows.iter().map(field).collect::<Int64Array>())
        };
        Table::new(vec![
            ("id", unsigned(|row| row.0)),
            ("context", unsigned(|row| row.1)),
            ("source", signed(|row| row.2)),
            ("tag", signed(|row| row.3)),
        ])
    }

    /// Number of posted receives.
    #[getter]
    fn posted_len(&self, py: Python<'_>) -> usize {
        self.lock(py).posted_len()
    }

    /// Number of unexpected messages.
    #[getter]
    fn unexpected_len(&self, py: Python<'_>) -> usize {
        self.lock(py).unexpected_len()
    }

    /// Entries compared so far in the posted queue and in the unexpected queue; zero without `counting`.
    #[getter]
    fn attempts(&self, py: Python<'_>) -> (u64, u64) {
        let attempts = self.lock(py).attempts();
        (attempts.posted, attempts.unexpected)
    }

    /// Memory of the engine now, in bytes.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> u64 {
        self.lock(py).footprint().now_bytes()
    }

    /// Statistics that only this engine has, by name; the names contain the units.
    #[getter]
    fn statistics(&self, py: Python<'_>) -> std::collections::BTreeMap<&'static str, f64> {
        self.lock(py).statistics().into_iter().collect()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let matcher = self.lock(py);
        format!(
            "<Engine {}: {} posted, {} unexpected>",
            self.name,
            matcher.posted_len(),
            matcher.unexpected_len()
        )
    }
}

fn envelope_of_unknown_source(context: u32, number: i64) -> PyResult<Envelope> {
    Ok(Envelope::new(ContextId(context), Rank::UNKNOWN, tag(number)?))
}
