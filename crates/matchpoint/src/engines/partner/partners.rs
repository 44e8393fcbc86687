//! Partners of a queue, in a hash table.

use super::perfect::Displacement;
use crate::engine::Refused;
use crate::envelope::Rank;
use crate::linked::{LinkedQueue, NIL};

pub(super) struct Partner {
    source: Rank,
    number: u64,
    /// Older entries of the source are in the shared queue.
    pub since: u64,
    pub queue: LinkedQueue,
    /// Next partner in the same entry of the hash table.
    next: u32,
}

/// Consecutive keys go to consecutive entries, and each round starts at another entry. With the paper's key
/// mod entries, the ranks 0, 8, 16 … share 4 of 32 entries.
#[inline]
fn entry_index(key: u64, entries: usize) -> usize {
    let entries = entries as u64;
    let (round, place) = (key / entries, key % entries);
    // Fibonacci hashing: consecutive rounds start far apart.
    let begin = ((round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) * entries) >> 32;
    ((place + begin) % entries) as usize
}

#[inline]
fn partners_in_entry(all: &[Partner], mut at: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let this = (at != NIL).then_some(at)?;
        at = all[this as usize].next;
        Some(this)
    })
}

enum Table {
    /// Round robin (§5.1.3) over ⌈√P⌉ entries, see [`entry_index`]. If `per_entry` is `None`, the table grows
    /// with the partners.
    RoundRobin {
        entries: Vec<u32>,
        per_entry: Option<u32>,
    },
    Perfect(Displacement),
}

pub(super) struct Partners {
    all: Vec<Partner>,
    table: Table,
    processes: u64,
}

impl Partners {
    pub fn empty(processes: u64, per_entry: Option<u32>) -> Self {
        Partners { all: Vec::new(), table: Table::RoundRobin { entries: Vec::new(), per_entry }, processes }
    }

    /// Partners found by a perfect hash. If it takes too much memory: by a round robin table with an entry
    /// per key.
    pub fn with_perfect_hash(processes: u64, keys: &[u64]) -> Self {
        let partner = |key| Partner {
            source: Rank((key % processes) as u32),
            number: key / processes,
            since: 0,
            queue: LinkedQueue::default(),
            next: NIL,
        };
        let table = match Displacement::new(keys) {
            Some(perfect) => Table::Perfect(perfect),
            None => Table::RoundRobin { entries: vec![NIL; keys.len()], per_entry: None },
        };
        let mut partners = Partners { all: keys.iter().map(|&key| partner(key)).collect(), table, processes };
        partners.link();
        partners
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[inline]
    pub fn get(&self, at: u32) -> &Partner {
        &self.all[at as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> &mut Partner {
        &mut self.all[at as usize]
    }

    /// Key of a source in a context (Equation 1). Ranks below P have distinct keys. Addresses may share keys,
    /// so [`find`](Self::find) compares the source.
    #[inline]
    fn key(&self, number: u64, source: Rank) -> u64 {
        u64::from(source.0).wrapping_add(self.processes.wrapping_mul(number))
    }

    /// Finds a partner with at most `per_entry` comparisons.
    #[inline]
    pub fn find(&self, number: u64, source: Rank) -> Option<u32> {
        let key = self.key(number, source);
        let is_it = |at: u32| {
            let partner = &self.all[at as usize];
            partner.source == source && partner.number == number
        };
        match &self.table {
            Table::RoundRobin { entries, .. } if !entries.is_empty() => {
                partners_in_entry(&self.all, entries[entry_index(key, entries.len())]).find(|&at| is_it(at))
            }
            Table::RoundRobin { .. } => None,
            Table::Perfect(perfect) => perfect.find(key).filter(|&at| is_it(at)),
        }
    }

    pub fn of(&self, number: u64) -> impl Iterator<Item = (u32, &Partner)> {
        (0..).zip(&self.all).filter(move |(_, partner)| partner.number == number)
    }

    pub fn is_full(&self) -> bool {
        match self.table {
            Table::RoundRobin { per_entry: None, .. } => self.all.len() as u64 >= u64::from(NIL),
            Table::RoundRobin { per_entry: Some(per_entry), .. } => {
                self.all.len() as u64 >= self.entries_min() * u64::from(per_entry)
            }
            Table::Perfect(_) => true,
        }
    }

    /// Makes a source a partner for entries of age `since` and younger. Returns false if the source's table
    /// entry is full, or if an allocation fails.
    pub fn add(&mut self, number: u64, source: Rank, since: u64) -> bool {
        if self.is_full() || self.reserve_partner().is_err() {
            return false;
        }
        let key = self.key(number, source);
        let at = self.all.len() as u32;
        let Table::RoundRobin { entries, per_entry } = &mut self.table else { return false };
        let entry = entry_index(key, entries.len());
        let partners = partners_in_entry(&self.all, entries[entry]).count() as u64;
        if per_entry.is_some_and(|most| partners >= most.into()) {
            return false;
        }
        let next = std::mem::replace(&mut entries[entry], at);
        self.all.push(Partner { source, number, since, queue: LinkedQueue::default(), next });
        true
    }

    /// The context has no entries.
    pub fn remove_context(&mut self, number: u64) {
        self.all.retain(|partner| partner.number != number);
        self.link();
    }

    pub fn bytes(&self) -> u64 {
        let table = match &self.table {
            Table::RoundRobin { entries, .. } => (entries.capacity() * size_of::<u32>()) as u64,
            Table::Perfect(perfect) => perfect.bytes(),
        };
        table + (self.all.capacity() * size_of::<Partner>()) as u64
    }

    /// Initial table entries: ⌈√P⌉. A table without bound grows to one entry per partner, so that lookups
    /// stay O(1).
    fn entries_min(&self) -> u64 {
        let root = self.processes.isqrt();
        root + u64::from(root * root < self.processes)
    }

    /// The table grows with the partners, up to the bound, so that lookups stay O(1).
    fn reserve_partner(&mut self) -> Result<(), Refused> {
        let wanted = self.entries_min();
        let len = self.all.len() as u64;
        let Table::RoundRobin { entries, per_entry } = &mut self.table else { return Err(Refused::Full) };
        if len == self.all.capacity() as u64 {
            let most = per_entry.map_or(u64::from(NIL), |per_entry| wanted * u64::from(per_entry));
            let more = len.clamp(4, (most - len).max(4));
            self.all.try_reserve_exact(more as usize).map_err(|_| Refused::Memory)?;
        }
        let now = entries.len() as u64;
        let wanted = if per_entry.is_none() && now > 0 && len > now { 2 * now } else { wanted.max(now) };
        if wanted > now {
            entries.try_reserve_exact((wanted - now) as usize).map_err(|_| Refused::Memory)?;
            entries.resize(wanted as usize, NIL);
            self.link();
        }
        Ok(())
    }

    fn link(&mut self) {
        let Table::RoundRobin { entries, .. } = &mut self.table else { return };
        entries.fill(NIL);
        let len = entries.len();
        for at in 0..self.all.len() {
            let Partner { source, number, .. } = self.all[at];
            let key = u64::from(source.0).wrapping_add(self.processes.wrapping_mul(number));
            let entry = &mut entries[entry_index(key, len)];
            self.all[at].next = std::mem::replace(entry, at as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_entry_has_limited_partners() {
        // ⌈√10⌉ = 4 entries of 2 partners: full after two rounds.
        let mut partners = Partners::empty(10, Some(2));
        let taken: Vec<bool> = (0..10).map(|rank| partners.add(0, Rank(rank), rank.into())).collect();
        assert_eq!(taken, [true, true, true, true, true, true, true, true, false, false]);
        assert!(partners.is_full());
        for rank in 0..10 {
            let found = partners.find(0, Rank(rank)).map(|at| partners.get(at).since);
            assert_eq!(found, (rank < 8).then_some(rank.into()));
            assert_eq!(partners.find(1, Rank(rank)), None, "the same rank in another context");
        }
        assert!(partners.bytes() <= 8 * size_of::<Partner>() as u64 + 4 * 4, "{}", partners.bytes());
    }

    #[test]
    fn strided_ranks_fill_table() {
        for stride in (1..=128).filter(|stride| 1024 / stride >= 8) {
            let mut partners = Partners::empty(1024, Some(4));
            let ranks = (0..1024u32).step_by(stride);
            let fits = ranks.len().min(4 * 32);
            let taken = ranks.filter(|&rank| partners.add(0, Rank(rank), 0)).count();
            assert!(taken * 20 >= fits * 17, "{taken} of {fits} with every {stride}th rank");
        }
        let mut partners = Partners::empty(1024, Some(4));
        let taken = (0..64).filter(|&at| partners.add(at / 4, Rank((at % 4) as u32), 0)).count();
        assert!(taken >= 60, "{taken} of 4 ranks in 16 contexts");
    }

    #[test]
    fn table_without_bound_grows() {
        let mut partners = Partners::empty(4, None);
        for rank in 0..1000 {
            assert!(partners.add(rank % 3, Rank(rank as u32), rank));
        }
        for rank in 0..1000 {
            let found = partners.find(rank % 3, Rank(rank as u32)).expect("the partner was added");
            assert_eq!(partners.get(found).since, rank);
        }
        let Table::RoundRobin { entries, .. } = &partners.table else {
            unreachable!("the table is no perfect hash")
        };
        assert!(entries.len() >= 500, "{} entries", entries.len());
    }

    #[test]
    fn removed_context_leaves_others() {
        let mut partners = Partners::empty(100, Some(4));
        for rank in 0..12 {
            assert!(partners.add(rank % 2, Rank(rank as u32), rank));
        }
        partners.remove_context(1);
        assert_eq!((partners.len(), partners.of(1).count()), (6, 0));
        for rank in 0..12 {
            assert_eq!(partners.find(rank % 2, Rank(rank as u32)).is_some(), rank % 2 == 0);
        }
    }

    #[test]
    fn ranks_beyond_p_are_distinguished() {
        let mut partners = Partners::empty(16, Some(4));
        assert!(partners.add(1, Rank(3), 7));
        assert_eq!(partners.key(1, Rank(3)), partners.key(0, Rank(19)));
        assert_eq!(partners.find(0, Rank(19)), None);
        let partners = Partners::with_perfect_hash(16, &[19]);
        assert!(partners.find(1, Rank(3)).is_some() && partners.find(0, Rank(19)).is_none());
    }

    #[test]
    fn sparse_keys_are_found() {
        let keys = [0, 7, (1 << 60) + 5];
        let partners = Partners::with_perfect_hash(1 << 32, &keys);
        assert!(partners.bytes() < 200, "{} bytes", partners.bytes());
        for key in keys {
            assert!(partners.find(key >> 32, Rank(key as u32)).is_some());
        }
        assert_eq!((partners.len(), partners.find(1, Rank(7))), (3, None));
    }
}
