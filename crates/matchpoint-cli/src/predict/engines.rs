//! Engines with the messages of the process that receives most.

use std::num::NonZeroU32;

use super::check_stop;
use super::placement::Placement;
use super::predicted::{EngineRow, Row};
use crate::failure::Failure;
use matchpoint::engines::{NameError, REGISTRY, at_process, create, create_counting};
use matchpoint::{ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag};
use matchpoint_replay::Progress;

/// Maximum number of messages, because a list compares n² ÷ 2 entries.
const MESSAGES_MAX: u64 = 20_000;

pub(super) fn at(placement: &Placement, row: &Row, progress: &Progress) -> Result<Vec<EngineRow>, Failure> {
    let of = |name: &str| {
        check_stop(progress)?;
        at_one(placement, row, name).map_err(|error| Failure::Message(error.to_string()))
    };
    REGISTRY.iter().map(|spec| of(spec.name)).collect()
}

fn at_one(placement: &Placement, row: &Row, name: &str) -> Result<EngineRow, NameError> {
    let messages = row.prediction.processes.iter().map(|process| process.received).max().unwrap_or(0);
    let processes = row.layout.processes.get();
    let full_name = at_process(name, 0, processes.into());
    let played = messages <= MESSAGES_MAX;
    let count = |in_order| -> Result<Option<u64>, NameError> {
        if !played {
            return Ok(None);
        }
        let mut engine = create_counting(&full_name)?;
        Ok(exchange(engine.as_mut(), messages, in_order).map(|()| {
            let attempts = engine.attempts();
            attempts.posted + attempts.unexpected
        }))
    };
    let (attempts_reversed, attempts_in_order) = (count(false)?, count(true)?);
    let mut engine = create(&full_name)?;
    // The order of messages does not change the memory.
    let _ = exchange(engine.as_mut(), messages, true);
    let per_node = placement.per_node(processes);
    Ok(EngineRow {
        engine: name.to_owned(),
        processes,
        messages,
        attempts_reversed,
        attempts_in_order,
        node_bytes: Some(engine.footprint().peak_bytes * per_node),
        node_bytes_all_peers: all_peers(&full_name, processes)?.map(|bytes| bytes * per_node),
        ..EngineRow::default()
    })
}

pub(super) fn memory(name: &str, processes: NonZeroU32, per_node: u64) -> Result<EngineRow, Failure> {
    let full_name = at_process(name, 0, processes.get().into());
    let bytes =
        all_peers(&full_name, processes.get()).map_err(|error| Failure::Message(error.to_string()))?;
    Ok(EngineRow {
        engine: name.to_owned(),
        processes: processes.get(),
        messages: u64::from(processes.get()) - 1,
        node_bytes_all_peers: bytes.map(|bytes| bytes * per_node),
        ..EngineRow::default()
    })
}

/// Posts a receive from each source, and then delivers the messages. `None`: the table is full.
fn exchange(engine: &mut dyn Engine, messages: u64, in_order: bool) -> Option<()> {
    for at in 0..messages {
        engine.post(Receive::new(RecvId(at), Selector::exactly(&envelope(at)))).ok()?;
    }
    for at in 0..messages {
        let source = if in_order { at } else { messages - 1 - at };
        engine.arrive_message(Message::new(MsgId(at), envelope(source))).ok()?;
    }
    Some(())
}

fn all_peers(name: &str, processes: u32) -> Result<Option<u64>, NameError> {
    let mut engine = create(name)?;
    for at in 1..u64::from(processes) {
        let receive = Receive::new(RecvId(at), Selector::exactly(&envelope(at)));
        let message = Message::new(MsgId(at), envelope(at));
        if engine.post(receive).is_err() || engine.arrive_message(message).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(engine.footprint().peak_bytes))
}

fn envelope(source: u64) -> Envelope {
    Envelope::new(ContextId(0), Rank(source as u32), Tag(0))
}

#[cfg(test)]
mod tests {
    use matchpoint_model::SearchOrder;

    use super::*;

    #[test]
    fn list_attempts_follow_order() {
        for messages in [0, 1, 7, 100] {
            for (in_order, order) in [(false, SearchOrder::Reversed), (true, SearchOrder::InOrder)] {
                let mut engine = create_counting("list").unwrap();
                exchange(engine.as_mut(), messages, in_order).unwrap();
                // A post compares no entry, because the unexpected message queue is empty.
                assert_eq!(engine.attempts().posted as f64, order.attempts(messages), "{messages} {order}");
                assert_eq!(engine.posted_len() + engine.unexpected_len(), 0);
            }
        }
    }

    #[test]
    fn only_engines_with_peer_state_grow() {
        let bytes = |name, processes| all_peers(name, processes).unwrap().unwrap();
        assert_eq!(bytes("list", 10), bytes("list", 10_000));
        let (few, many) = (bytes("rank_array", 10_000), bytes("rank_array", 20_000));
        assert!(few > 10_000 * 8 && many > few + 10_000 * 8, "{few}, {many}");
    }
}
