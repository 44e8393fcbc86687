//! Migration of queued entries to another engine, after a full table or a failed device.

use crate::engine::{Engine, Entry, Queue, Refused};

/// Copies all entries of `from` to `into`: the receives, then the messages, oldest first. No queued receive
/// matches a queued message, so no entries match. The caller sets the hints of `into`. Returns the number of
/// entries. O(entries), plus the calls of both engines.
///
/// # Errors
/// The error of `into`; both engines are unchanged.
pub fn migrate_entries(into: &mut dyn Engine, from: &dyn Engine) -> Result<u64, Refused> {
    let mut taken = 0;
    let all = visit_entries(from, &mut |entry| {
        let is_queued = match entry {
            Entry::Receive(receive) => into.post(receive)?.is_none(),
            Entry::Message(message) => into.arrive_message(message)?.is_none(),
        };
        debug_assert!(is_queued, "queued entries of an engine match: {entry:?}");
        taken += 1;
        Ok(())
    });
    if all.is_err() {
        undo_migration(into, from, taken);
    }
    all.map(|()| taken)
}

#[cold]
pub(crate) fn undo_migration(into: &mut dyn Engine, from: &dyn Engine, taken: u64) {
    let mut left = taken;
    // The error ends the visit after the migrated entries.
    let _ = visit_entries(from, &mut |entry| {
        left = left.checked_sub(1).ok_or(Refused::Full)?;
        match entry {
            Entry::Receive(receive) => into.cancel(&receive),
            Entry::Message(message) => into.retract(&message),
        };
        Ok(())
    });
}

pub(crate) fn visit_entries(
    from: &dyn Engine,
    each: &mut dyn FnMut(Entry) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let mut result = Ok(());
    for queue in [Queue::Posted, Queue::Unexpected] {
        from.visit(queue, &mut |entry| {
            if result.is_ok() {
                result = each(entry);
            }
        });
    }
    result
}
