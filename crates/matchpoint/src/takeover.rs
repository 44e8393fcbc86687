//! What one engine has queued, put into another: for those who go on with another engine, as the table of one is full or its
//! machine has failed.

use crate::engine::{Engine, Entry, Queue, Refused};

/// Puts all that `from` has queued into `into`: the receives, then the messages, the oldest first. No receive that is posted
/// accepts a message that waits, in any engine, so that nothing matches on the way, and the order of each queue is all there is
/// to keep. The assertions on contexts are the caller's to make in `into`, before or after. Returns the number of entries.
///
/// O(entries queued), and what `visit` of `from` and the calls on `into` cost.
///
/// # Errors
/// Why `into` would not take one of them. Those that it took are out of it again, and `from` is as it was.
pub fn take_over(into: &mut dyn Engine, from: &dyn Engine) -> Result<u64, Refused> {
    let mut taken = 0;
    let all = each_queued(from, &mut |entry| {
        let is_queued = match entry {
            Entry::Receive(receive) => into.post(receive)?.is_none(),
            Entry::Message(message) => into.arrive_message(message)?.is_none(),
        };
        debug_assert!(is_queued, "{entry:?} met what waits beside it");
        taken += 1;
        Ok(())
    });
    if all.is_err() {
        give_back(into, from, taken);
    }
    all.map(|()| taken)
}

/// Takes the first so many entries of `from`, which [`take_over`] put there, out of `into` again.
#[cold]
pub(crate) fn give_back(into: &mut dyn Engine, from: &dyn Engine, taken: u64) {
    let mut left = taken;
    // Those behind them are not looked at.
    let _ = each_queued(from, &mut |entry| {
        left = left.checked_sub(1).ok_or(Refused::Full)?;
        match entry {
            Entry::Receive(receive) => into.cancel(&receive),
            Entry::Message(message) => into.retract(&message),
        };
        Ok(())
    });
}

/// Calls `each` for the receives, then for the messages, the oldest first, until it fails.
pub(crate) fn each_queued(
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
