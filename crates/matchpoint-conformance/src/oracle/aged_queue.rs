//! The oracle's queue: entries by age, and two indexes for a hundred thousand entries. Tests compare the
//! indexes with a linear scan.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use matchpoint::{ContextId, Envelope, Message, Rank, Receive, Selector, Tag, Wild};

pub(super) trait QueueEntry {
    fn id(&self) -> u64;

    /// `None` if the entry has a wildcard.
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
    /// Entries without a wildcard, by envelope and age.
    exact: BTreeSet<(Key, u64)>,
    /// Ages of entries with a wildcard.
    open: BTreeSet<u64>,
    next: u64,
}

impl<T> Default for AgedQueue<T> {
    fn default() -> Self {
        let (by_age, by_id) = (BTreeMap::new(), HashMap::new());
        AgedQueue { by_age, by_id, exact: BTreeSet::new(), open: BTreeSet::new(), next: 0 }
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
            None => self.open.insert(age),
        };
        self.by_id.insert(entry.id(), age);
        self.by_age.insert(age, entry);
    }

    fn take(&mut self, id: u64) -> Option<(u64, T)> {
        let age = self.by_id.remove(&id)?;
        let entry = self.by_age.remove(&age)?;
        match entry.envelope() {
            Some(envelope) => self.exact.remove(&(key(&envelope), age)),
            None => self.open.remove(&age),
        };
        Some((age, entry))
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<T> {
        self.take(id).map(|(_, entry)| entry)
    }

    /// Keeps the age.
    pub(super) fn replace(&mut self, id: u64, entry: T) {
        if let Some((age, _)) = self.take(id) {
            self.put(age, entry);
        }
    }

    /// Returns the ids, oldest first. O(entries).
    pub(super) fn extract(&mut self, picks: impl Fn(&T) -> bool) -> Vec<u64> {
        let ids: Vec<_> = self.iter().filter(|entry| picks(entry)).map(QueueEntry::id).collect();
        ids.iter().for_each(|&id| _ = self.take(id));
        ids
    }

    fn first_exact(&self, envelope: &Envelope) -> Option<u64> {
        let key = key(envelope);
        self.exact.range((key, 0)..=(key, u64::MAX)).next().map(|&(_, age)| age)
    }
}

impl AgedQueue<Receive> {
    /// The oldest exact receive, or an older wildcard receive.
    pub(super) fn first_for(&self, envelope: &Envelope) -> Option<&Receive> {
        let exact = self.first_exact(envelope);
        let earlier = self.open.range(..exact.unwrap_or(u64::MAX));
        let open = earlier.copied().find(|age| self.by_age[age].selector.matches(envelope));
        open.or(exact).map(|age| &self.by_age[&age])
    }
}

impl AgedQueue<Message> {
    pub(super) fn first_for(&self, selector: &Selector) -> Option<&Message> {
        match selector.exact() {
            Some(envelope) => self.first_exact(&envelope).map(|age| &self.by_age[&age]),
            None => self.iter().find(|message| selector.matches(&message.envelope)),
        }
    }

    /// The oldest message of `source` that matches. O(messages of the source).
    pub(super) fn first_of(&self, source: Rank, selector: &Selector) -> Option<&Message> {
        let any = Selector::new(selector.context(), Wild::Any, selector.tag());
        let of = |tag, age| ((selector.context(), source, Tag(tag)), age);
        let here = self.exact.range(of(0, 0)..=of(u64::MAX, u64::MAX)).map(|(_, age)| age);
        here.filter(|age| any.matches(&self.by_age[age].envelope)).min().map(|age| &self.by_age[age])
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
                        assert_eq!(unexpected.first_for(&receive.selector), scan, "{name}");
                        if let (Some(first), Wild::Any) = (scan, receive.selector.source()) {
                            let of = first.envelope.source;
                            assert_eq!(unexpected.first_of(of, &receive.selector), scan, "{name}");
                        }
                        posted.remove(receive.id.0);
                        posted.push(receive);
                    }
                    Event::Arrive(message) => {
                        let scan = posted.iter().find(|r: &&Receive| r.selector.matches(&message.envelope));
                        assert_eq!(posted.first_for(&message.envelope), scan, "{name}");
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
                        let picks = |receive: &Receive| receive.selector.context() == context;
                        let ids: Vec<_> = posted.iter().filter(|r| picks(r)).map(|r| r.id.0).collect();
                        assert_eq!(posted.extract(picks), ids, "{name}");
                    }
                    _ => {}
                }
                for line in [posted.by_id.len(), posted.exact.len() + posted.open.len()] {
                    assert_eq!(line, posted.len(), "{name}");
                }
                assert_eq!([unexpected.by_id.len(), unexpected.exact.len()], [unexpected.len(); 2], "{name}");
            }
        }
    }
}
