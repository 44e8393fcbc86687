//! Selectors and envelopes of issued ids, which the callers of withdrawals pass.

use std::collections::HashMap;

use matchpoint::{ContextId, Envelope, Event, Message, MsgId, Rank, Receive, RecvId, Selector, Tag};

/// The last selector or envelope of each id. The envelope of a readdressed message has the new source.
///
/// An id that was not issued gets the selector or envelope of the last issued entry, which an engine must
/// then not withdraw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Issued {
    receives: HashMap<RecvId, Selector>,
    messages: HashMap<MsgId, Envelope>,
    last_posted: Selector,
    last_arrived: Envelope,
}

impl Default for Issued {
    fn default() -> Self {
        let last_arrived = Envelope::new(ContextId(0), Rank(0), Tag(0));
        let (receives, messages) = Default::default();
        Issued { receives, messages, last_posted: Selector::exactly(&last_arrived), last_arrived }
    }
}

impl Issued {
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Post(receive) => self.note_receive(receive),
            Event::Arrive(message) => self.note_message(message),
            Event::ArriveBatch(messages) => messages.iter().for_each(|message| self.note_message(message)),
            Event::Readdress(message, source) => {
                let known = self.messages.get_mut(&message.id);
                if let Some(envelope) = known.filter(|envelope| envelope.source == Rank::UNKNOWN) {
                    envelope.source = *source;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn note_receive(&mut self, receive: &Receive) {
        self.last_posted = receive.selector;
        self.receives.insert(receive.id, receive.selector);
    }

    pub(crate) fn note_message(&mut self, message: &Message) {
        self.last_arrived = message.envelope;
        self.messages.insert(message.id, message.envelope);
    }

    /// Returns a withdrawal with the selector or envelope of its id, other events unchanged.
    pub fn completed(&self, event: Event) -> Event {
        match event {
            Event::Cancel(receive) => Event::Cancel(self.receive(receive.id)),
            Event::Retract(message) => Event::Retract(self.message(message.id)),
            Event::Readdress(message, source) => Event::Readdress(self.message(message.id), source),
            other => other,
        }
    }

    pub fn receive(&self, id: RecvId) -> Receive {
        Receive::new(id, self.receives.get(&id).copied().unwrap_or(self.last_posted))
    }

    pub fn message(&self, id: MsgId) -> Message {
        Message::new(id, self.messages.get(&id).copied().unwrap_or(self.last_arrived))
    }
}
