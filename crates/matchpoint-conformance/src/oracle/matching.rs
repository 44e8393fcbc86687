//! Rules of posts, arrivals and probes.

use matchpoint::{Envelope, Message, MsgId, Order, Receive, RecvId, Refused, Selector};

use super::{Oracle, Verdict, broken_law, require_law};
use crate::law::Law;

fn receive_name(id: Option<RecvId>) -> String {
    id.map_or("nothing".to_owned(), |id| format!("r{}", id.0))
}

fn message_name(id: Option<MsgId>) -> String {
    id.map_or("nothing".to_owned(), |id| format!("m{}", id.0))
}

impl Oracle {
    fn check_taken_message(&self, selector: &Selector, found: Option<MsgId>, law: Law) -> Verdict {
        let first = self.unexpected.oldest_match(selector).map(|message| message.id);
        let Some(id) = found else {
            return first.map_or(Ok(()), |missed| {
                broken_law(
                    law,
                    format!("{selector} found no message, although m{} matches and is queued.", missed.0),
                )
            });
        };
        let Some(taken) = self.unexpected.get(id.0) else {
            return broken_law(law, format!("{selector} found m{}, which is not queued.", id.0));
        };
        require_law(selector.matches(&taken.envelope), law, || {
            format!("{selector} found m{}, which does not match: its envelope is {}.", id.0, taken.envelope)
        })?;
        let overtaken = match self.order(selector.context()) {
            Order::Total => first.filter(|&first| first != id),
            Order::PerSource => self.overtaken_within_source(selector, taken),
            Order::None => None,
        };
        overtaken.map_or(Ok(()), |earlier| {
            broken_law(
                law,
                format!("{selector} found m{}, although m{} matches and is older.", id.0, earlier.0),
            )
        })
    }

    /// An older message of the same source, if any. Messages with an unknown source count as one source.
    fn overtaken_within_source(&self, selector: &Selector, taken: &Message) -> Option<MsgId> {
        let first = self.unexpected.oldest_from(taken.envelope.source, selector);
        first.map(|message| message.id).filter(|&id| id != taken.id)
    }

    /// Checks that a call finds the message that the probe just before found.
    fn check_promise(
        promise: Option<(Selector, Option<MsgId>)>,
        selector: &Selector,
        found: Option<MsgId>,
    ) -> Verdict {
        match promise {
            Some((probed, earlier)) if probed == *selector => {
                require_law(earlier == found, Law::Probe, || {
                    let (earlier, found) = (message_name(earlier), message_name(found));
                    format!("A probe of {selector} found {earlier}, and the next call {found}.")
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the engine may refuse a call with `why` although the call breaks no assertion.
    pub(super) fn check_refusal(&self, why: Refused, call: impl FnOnce() -> String) -> Verdict {
        let full = why == Refused::Full && self.terms.fixed_table;
        require_law(full, Law::Refusal, || format!("{} was refused: {why}.", call()))
    }

    pub(super) fn take_unexpected(&mut self, id: MsgId) {
        self.unexpected.remove(id.0);
        self.matches += 1;
    }

    pub(super) fn post(
        &mut self,
        receive: &Receive,
        result: Result<Option<MsgId>, Refused>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        let selector = &receive.selector;
        if !self.is_admitted(selector) {
            return require_law(result == Err(Refused::Hint), Law::Refusal, || {
                format!("A post of {selector} breaks an assertion, and returned {result:?}.")
            });
        }
        let found = result.unwrap_or(None);
        self.check_taken_message(selector, found, Law::Post)?;
        if let Err(why) = result {
            return self.check_refusal(why, || format!("A post of {selector}"));
        }
        Oracle::check_promise(promise, selector, found)?;
        match found {
            Some(id) => self.take_unexpected(id),
            None => self.posted.push(*receive),
        }
        Ok(())
    }

    pub(super) fn check_taken_receive(
        &self,
        envelope: &Envelope,
        found: Option<RecvId>,
        law: Law,
    ) -> Verdict {
        let first = self.posted.oldest_match(envelope);
        let (Some(id), Some(first)) = (found, first) else {
            let first = first.map(|receive| receive.id);
            return require_law(found == first, law, || {
                let (found, first) = (receive_name(found), receive_name(first));
                format!("{envelope} arrived and took {found}, not {first}.")
            });
        };
        let any = self.order(envelope.context) == Order::None
            && self.posted.get(id.0).is_some_and(|receive| receive.selector.matches(envelope));
        require_law(id == first.id || any, law, || {
            format!("{envelope} arrived and took r{}, although r{} matches and is older.", id.0, first.id.0)
        })
    }

    pub(super) fn arrive(
        &mut self,
        message: &Message,
        result: Result<Option<RecvId>, Refused>,
        law: Law,
    ) -> Verdict {
        let envelope = &message.envelope;
        let found = result.unwrap_or(None);
        self.check_taken_receive(envelope, found, law)?;
        if found.is_none() && self.hints(envelope.context).no_unexpected {
            return require_law(result == Err(Refused::Hint), Law::Refusal, || {
                format!("The arrival of {envelope} breaks no_unexpected, and returned {result:?}.")
            });
        }
        if let Err(why) = result {
            return self.check_refusal(why, || format!("The arrival of {envelope}"));
        }
        match found {
            Some(id) => {
                self.posted.remove(id.0);
                self.matches += 1;
            }
            None => self.unexpected.push(*message),
        }
        Ok(())
    }

    pub(super) fn batch(
        &mut self,
        messages: &[Message],
        out: &[Option<RecvId>],
        result: Result<(), Refused>,
    ) -> Verdict {
        let done = out.len();
        require_law(
            if result.is_ok() { done == messages.len() } else { done < messages.len() },
            Law::Batch,
            || format!("A batch of {} returned {result:?} and {done} outcomes.", messages.len()),
        )?;
        for (message, &found) in messages.iter().zip(out) {
            self.arrive(message, Ok(found), Law::Batch)?;
        }
        match result {
            Err(why) => self.arrive(&messages[done], Err(why), Law::Batch),
            Ok(()) => Ok(()),
        }
    }

    pub(super) fn probe(
        &mut self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        self.check_probe(selector, found, promise, Law::Probe)?;
        self.promise = Some((*selector, found));
        Ok(())
    }

    pub(super) fn matched_probe(
        &mut self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        self.check_probe(selector, found, promise, Law::MatchedProbe)?;
        found.into_iter().for_each(|id| self.take_unexpected(id));
        Ok(())
    }

    fn check_probe(
        &self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
        law: Law,
    ) -> Verdict {
        if !self.is_admitted(selector) {
            return require_law(found.is_none(), law, || {
                format!("{selector} breaks an assertion, and found {}.", message_name(found))
            });
        }
        self.check_taken_message(selector, found, law)?;
        Oracle::check_promise(promise, selector, found)
    }
}
