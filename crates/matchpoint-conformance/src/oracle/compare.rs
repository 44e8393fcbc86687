//! Laws about the state of an engine between calls.

use matchpoint::{Engine, Entry, Message, Queue};

use super::{Oracle, Verdict, require_law};
use crate::law::Law;

fn format_entries(entries: &[Entry]) -> String {
    let one = |entry: &Entry| match entry {
        Entry::Receive(receive) => format!("r{} {}", receive.id.0, receive.selector),
        Entry::Message(message) => format!("m{} {}", message.id.0, message.envelope),
    };
    if entries.is_empty() {
        "nothing".to_owned()
    } else {
        entries.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// The entry without fields that an engine need not store.
fn without_optional_fields(entry: Entry) -> Entry {
    match entry {
        Entry::Message(message) => Entry::Message(Message::new(message.id, message.envelope)),
        receive => receive,
    }
}

impl Oracle {
    /// Compares the lengths of both queues. O(1).
    ///
    /// # Errors
    /// If a length differs.
    pub fn compare_lengths(&self, engine: &dyn Engine) -> Verdict {
        for (name, has, expected) in [
            ("posted", engine.posted_len(), self.posted.len()),
            ("unexpected", engine.unexpected_len(), self.unexpected.len()),
        ] {
            require_law(has == expected, Law::Queues, || {
                format!("The {name} queue has length {has}, not {expected}.")
            })?;
        }
        Ok(())
    }

    /// Compares the lengths of both queues, and if the engine has the calls, their contents, order and
    /// footprint. O(entries).
    ///
    /// # Errors
    /// If a value differs.
    pub fn compare(&self, engine: &dyn Engine) -> Verdict {
        self.compare_lengths(engine)?;
        if self.terms.calls.visit {
            self.compare_contents(engine)?;
        }
        if !self.terms.calls.footprint {
            return Ok(());
        }
        let footprint = engine.footprint();
        let least = 8 * self.queued() as u64;
        require_law(footprint.peak_bytes >= footprint.now_bytes(), Law::Footprint, || {
            format!("The peak of {footprint:?} is less than the sum of its parts.")
        })?;
        require_law(footprint.now_bytes() >= least, Law::Footprint, || {
            format!("{footprint:?} is less than the {least} bytes of the queued ids.")
        })
    }

    fn compare_contents(&self, engine: &dyn Engine) -> Verdict {
        let posted = self.posted.iter().map(|&receive| Entry::Receive(receive));
        compare_queue(engine, Queue::Posted, posted)?;
        let unexpected = self.unexpected.iter().map(|&message| Entry::Message(message));
        compare_queue(engine, Queue::Unexpected, unexpected)
    }
}

/// Compares entry by entry, because a check compares both queues after most events.
fn compare_queue(
    engine: &dyn Engine,
    queue: Queue,
    expected: impl Iterator<Item = Entry> + Clone,
) -> Verdict {
    let mut rest = expected.clone().map(without_optional_fields);
    let mut is_equal = true;
    engine.visit(queue, &mut |entry| is_equal &= rest.next() == Some(without_optional_fields(entry)));
    require_law(is_equal && rest.next().is_none(), Law::Queues, || {
        let mut has = Vec::new();
        engine.visit(queue, &mut |entry| has.push(without_optional_fields(entry)));
        let expected: Vec<Entry> = expected.map(without_optional_fields).collect();
        format!("The queue {queue:?} contains {}, not {}.", format_entries(&has), format_entries(&expected))
    })
}
