//! What has to wait, in order for each peer and in turn among the peers: one that does not answer keeps back nothing of
//! the others'.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Things that wait, each for a peer. Every call is O(1), whatever is there.
pub struct Turns<Peer, Thing> {
    waiting: HashMap<Peer, VecDeque<Thing>>,
    /// Every peer that something waits for, once; it is the first one's turn.
    peers: VecDeque<Peer>,
}

impl<Peer: Copy + Eq + Hash, Thing: Copy> Turns<Peer, Thing> {
    /// Nothing waits.
    pub fn new() -> Self {
        Turns { waiting: HashMap::new(), peers: VecDeque::new() }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Peers that something waits for.
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    /// Whether something waits for this one, behind which the next has to wait.
    pub fn has(&self, peer: Peer) -> bool {
        self.waiting.contains_key(&peer)
    }

    /// The last thing for its peer.
    pub fn push(&mut self, peer: Peer, thing: Thing) {
        let waiting = self.waiting.entry(peer).or_default();
        if waiting.is_empty() {
            self.peers.push_back(peer);
        }
        waiting.push_back(thing);
    }

    /// The peer whose turn it is, and the first thing for it. It stays there.
    pub fn first(&self) -> Option<(Peer, Thing)> {
        let peer = *self.peers.front()?;
        Some((peer, *self.waiting.get(&peer)?.front()?))
    }

    /// Takes what [`first`](Self::first) gives; the turn stays where it is while there is more for that peer.
    pub fn take_first(&mut self) {
        let Some(peer) = self.peers.front() else { return };
        let Some(waiting) = self.waiting.get_mut(peer) else { return };
        waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(peer);
            self.peers.pop_front();
        }
    }

    /// Every peer that something waits for.
    pub fn waited_for(&self) -> impl Iterator<Item = Peer> {
        self.peers.iter().copied()
    }

    /// Takes all that waits for this one, in order.
    pub fn take_all(&mut self, peer: Peer) -> VecDeque<Thing> {
        self.peers.retain(|&other| other != peer);
        self.waiting.remove(&peer).unwrap_or_default()
    }

    /// It is the next peer's turn.
    pub fn pass(&mut self) {
        if !self.is_empty() {
            self.peers.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_keeps_its_order_and_has_its_turn() {
        let mut turns = Turns::new();
        for (peer, thing) in [(1, 11), (1, 12), (2, 21), (1, 13), (3, 31)] {
            turns.push(peer, thing);
        }
        assert_eq!((turns.peers(), turns.first()), (3, Some((1, 11))));
        turns.take_first();
        assert_eq!(turns.first(), Some((1, 12)), "for the same peer");
        turns.pass();
        assert_eq!(turns.first(), Some((2, 21)));
        turns.take_first();
        assert!(!turns.has(2) && turns.has(1));
        assert_eq!(turns.first(), Some((3, 31)));
        turns.pass();
        assert_eq!(turns.first(), Some((1, 12)), "its turn comes again after the others'");
        for _ in 0..3 {
            turns.take_first();
        }
        assert!(turns.is_empty() && turns.first().is_none());
        turns.pass();
        turns.take_first();
        turns.push(1, 14);
        assert_eq!((turns.peers(), turns.first()), (1, Some((1, 14))));
        for (peer, thing) in [(2, 22), (1, 15)] {
            turns.push(peer, thing);
        }
        assert_eq!(turns.take_all(1), [14, 15]);
        assert_eq!((turns.peers(), turns.first()), (1, Some((2, 22))));
        assert!(turns.take_all(1).is_empty());
    }
}
