//! Rules of cancel, retract, readdress, hints, close and failed sources.

use matchpoint::{
    ContextId, Drained, Envelope, Hints, Message, MsgId, Rank, Readdressed, RecvId, Refused, Wild,
};

use super::{Oracle, Verdict, broken_law, require_law};
use crate::law::Law;

pub(crate) fn drained_text(drained: &Drained) -> String {
    let receives = drained.receives.iter().map(|id| format!("r{}", id.0));
    let messages = drained.messages.iter().map(|id| format!("m{}", id.0));
    let pending = drained.pending.iter().map(|id| format!("r{} (pending)", id.0));
    let all: Vec<_> = receives.chain(messages).chain(pending).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(" ") }
}

impl Oracle {
    pub(super) fn cancel(&mut self, id: RecvId, done: bool) -> Verdict {
        let is_queued = self.posted.remove(id.0).is_some();
        require_law(done == is_queued, Law::Cancel, || format!("Cancelling r{} returned {done}.", id.0))
    }

    pub(super) fn retract(&mut self, id: MsgId, done: bool) -> Verdict {
        let is_queued = self.unexpected.remove(id.0).is_some();
        require_law(done == is_queued, Law::Retract, || format!("Retracting m{} returned {done}.", id.0))
    }

    pub(super) fn readdress(
        &mut self,
        id: MsgId,
        source: Rank,
        result: Result<Readdressed, Refused>,
    ) -> Verdict {
        let has_unknown_source =
            |message: &&Message| message.envelope.source == Rank::UNKNOWN && source != Rank::UNKNOWN;
        let waiting = self.unexpected.get(id.0).filter(has_unknown_source);
        let with_source = waiting.map(|message| Message::new(id, Envelope { source, ..message.envelope }));
        let found = match (with_source, result) {
            (None, Ok(Readdressed::Unchanged)) => return Ok(()),
            (Some(message), Ok(Readdressed::SourceSet)) => Some((message, None)),
            (Some(message), Ok(Readdressed::Matched(receive))) => Some((message, Some(receive))),
            (Some(_), Err(why)) => {
                return self.check_refusal(why, || format!("Readdressing m{} to {}", id.0, source.0));
            }
            _ => None,
        };
        let Some((message, receive)) = found else {
            return broken_law(
                Law::Readdress,
                format!("Readdressing m{} to {} returned {result:?}.", id.0, source.0),
            );
        };
        self.check_taken_receive(&message.envelope, receive, Law::Readdress)?;
        match receive {
            Some(receive) => {
                self.posted.remove(receive.0);
                self.take_unexpected(id);
            }
            None => self.unexpected.replace(id.0, message),
        }
        Ok(())
    }

    pub(super) fn set_hints(
        &mut self,
        context: ContextId,
        hints: Hints,
        result: Result<(), Refused>,
    ) -> Verdict {
        let mut receives = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let are_kept_by_posted = receives.all(|receive| hints.admit(&receive.selector).is_ok());
        let is_queued = self.unexpected.iter().any(|message| message.envelope.context == context);
        let are_kept = are_kept_by_posted && !(hints.no_unexpected && is_queued);
        require_law(result == if are_kept { Ok(()) } else { Err(Refused::Hint) }, Law::Hints, || {
            format!("Setting {hints:?} on context {} returned {result:?}.", context.0)
        })?;
        if are_kept {
            self.hints.insert(context, hints);
        }
        Ok(())
    }

    /// The entries that closing `context` must return.
    pub fn drained_by_close(&self, context: ContextId) -> Drained {
        let receives = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let messages = self.unexpected.iter().filter(|message| message.envelope.context == context);
        Drained {
            receives: receives.map(|receive| receive.id).collect(),
            messages: messages.map(|message| message.id).collect(),
            pending: Vec::new(),
        }
    }

    pub(super) fn close(&mut self, context: ContextId, drained: &Drained) -> Verdict {
        let expected = self.drained_by_close(context);
        require_law(*drained == expected, Law::Close, || {
            format!(
                "Closing {} drained {}, not {}.",
                context.0,
                drained_text(drained),
                drained_text(&expected)
            )
        })?;
        self.posted.remove_where(|receive| receive.selector.context() == context);
        self.unexpected.remove_where(|message| message.envelope.context == context);
        self.hints.remove(&context);
        Ok(())
    }

    pub(super) fn fail_source(&mut self, context: ContextId, source: Rank, drained: &Drained) -> Verdict {
        let ids = |of: Wild<Rank>| {
            let receives = self.posted.iter().filter(|receive| receive.selector.context() == context);
            receives.filter(|receive| receive.selector.source() == of).map(|receive| receive.id).collect()
        };
        let receives = if source == Rank::UNKNOWN { Vec::new() } else { ids(Wild::Is(source)) };
        let expected = Drained { receives, messages: Vec::new(), pending: ids(Wild::Any) };
        require_law(*drained == expected, Law::FailSource, || {
            let (drained, expected) = (drained_text(drained), drained_text(&expected));
            format!(
                "The failure of source {} in context {} removed or listed {drained}, not {expected}.",
                source.0, context.0
            )
        })?;
        expected.receives.iter().for_each(|id| _ = self.posted.remove(id.0));
        Ok(())
    }
}
