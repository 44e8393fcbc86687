//! Whether those live who owe us an answer: the request for a message that was announced to them, its data, or that it has
//! arrived. A core that sends and receives nothing says nothing of a peer that has died, so a peer that owes an answer for
//! long is sent a message that means nothing, and what becomes of that tells; or that it cannot be sent, and nobody listens at the
//! peer's address ([`knock`](super::knock)).
//!
//! One message that fails is no proof: it may have failed late, and others not. So what is owed fails only if the inquiry does.
//! A peer that only computes for long gets a few of them: the time between two doubles.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CStr;

use crate::abi::errno;
use crate::clock::nanoseconds;
use crate::layered::FrontEnd;
use crate::layered::knock::{Answer, Knock};
use crate::layered::operation::{Destination, INQUIRY, Kind, PRIVATE};
use crate::layered::wire::{ALIVE, REQUEST, Request};
use crate::settings::settings;

/// The clock is read at every so many looks for completions.
const POLLS: u32 = 64;
/// The longest time between two inquiries after one peer.
const LONGEST: u64 = 64_000_000_000;
/// What looking at all that is under way may take of the time.
const SHARE: u64 = 100;

/// When who is asked after.
pub struct Inquiries {
    /// How long an answer may take, in nanoseconds; 0: for ever.
    patience: u64,
    polls: Cell<u32>,
    /// It is time to look who owes an answer.
    is_due: Cell<bool>,
    next_look: u64,
    peers: HashMap<Destination, Patience>,
    /// To or from whom something has failed.
    suspects: Vec<Destination>,
    /// Who could not be asked; what they owe has not failed yet.
    gone: Vec<Destination>,
    /// Whom the core cannot ask.
    knocks: Vec<(Destination, Knock)>,
}

/// What one peer has had.
struct Patience {
    /// When it is asked after, if it still owes an answer.
    until: u64,
    /// And how long not again.
    then: u64,
}

impl Inquiries {
    /// Of an endpoint of this core.
    pub fn new(core: &CStr) -> Self {
        let patience = u64::try_from(settings().patience.as_nanos()).unwrap_or(u64::MAX);
        Inquiries {
            patience: if says_who_has_died(core) { patience } else { 0 },
            polls: Cell::new(0),
            is_due: Cell::new(false),
            next_look: 0,
            peers: HashMap::new(),
            suspects: Vec::new(),
            gone: Vec::new(),
            knocks: Vec::new(),
        }
    }

    /// At every look for completions: whether it is time to look who owes an answer, or who cannot give one.
    #[inline]
    pub fn are_due(&self) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        if polls % POLLS == 0 && self.patience > 0 && nanoseconds() >= self.next_look {
            self.is_due.set(true);
        }
        self.is_due.get() || !self.gone.is_empty() || !self.suspects.is_empty()
    }

    /// Something could not be sent there, or does not come from there: that may be of one message, or of all.
    pub fn suspect(&mut self, peer: Destination) {
        if self.patience > 0 && !self.suspects.contains(&peer) {
            self.suspects.push(peer);
        }
    }

    /// It cannot be asked: what it owes is lost.
    pub fn has_gone(&mut self, peer: Destination) {
        if !self.gone.contains(&peer) {
            self.gone.push(peer);
        }
    }

    /// Of those who owe an answer since the last look, who is to be asked after.
    fn after(&mut self, owing: &[Destination], now: u64) -> Vec<Destination> {
        let mut before = std::mem::take(&mut self.peers);
        let mut asked = Vec::new();
        for &peer in owing {
            if self.peers.contains_key(&peer) {
                continue;
            }
            let mut patience = before.remove(&peer).unwrap_or(Patience { until: now, then: self.patience });
            if now >= patience.until {
                asked.push(peer);
                patience.until = now.saturating_add(patience.then);
                patience.then = (patience.then * 2).min(LONGEST.max(self.patience));
            }
            self.peers.insert(peer, patience);
        }
        asked
    }
}

/// Of memory that two processes share nothing breaks when one of them dies; messages would only fill it.
fn says_who_has_died(core: &CStr) -> bool {
    !core.to_bytes().split(|&byte| byte == b';').any(|part| part == b"shm" || part == b"sm2")
}

impl FrontEnd {
    /// Asks after those who owe an answer for long, or of whom something has failed. What those owe who could not be asked fails.
    #[cold]
    pub(crate) fn inquire(&mut self) {
        for peer in std::mem::take(&mut self.inquiries.gone) {
            self.fail_what_owes(peer);
        }
        for peer in std::mem::take(&mut self.inquiries.suspects) {
            if !self.arena().owed_by(peer).is_empty() {
                self.ask_after(peer);
            }
        }
        if !self.inquiries.is_due.replace(false) {
            return;
        }
        self.hear_answers();
        let begin = nanoseconds();
        let owing = self.arena().owing();
        for peer in self.inquiries.after(&owing, begin) {
            self.ask_after(peer);
        }
        let now = nanoseconds();
        self.inquiries.next_look = now + self.inquiries.patience.max((now - begin) * SHARE);
    }

    fn fail_what_owes(&mut self, peer: Destination) {
        // The core would try to send it for ever.
        for operation in self.deferred.take_all(peer) {
            self.undeliverable(operation, errno::ECONNABORTED);
        }
        if peer.is_private {
            for receive in self.waiting.take_all(peer.addr) {
                self.complete(receive, errno::ECONNABORTED);
            }
        }
        for operation in self.arena().owed_by(peer) {
            // SAFETY: of the arena, and not free.
            match unsafe { (*operation).kind } {
                Kind::Send => self.sent(operation, errno::ECONNABORTED),
                _ => self.cancel_data(operation),
            }
        }
    }

    /// The core has not sent there since the last look: it is busy, or nobody takes what it sends.
    fn knock_for(&mut self, peer: Destination) {
        // SAFETY: the vector that the endpoint is bound to, and the private endpoint, which are open.
        let address = unsafe {
            match peer.is_private {
                true => self.private.as_ref().and_then(|private| private.address_of(peer.addr)),
                false => self.av.as_ref().and_then(|av| av.address_of(peer.addr)),
            }
        };
        match address.and_then(|address| Knock::at(&address)) {
            Some((_, Answer::Nobody)) => self.inquiries.has_gone(peer),
            Some((knock, Answer::None)) => self.inquiries.knocks.push((peer, knock)),
            Some((_, Answer::Perhaps)) | None => {}
        }
    }

    fn hear_answers(&mut self) {
        for (peer, knock) in std::mem::take(&mut self.inquiries.knocks) {
            match knock.answer() {
                Answer::None => self.inquiries.knocks.push((peer, knock)),
                Answer::Nobody => self.inquiries.has_gone(peer),
                Answer::Perhaps => {}
            }
        }
    }

    fn ask_after(&mut self, peer: Destination) {
        if self.deferred.has(peer) {
            return self.knock_for(peer);
        }
        let Some(address) = self.private.as_ref().map(|private| &private.address.0) else { return };
        let inquiry = match peer.is_private {
            true => {
                let nothing = Request { operation: 0, tag: 0, bytes: 0, address }.encode();
                self.new_control(peer.addr, REQUEST, &nothing, &[], 0, INQUIRY | PRIVATE)
            }
            false => self.new_control(peer.addr, ALIVE, &[], &[], 0, INQUIRY),
        };
        if let Some(inquiry) = inquiry {
            // SAFETY: just made.
            unsafe { self.send_or_defer(inquiry) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn peer(addr: u64) -> Destination {
        Destination { is_private: false, addr }
    }

    #[test]
    fn the_time_between_two_inquiries_doubles_while_an_answer_is_owed() {
        let mut inquiries = Inquiries { patience: 10, ..Inquiries::new(c"tcp") };
        let mut asked = |owing: &[Destination], now| inquiries.after(owing, now).len();
        let times: Vec<u64> = (0..200).filter(|&now| asked(&[peer(1), peer(1)], now) == 1).collect();
        assert_eq!(times, [0, 10, 30, 70, 150]);
        assert_eq!(asked(&[peer(1), peer(2)], 200), 1, "the second has had no inquiry yet");
        assert_eq!(asked(&[], 201), 0);
        assert_eq!(asked(&[peer(1)], 202), 1, "another answer, and the time begins anew");
    }

    #[test]
    fn cores_that_do_not_say_who_has_died_are_not_asked() {
        assert!(says_who_has_died(c"tcp") && says_who_has_died(c"tcp;ofi_rxm"));
        assert!(!says_who_has_died(c"shm") && !says_who_has_died(c"sm2"));
    }
}
