//! Rank of a stream, if no file name contains it.

use super::meta::MOST_RANKS;
use crate::call::{Action, Call, CommId, Peer};
use crate::trace::RankReader;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Identity {
    pub rank: Option<u32>,
    pub ranks: Option<u32>,
    /// Highest rank of any communicator: a lower bound of the number of ranks.
    pub highest: u32,
}

impl Identity {
    /// Reads a stream up to the first damage. A later reader reports the damage.
    pub fn of(stream: &mut dyn RankReader) -> Identity {
        let (mut identity, mut call) = (Identity::default(), Call::default());
        while !identity.is_complete() && stream.read(&mut call).unwrap_or(false) {
            identity.add_action(&call.action);
        }
        identity
    }

    fn is_complete(&self) -> bool {
        self.rank.is_some() && self.ranks.is_some()
    }

    fn add_action(&mut self, action: &Action) {
        match *action {
            Action::CommRank { comm: CommId::WORLD, rank } => self.rank = Some(rank),
            Action::CommSize { comm: CommId::WORLD, size } => self.ranks = Some(size),
            Action::Send { args, .. } | Action::SendInit { args, .. } => self.add_peer(args.dest),
            Action::Receive { args, .. } | Action::ReceiveInit { args, .. } => self.add_peer(args.source),
            Action::SendReceive { send, receive, .. } => {
                self.add_peer(send.dest);
                self.add_peer(receive.source);
            }
            _ => {}
        }
    }

    fn add_peer(&mut self, peer: Peer) {
        if let Peer::Rank(rank) = peer {
            self.highest = self.highest.max(rank);
        }
    }
}

impl Identity {
    pub fn resolve(self, named: Option<u32>) -> (u32, u32, Vec<String>) {
        let mut notes = Vec::new();
        let rank = self.rank.or(named).unwrap_or(0).min(MOST_RANKS - 1);
        if self.rank.is_none() {
            let from = if named.is_some() { "taken from the file name" } else { "assumed to be 0" };
            notes.push(format!("The stream does not contain the rank of its process: {from}."));
        }
        let least = self.highest.max(rank).saturating_add(1);
        let known = self.ranks.filter(|ranks| *ranks > rank);
        if known.is_none() {
            notes.push(format!("The stream does not contain the number of processes: at least {least}."));
        }
        (rank, known.unwrap_or(least).min(MOST_RANKS), notes)
    }
}
