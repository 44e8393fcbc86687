//! Who knows whom. A core names the source of a message by what the application has put into its address vector; of a
//! peer that is not in it yet it can say nothing, and says nothing later, when the application asks for that peer's
//! messages. (Within one `MPI_Init` everybody knows everybody; after `MPI_Comm_spawn` or `MPI_Comm_connect`, messages may
//! come from where the address has not.) So what goes to a peer says whom it is from, until the peer has answered that
//! its core knows.

use std::collections::{HashMap, HashSet};

use crate::abi::Addr;
use crate::address_vector::Address;

/// A set of peers: most cores number them from 0.
#[derive(Default)]
struct Peers {
    low: Vec<bool>,
    high: HashSet<Addr>,
}

impl Peers {
    /// Numbers from here on are looked up.
    const HIGH: Addr = 1 << 20;

    #[inline]
    fn contains(&self, addr: Addr) -> bool {
        match self.low.get(addr as usize) {
            Some(&is) => is,
            None => addr >= Self::HIGH && self.high.contains(&addr),
        }
    }

    fn insert(&mut self, addr: Addr) {
        if addr >= Self::HIGH {
            self.high.insert(addr);
            return;
        }
        let at = addr as usize;
        if at >= self.low.len() {
            self.low.resize((at + 1).next_power_of_two(), false);
        }
        self.low[at] = true;
    }

    fn remove(&mut self, addr: Addr) {
        match self.low.get_mut(addr as usize) {
            Some(is) => *is = false,
            None => drop(self.high.remove(&addr)),
        }
    }
}

/// What one endpoint and its peers know of each other.
#[derive(Default)]
pub struct Acquaintance {
    /// This endpoint's address, as its peers know it.
    pub name: Address,
    /// Peers whose cores can tell that a message is ours.
    know_us: Peers,
    /// How often peers have said whom their messages are from, though ours can tell.
    introduced: HashMap<Addr, u64>,
    /// Senders that the application has not named, by the numbers of their private endpoints.
    strangers: HashMap<Addr, Address>,
}

impl Acquaintance {
    /// What goes to this peer need not say whom it is from.
    #[inline]
    pub fn is_known_to(&self, peer: Addr) -> bool {
        self.know_us.contains(peer)
    }

    /// The peer says so.
    pub fn known_to(&mut self, peer: Addr) {
        self.know_us.insert(peer);
    }

    /// This peer, whom our core has named, says whom its messages are from. True: it should be told that it need not. Again
    /// if it goes on, ever more seldom: it may have forgotten us, or not have heard.
    pub fn is_to_be_told(&mut self, peer: Addr) -> bool {
        let times = self.introduced.entry(peer).or_default();
        *times += 1;
        times.is_power_of_two()
    }

    /// Someone with this private endpoint and this address, whom the application has not named.
    pub fn met(&mut self, private: Addr, name: Address) {
        self.strangers.insert(private, name);
    }

    /// Those of them that `find` finds now, and what it finds: they are none any more.
    pub fn named(&mut self, mut find: impl FnMut(&Address) -> Option<Addr>) -> HashMap<Addr, Addr> {
        let mut named = HashMap::new();
        self.strangers.retain(|&private, name| {
            let addr = find(name);
            named.extend(addr.map(|addr| (private, addr)));
            addr.is_none()
        });
        named
    }

    /// The number may become another peer's.
    pub fn forget(&mut self, peer: Addr) {
        self.know_us.remove(peer);
        self.introduced.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_low_and_of_high_numbers() {
        let mut peers = Peers::default();
        for addr in [0, 5, 1000, Peers::HIGH, 0x7F12_3456_7890] {
            assert!(!peers.contains(addr));
            peers.insert(addr);
            assert!(peers.contains(addr) && !peers.contains(addr + 1));
            peers.remove(addr);
            assert!(!peers.contains(addr));
        }
    }

    #[test]
    fn a_stranger_is_one_until_it_is_named() {
        let mut known = Acquaintance::default();
        known.met(3, Address(vec![1]));
        known.met(4, Address(vec![2]));
        assert!(known.named(|_| None).is_empty());
        assert_eq!(known.named(|name| (name.0 == [2]).then_some(9)), HashMap::from([(4, 9)]));
        assert_eq!(known.named(|_| Some(7)), HashMap::from([(3, 7)]));
        assert!(known.named(|_| Some(7)).is_empty());
    }

    #[test]
    fn a_peer_is_told_ever_more_seldom_until_it_is_forgotten() {
        let mut known = Acquaintance::default();
        let told = (1..=100).filter(|_| known.is_to_be_told(3)).count();
        assert_eq!(told, 7);
        known.known_to(3);
        known.forget(3);
        assert!(!known.is_known_to(3) && known.is_to_be_told(3));
    }
}
