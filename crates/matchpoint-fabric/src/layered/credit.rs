//! How much a sender may have under way that the receiver has to keep: without a limit, one that sends more than is
//! received would fill the receiver's memory.
//!
//! Tiny messages are free: an announcement would take as much. For the others each pair has a window; what the receiver
//! has received is told in portions of a quarter of it.

use std::collections::HashMap;

use crate::abi::Addr;

/// Messages up to this length cost nothing.
pub const FREE: usize = 1024;

/// What a sender may have under way to one receiver.
const WINDOW: u64 = 1 << 20;

/// Both sides of the windows of one endpoint.
#[derive(Default)]
pub struct Credit {
    sent: HashMap<Addr, u64>,
    received: HashMap<Addr, u64>,
}

impl Credit {
    /// A message of this length may be sent at once to this peer; then it is accounted for.
    #[inline]
    pub fn spend(&mut self, to: Addr, bytes: usize) -> bool {
        if bytes <= FREE {
            return true;
        }
        let under_way = self.sent.entry(to).or_default();
        let fits = *under_way + bytes as u64 <= WINDOW;
        if fits {
            *under_way += bytes as u64;
        }
        fits
    }

    /// One is sent at once however much is under way, for the application has been promised that: the receiver, which
    /// cannot tell, counts it like the others.
    #[inline]
    pub fn overspend(&mut self, to: Addr, bytes: usize) {
        if bytes > FREE {
            *self.sent.entry(to).or_default() += bytes as u64;
        }
    }

    /// It was not sent after all.
    pub fn unspend(&mut self, to: Addr, bytes: usize) {
        self.returned(to, if bytes <= FREE { 0 } else { bytes as u64 });
    }

    /// The receiver tells what it has received.
    pub fn returned(&mut self, by: Addr, bytes: u64) {
        if let Some(under_way) = self.sent.get_mut(&by) {
            *under_way = under_way.saturating_sub(bytes);
        }
    }

    /// The number may become another peer's.
    pub fn forget(&mut self, peer: Addr) {
        self.sent.remove(&peer);
        self.received.remove(&peer);
    }

    /// A message of this length was received. What the sender is to be told, if it is time.
    #[inline]
    pub fn received(&mut self, from: Addr, bytes: usize) -> Option<u64> {
        if bytes <= FREE {
            return None;
        }
        let owed = self.received.entry(from).or_default();
        *owed += bytes as u64;
        (*owed >= WINDOW / 4).then(|| std::mem::take(owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_and_opens_again() {
        let (mut sender, mut receiver) = (Credit::default(), Credit::default());
        let bytes = 16384;
        let sent = (0..).take_while(|_| sender.spend(1, bytes)).count();
        assert_eq!(sent as u64, WINDOW / bytes as u64);
        assert!(sender.spend(2, bytes), "another peer has a window of its own");
        assert!(sender.spend(1, FREE), "tiny messages are free");
        let told: u64 = (0..sent).filter_map(|_| receiver.received(0, bytes)).sum();
        assert_eq!(told, WINDOW, "all of it, in portions");
        sender.overspend(1, bytes);
        sender.returned(1, told);
        let sent = (0..).take_while(|_| sender.spend(1, bytes)).count();
        assert_eq!((sent + 1) as u64, WINDOW / bytes as u64, "but for the one that went anyway");
    }
}
