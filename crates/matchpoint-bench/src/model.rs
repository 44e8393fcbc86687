//! The right results, without an engine.
//!
//! An entry is in one queue for each possible key. A taken entry is skipped at the head of a queue. A test compares the
//! model with `list`, which would take a thousand times as long.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::script::{ANY, Key, Keys, NONE, Part, Phase, Script};

#[derive(Default)]
pub struct Model {
    clock: u64,
    posted: HashMap<Key, VecDeque<Entry>>,
    unexpected: HashMap<Key, VecDeque<Entry>>,
    /// True for taken messages that are still in some queue, by message number.
    taken: Vec<bool>,
    messages: HashMap<u64, (u32, Key)>,
    receives: HashMap<u64, (u32, Key)>,
}

#[derive(Clone, Copy)]
struct Entry {
    number: u64,
    id: u32,
}

/// The four keys with and without wildcards that match an entry without wildcards.
fn possible_keys(key: Key) -> [Key; 4] {
    [key, Key { source: ANY, ..key }, Key { tag: ANY, ..key }, Key { source: ANY, tag: ANY }]
}

impl Model {
    pub fn post(&mut self, id: u32, key: Key) -> u32 {
        if let Some(queue) = self.unexpected.get_mut(&key) {
            while let Some(entry) = queue.pop_front() {
                if !std::mem::replace(&mut self.taken[entry.number as usize], true) {
                    self.messages.remove(&entry.number);
                    return entry.id;
                }
            }
        }
        let number = self.tick();
        self.receives.insert(number, (id, key));
        self.posted.entry(key).or_default().push_back(Entry { number, id });
        NONE
    }

    pub fn arrive(&mut self, id: u32, key: Key) -> u32 {
        let heads = possible_keys(key).into_iter();
        let heads = heads.filter_map(|asked| Some((self.posted.get(&asked)?.front()?.number, asked)));
        if let Some((number, asked)) = heads.min_by_key(|(number, _)| *number) {
            let taken = self.posted.get_mut(&asked).and_then(VecDeque::pop_front);
            self.receives.remove(&number);
            return taken.map_or(NONE, |entry| entry.id);
        }
        let number = self.tick();
        self.messages.insert(number, (id, key));
        for asked in possible_keys(key) {
            self.unexpected.entry(asked).or_default().push_back(Entry { number, id });
        }
        NONE
    }

    pub fn cancel_all(&mut self, receives: impl Iterator<Item = (u32, Key)>) {
        let ids: HashSet<u32> = receives
            .map(|(id, key)| {
                if let Some(queue) = self.posted.get_mut(&key) {
                    queue.retain(|entry| entry.id != id);
                }
                id
            })
            .collect();
        self.receives.retain(|_, (id, _)| !ids.contains(id));
    }

    fn tick(&mut self) -> u64 {
        self.taken.push(false);
        self.clock += 1;
        self.clock - 1
    }

    /// # Panics
    /// For calls of a trace, which have recorded results.
    pub fn play(&mut self, phase: &Phase, results: &mut Vec<u32>) {
        let (Keys { keys, first_id, .. }, posts, arrives) = match phase {
            Phase::Posts(keys) => (keys, true, false),
            Phase::Arrivals(keys) => (keys, false, true),
            Phase::Pairs(keys) => (keys, true, true),
            Phase::EngineCalls(_) => panic!("the results of traced calls are recorded"),
        };
        for (id, &key) in (*first_id..).zip(keys) {
            if posts {
                results.push(self.post(id, key));
            }
            if arrives {
                results.push(self.arrive(id, key));
            }
        }
    }

    /// Posted receives, oldest first.
    pub fn receives(&self) -> Vec<Key> {
        in_order(&self.receives)
    }

    /// Unexpected messages, oldest first.
    pub fn messages(&self) -> Vec<Key> {
        in_order(&self.messages)
    }
}

fn in_order(waiting: &HashMap<u64, (u32, Key)>) -> Vec<Key> {
    let mut waiting: Vec<_> = waiting.iter().map(|(&number, &(_, key))| (number, key)).collect();
    waiting.sort_unstable_by_key(|(number, _)| *number);
    waiting.into_iter().map(|(_, key)| key).collect()
}

pub fn script_of(part: Part) -> Script {
    let mut model = Model::default();
    let mut results = Vec::new();
    for phase in &part.setup {
        model.play(phase, &mut results);
    }
    results.clear();
    for phase in &part.round {
        model.play(phase, &mut results);
    }
    let matched = results.iter().filter(|result| **result != NONE).count();
    Script { parts: vec![part], is_job: false, expected: vec![results], matched }
}
