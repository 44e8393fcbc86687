//! What the judge is to grant an engine, and what it cannot ask of it.

use matchpoint::{ContextId, Event, Hints, Message, Order, Selector, Wild};

/// The terms under which an engine is judged. The default grants nothing and asks for every call; `true` stands for
/// the default with a fixed table, `false` for the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Its table has a fixed size: it may refuse as [`Refused::Full`](matchpoint::Refused::Full) what would wait.
    pub fixed_table: bool,
    /// The order it is held to; if none is given, the one it [promises](matchpoint::Engine::order).
    pub order: Option<Order>,
    /// It is for MPI alone, and is given nothing that no MPI program has: see [`is_mpi`].
    pub mpi_only: bool,
    /// The calls it has.
    pub calls: Calls,
    /// What it is to refuse in every context, whatever is asserted there: what it
    /// [demands](matchpoint::Engine::demands).
    pub demands: Hints,
}

/// Whether an MPI library could have made this call: ranks and tags are non-negative `int`s, contexts have 16 bits (as
/// in MPICH), a tag is left open as a whole or not at all, and sources are known.
pub fn is_mpi(event: &Event) -> bool {
    let int = |number: u64| number <= i32::MAX as u64;
    let context = |context: ContextId| context.0 <= u16::MAX.into();
    let message = |message: &Message| {
        let of = &message.envelope;
        context(of.context) && int(of.source.0.into()) && int(of.tag.0)
    };
    let selector = |asked: &Selector| {
        let source =
            matches!(asked.source(), Wild::Any) || matches!(asked.source(), Wild::Is(of) if int(of.0.into()));
        let tag = matches!(asked.tag(), Wild::Any) || matches!(asked.tag(), Wild::Is(of) if int(of.0));
        context(asked.context()) && source && tag
    };
    match event {
        Event::Post(receive) | Event::Cancel(receive) => selector(&receive.selector),
        Event::Arrive(sent) | Event::Retract(sent) => message(sent),
        Event::ArriveBatch(sent) => sent.iter().all(message),
        Event::Probe(asked) | Event::MatchedProbe(asked) => selector(asked),
        Event::Readdress(..) => false,
        Event::SetHints(of, _) | Event::Close(of) => context(*of),
        Event::FailSource(of, source) => context(*of) && int(source.0.into()),
    }
}

impl From<bool> for Terms {
    fn from(fixed_table: bool) -> Self {
        Terms { fixed_table, ..Terms::default() }
    }
}

/// The calls that an engine behind another interface may lack: they are not made, and the laws about them go
/// unchecked. Every [`Engine`](matchpoint::Engine) of ours has all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calls {
    /// [`Engine::retract`](matchpoint::Engine::retract).
    pub retract: bool,
    /// [`Engine::readdress`](matchpoint::Engine::readdress).
    pub readdress: bool,
    /// [`Engine::set_hints`](matchpoint::Engine::set_hints).
    pub set_hints: bool,
    /// [`Engine::close`](matchpoint::Engine::close).
    pub close: bool,
    /// [`Engine::fail_source`](matchpoint::Engine::fail_source).
    pub fail_source: bool,
    /// [`Engine::arrive_batch`](matchpoint::Engine::arrive_batch).
    pub arrive_batch: bool,
    /// [`Engine::visit`](matchpoint::Engine::visit): without it, of the queues only their lengths are compared.
    pub visit: bool,
    /// [`Engine::footprint`](matchpoint::Engine::footprint).
    pub footprint: bool,
}

impl Default for Calls {
    fn default() -> Self {
        Calls {
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

impl Calls {
    /// Whether the engine has the call that `event` is.
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
