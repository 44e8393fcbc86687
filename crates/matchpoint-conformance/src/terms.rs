//! Terms of a check: permitted deviations of an engine, and calls that the engine lacks.

use matchpoint::{ContextId, Event, Hints, Message, Order, Selector, Wild};

/// Terms of a check. The default permits no deviations and requires all calls. `true` converts to a fixed
/// table, `false` to the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// The engine has a table of fixed size and may refuse entries with
    /// [`Refused::Full`](matchpoint::Refused::Full).
    pub fixed_table: bool,
    /// Required order. By default the order that the engine [promises](matchpoint::Engine::order).
    pub order: Option<Order>,
    /// Only run events that an MPI program can cause: see [`is_mpi`].
    pub mpi_only: bool,
    pub calls: OptionalCalls,
    /// Assertions that the engine [requires](matchpoint::Engine::demands) of every context.
    pub demands: Hints,
}

/// True if an MPI program can cause the event. Ranks and tags are non-negative `int`s, contexts have 16 bits
/// as in MPICH, tags have no mask, and sources are known.
pub fn is_mpi(event: &Event) -> bool {
    let int = |number: u64| number <= i32::MAX as u64;
    let context = |context: ContextId| context.0 <= u16::MAX.into();
    let message = |message: &Message| {
        let envelope = &message.envelope;
        context(envelope.context) && int(envelope.source.0.into()) && int(envelope.tag.0)
    };
    let selector = |given: &Selector| {
        let source = matches!(given.source(), Wild::Any)
            || matches!(given.source(), Wild::Is(source) if int(source.0.into()));
        let tag = matches!(given.tag(), Wild::Any) || matches!(given.tag(), Wild::Is(tag) if int(tag.0));
        context(given.context()) && source && tag
    };
    match event {
        Event::Post(receive) | Event::Cancel(receive) => selector(&receive.selector),
        Event::Arrive(sent) | Event::Retract(sent) => message(sent),
        Event::ArriveBatch(sent) => sent.iter().all(message),
        Event::Probe(given) | Event::MatchedProbe(given) => selector(given),
        Event::Readdress(..) => false,
        Event::SetHints(id, _) | Event::Close(id) => context(*id),
        Event::FailSource(id, source) => context(*id) && int(source.0.into()),
    }
}

impl From<bool> for Terms {
    fn from(fixed_table: bool) -> Self {
        Terms { fixed_table, ..Terms::default() }
    }
}

/// Calls that an engine of a foreign library may lack; engines of Matchpoint have all. A missing call is not
/// made, and its laws are not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionalCalls {
    /// [`Engine::retract`](matchpoint::Engine::retract)
    pub retract: bool,
    /// [`Engine::readdress`](matchpoint::Engine::readdress)
    pub readdress: bool,
    /// [`Engine::set_hints`](matchpoint::Engine::set_hints)
    pub set_hints: bool,
    /// [`Engine::close`](matchpoint::Engine::close)
    pub close: bool,
    /// [`Engine::fail_source`](matchpoint::Engine::fail_source)
    pub fail_source: bool,
    /// [`Engine::arrive_batch`](matchpoint::Engine::arrive_batch)
    pub arrive_batch: bool,
    /// [`Engine::visit`](matchpoint::Engine::visit). Without this call, only the lengths of the queues are
    /// compared.
    pub visit: bool,
    /// [`Engine::footprint`](matchpoint::Engine::footprint)
    pub footprint: bool,
}

impl Default for OptionalCalls {
    fn default() -> Self {
        OptionalCalls {
            retract: true,
            readdress: true,
            set_hints: true,
            close: true,
            fail_source: true,
            arrive_batch: true,
            visit: true,
            footprint: true,
        }
    }
}

impl OptionalCalls {
    pub fn include(&self, event: &Event) -> bool {
        match event {
            Event::Post(_)
            | Event::Arrive(_)
            | Event::Probe(_)
            | Event::MatchedProbe(_)
            | Event::Cancel(_) => true,
            Event::Retract(_) => self.retract,
            Event::Readdress(..) => self.readdress,
            Event::SetHints(..) => self.set_hints,
            Event::Close(_) => self.close,
            Event::FailSource(..) => self.fail_source,
            Event::ArriveBatch(_) => self.arrive_batch,
        }
    }
}
