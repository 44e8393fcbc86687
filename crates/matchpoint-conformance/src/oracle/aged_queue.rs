//! The oracle's queue: entries by age, with indexes for queues of a hundred thousand entries. Tests compare
//! the indexes with a linear scan.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use matchpoint::{ContextId, Envelope, Message, Rank, Receive, Selector, Tag, Wild};

pub(super) trait QueueEntry {
    fn id(&self) -> u64;

    /// The only matching envelope; `None` if the entry has a wildcard.
    fn envelope(&self) -> Option<Envelope>;
}

impl QueueEntry for Receive {
    fn id(&self) -> u64 {
        self.id.0
    }

    fn envelope(&self) -> Option<Envelope> {
        self.selector.exact()
    }
}

impl QueueEntry for Message {
    fn id(&self) -> u64 {
        self.id.0
    }

    fn envelope(&self) -> Option<Envelope> {
        Some(self.envelope)
    }
}

type Key = (ContextId, Rank, Tag);

fn key(envelope: &Envelope) -> Key {
    (envelope.context, envelope.source, envelope.tag)
}

#[derive(Clone, Debug)]
pub(super) struct AgedQueue<T> {
    by_age: BTreeMap<u64, T>,
    by_id: HashMap<u64, u64>,
    exact: BTreeSet<(Key, u64)>,
    wildcards: BTreeSet<u64>,
    next: u64,
}

impl<T> Default for AgedQueue<T> {
    fn default() -> Self {
        let (by_age, by_id) = (BTreeMap::new(), HashMap::new());
        AgedQueue { by_age, by_id, exact: BTreeSet::new(), wildcards: BTreeSet::new(), next: 0 }
    }
}

impl<T: QueueEntry + Copy> AgedQueue<T> {
    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.by_age.values()
    }

    pub(super) fn get(&self, id: u64) -> Option<&T> {
        self.by_id.get(&id).map(|age| &self.by_age[age])
    }

    pub(super) fn push(&mut self, entry: T) {
        self.put(self.next, entry);
        self.next += 1;
    }

    fn put(&mut self, age: u64, entry: T) {
        match entry.envelope() {
            Some(envelope) => self.exact.insert((key(&envelope), age)),
            None => self.wildcards.insert(age),
        };
        self.by_id.insert(entry.id(), age);
        self.by_age.insert(age, entry);
    }

    fn take(&mut self, id: u64) -> Option<(u64, T)> {
        let age = self.by_id.remove(&id)?;
        let entry = self.by_age.remove(&age)?;
        match entry.envelope() {
            Some(envelope) => self.exact.remove(&(key(&envelope), age)),
            None => self.wildcards.remove(&age),
        };
        Some((age, entry))
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<T> {
        self.take(id).map(|(_, entry)| entry)
    }

    /// Replaces an entry; the new entry has the age of the old entry.
    pub(super) fn replace(&mut self, id: u64, entry: T) {
        if let Some((age, _)) = self.take(id) {
            self.put(age, entry);
        }
    }

    /// Removes the selected entries and returns their ids, oldest first. O(entries).
    pub(super) fn remove_where(&mut self, selects: impl Fn(&T) -> bool) -> Vec<u64> {
        let ids: Vec<_> = self.iter().filter(|entry| selects(entry)).map(QueueEntry::id).collect();
        ids.iter().for_each(|&id| _ = self.take(id));
        ids
    }

    fn oldest_exact(&self, envelope: &Envelope) -> Option<u64> {
        let key = key(envelope);
        self.exact.range((key, 0)..=(key, u64::MAX)).next().map(|&(_, age)| age)
    }
}

impl AgedQueue<Receive> {
    /// The oldest match: the oldest exact receive, or an older wildcard receive.
    pub(super) fn oldest_match(&self, envelope: &Envelope) -> Option<&Receive> {
        let exact = self.oldest_exact(envelope);
        let older = self.wildcards.range(..exact.unwrap_or(u64::MAX));
        let wildcards = older.copied().find(|age| self.by_age[age].selector.matches(envelope));
        wildcards.or(exact).map(|age| &self.by_age[&age])
    }
}

impl AgedQueue<Message> {
    pub(super) fn oldest_match(&self, selector: &Selector) -> Option<&Message> {
        match selector.exact() {
            Some(envelope) => self.oldest_exact(&envelope).map(|age| &self.by_age[&age]),
            None => self.iter().find(|message| selector.matches(&message.envelope)),
        }
    }

    /// The oldest message of `source` that matches. O(messages of the source).
    pub(super) fn oldest_from(&self, source: Rank, selector: &Selector) -> Option<&Message> {
        let any = Selector::new(selector.context(), Wild::Any, selector.tag());
        let bound = |tag, age| ((selector.context(), source, Tag(tag)), age);
        let ages = self.exact.range(bound(0, 0)..=bound(u64::MAX, u64::MAX)).map(|(_, age)| age);
        ages.filter(|age| any.matches(&self.by_age[age].envelope)).min().map(|age| &self.by_age[age])
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::Event;

    use super::*;
    use crate::choices::Choices;
    use crate::generate::{SHAPES, stream};

    #[test]
    fn indexes_agree_with_linear_scan() {
        for (seed, (name, shape)) in (1..).zip(SHAPES) {
            let (mut posted, mut unexpected) = (AgedQueue::default(), AgedQueue::default());
            for event in stream(*shape, Choices::Seed(seed), 1000) {
                match event {
                    Event::Post(receive) => {
                        let scan =
                            unexpected.iter().find(|m: &&Message| receive.selector.matches(&m.envelope));
                        assert_eq!(unexpected.oldest_match(&receive.selector), scan, "{name}");
                        if let (Some(first), Wild::Any) = (scan, receive.selector.source()) {
                            let source = first.envelope.source;
                            assert_eq!(unexpected.oldest_from(source, &receive.selector), scan, "{name}");
                        }
                        posted.remove(receive.id.0);
                        posted.push(receive);
                    }
                    Event::Arrive(message) => {
                        let scan = posted.iter().find(|r: &&Receive| r.selector.matches(&message.envelope));
                        assert_eq!(posted.oldest_match(&message.envelope), scan, "{name}");
                        unexpected.remove(message.id.0);
                        unexpected.push(message);
                    }
                    Event::Cancel(receive) => {
                        let id = receive.id.0;
                        assert_eq!(posted.get(id).copied(), posted.remove(id));
                    }
                    Event::Readdress(Message { id, .. }, source) => {
                        if let Some(&message) = unexpected.get(id.0) {
                            let envelope = Envelope { source, ..message.envelope };
                            unexpected.replace(id.0, Message::new(message.id, envelope));
                        }
                    }
                    Event::Close(context) => {
                        let selects = |receive: &Receive| receive.selector.context() == context;
                        let ids: Vec<_> = posted.iter().filter(|r| selects(r)).map(|r| r.id.0).collect();
                        assert_eq!(posted.remove_where(selects), ids, "{name}");
                    }
                    _ => {}
                }
                for line in [posted.by_id.len(), posted.exact.len() + posted.wildcards.len()] {
                    assert_eq!(line, posted.len(), "{name}");
                }
                assert_eq!([unexpected.by_id.len(), unexpected.exact.len()], [unexpected.len(); 2], "{name}");
            }
        }
    }
}
