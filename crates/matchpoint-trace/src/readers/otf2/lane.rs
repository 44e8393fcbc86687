//! Calls of one location, rebuilt from its events.

use std::path::Path;
use std::sync::Arc;

use super::archive::{Archive, Event, Timed};
use super::definitions::Definitions;
use crate::error::TraceError;
use crate::function::Function;

const EVENTS_PER_READ: u64 = 4096;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Span {
    pub function: Function,
    pub thread: u16,
    pub enter: u64,
    pub leave: u64,
    pub events: Vec<Event>,
}

pub(super) struct Lane {
    definitions: Arc<Definitions>,
    at: usize,
    batch: Vec<Timed>,
    next: usize,
    open: Option<Span>,
    /// Nesting depth of MPI functions entered within `open`.
    within: u32,
    ended: bool,
    pub read: u64,
}

impl Lane {
    pub fn new(definitions: Arc<Definitions>, at: usize) -> Self {
        Lane { definitions, at, batch: Vec::new(), next: 0, open: None, within: 0, ended: false, read: 0 }
    }

    pub fn next(&mut self, archive: &mut Archive, path: &Path) -> Result<Option<Span>, TraceError> {
        loop {
            let Some(&(time, event)) = self.batch.get(self.next) else {
                if self.ended {
                    return Ok(self.open.take());
                }
                self.fill(archive, path)?;
                continue;
            };
            self.next += 1;
            if let Some(span) = self.event(time, event) {
                return Ok(Some(span));
            }
        }
    }

    fn fill(&mut self, archive: &mut Archive, path: &Path) -> Result<(), TraceError> {
        self.batch.clear();
        self.next = 0;
        let read = archive.read(path, self.at, EVENTS_PER_READ, &mut self.batch)?;
        self.read += read;
        // A read after the last event is an error of the library.
        self.ended = read < EVENTS_PER_READ;
        Ok(())
    }

    fn event(&mut self, time: u64, event: Event) -> Option<Span> {
        match (event, &mut self.open) {
            (Event::Enter(region), open) => {
                let function = *self.definitions.functions.get(&region)?;
                match open {
                    // An MPI function that another MPI function called is no call of the application.
                    Some(_) => self.within += 1,
                    None => self.open = Some(self.span(function, time)),
                }
                None
            }
            (Event::Leave(region), open) => {
                self.definitions.functions.get(&region)?;
                if self.within > 0 {
                    self.within -= 1;
                    return None;
                }
                let mut span = open.take()?;
                span.leave = time;
                Some(span)
            }
            (event, Some(open)) => {
                open.events.push(event);
                open.leave = time;
                None
            }
            (event, None) => Some(Span { events: vec![event], ..self.span(function_of_event(&event), time) }),
        }
    }

    fn span(&self, function: Function, time: u64) -> Span {
        let thread = u16::try_from(self.at).unwrap_or(u16::MAX);
        Span { function, thread, enter: time, leave: time, events: Vec::new() }
    }
}

/// The most likely function of an event outside a call.
fn function_of_event(event: &Event) -> Function {
    match event {
        Event::Send { request: None, .. } => Function::Send,
        Event::Send { .. } => Function::Isend,
        Event::ReceiveBegins(_) => Function::Irecv,
        Event::Received { request: None, .. } => Function::Recv,
        Event::Received { .. } | Event::SendComplete(_) | Event::Cancelled(_) => Function::Wait,
        Event::Tested(_) => Function::Test,
        _ => Function::Unknown,
    }
}
