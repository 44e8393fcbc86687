//! Whether those live who owe us an answer: the request for a message that was announced to them, its data, or that it has
//! arrived. A core that sends and receives nothing says nothing of a peer that has died, so a peer that owes an answer for
//! long is sent a message that means nothing, and what becomes of that tells; or that it cannot be sent, and nobody listens at the
//! peer's address ([`knock`](super::knock)).
//!
//! One message that fails is no proof: it may have failed late, and others not. So what is owed fails only if the inquiry does.
//! A peer that only computes for long gets a few of them: the time between two doubles.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use crate::abi::{Addr, errno};
use crate::layered::FrontEnd;
use crate::layered::knock::{Answer, Knock};
use crate::layered::operation::{Destination, INQUIRY, Kind, Operation, PRIVATE, Stage};
use crate::layered::wire::{ALIVE, REQUEST, Request};
use crate::settings::{parts, settings};
use matchpoint_process::clock::{nanoseconds, ticks};

/// Ticks of the processor's clock, some milliseconds, for which nothing is looked at.
const TICKS: u64 = 1 << 24;
/// The longest time between two inquiries after one peer.
const LONGEST: u64 = 64_000_000_000;
/// What looking at all that is under way may take of the time.
const SHARE: u64 = 100;
/// Connections that are being tried at once: a process may not have many more descriptors.
const KNOCKS: usize = 16;

/// When who is asked after.
pub struct Inquiries {
    /// How long an answer may take, in nanoseconds; 0: for ever.
    patience: u64,
    /// The core's peers listen at TCP ports, if they live.
    listen: bool,
    /// When the clock was read last, in ticks.
    last: Cell<u64>,
    are_due: Cell<bool>,
    next_look: u64,
    peers: HashMap<Destination, Patience>,
    /// To whom something could not be sent at the last look.
    stuck: HashSet<Destination>,
    /// To or from whom something has failed.
    suspects: HashSet<Destination>,
    /// Who could not be asked; what they owe has not failed yet.
    gone: HashSet<Destination>,
    /// Whom the core cannot ask.
    knocks: Vec<(Destination, Knock)>,
}

/// What one peer has had.
struct Patience {
    /// When it is asked after, if it still owes an answer.
    until: u64,
    /// And how long not again.
    then: u64,
    /// Its host has said that nobody listens there.
    is_refused: bool,
}

impl Inquiries {
    /// Of an endpoint of this core.
    pub fn new(core: &CStr) -> Self {
        let patience = u64::try_from(settings().patience.as_nanos()).unwrap_or(u64::MAX);
        Inquiries {
            patience: if says_who_has_died(core) { patience } else { 0 },
            listen: parts(core).all(|part| [&b"tcp"[..], b"ofi_rxm", b"sockets"].contains(&part)),
            last: Cell::new(0),
            are_due: Cell::new(false),
            next_look: 0,
            peers: HashMap::new(),
            stuck: HashSet::new(),
            suspects: HashSet::new(),
            gone: HashSet::new(),
            knocks: Vec::new(),
        }
    }

    /// Peers are asked after: not where that would tell nothing, nor where nobody wants it.
    #[inline]
    pub fn are_made(&self) -> bool {
        self.patience > 0
    }

    /// At every look for completions: whether it is time to look who owes an answer, or who cannot give one. Then it stays so until
    /// that is done.
    #[inline]
    pub fn are_due(&self) -> bool {
        if ticks().wrapping_sub(self.last.get()) > TICKS {
            self.look_at_the_clock();
        }
        self.are_due.get()
    }

    #[cold]
    fn look_at_the_clock(&self) {
        self.last.set(ticks());
        let is_time = nanoseconds() >= self.next_look;
        self.are_due.set(self.are_due.get() || is_time || !self.suspects.is_empty());
    }

    /// Something could not be sent there, or does not come from there: that may be of one message, or of all.
    pub fn suspect(&mut self, peer: Destination) {
        if self.are_made() {
            self.suspects.insert(peer);
        }
    }

    /// The number may become another peer's.
    pub fn forget(&mut self, peer: Destination) {
        self.peers.remove(&peer);
        self.stuck.remove(&peer);
        self.suspects.remove(&peer);
        self.gone.remove(&peer);
        self.knocks.retain(|(other, _)| *other != peer);
    }

    /// Of those who owe an answer since the last look, who is to be asked after.
    fn after(&mut self, owing: &[Destination], now: u64) -> Vec<Destination> {
        let mut before = std::mem::take(&mut self.peers);
        let mut asked = Vec::new();
        for &peer in owing {
            if self.peers.contains_key(&peer) {
                continue;
            }
            let first = Patience { until: now, then: self.patience, is_refused: false };
            let mut patience = before.remove(&peer).unwrap_or(first);
            if now >= patience.until {
                asked.push(peer);
                patience.until = now.saturating_add(patience.then);
                patience.then = patience.then.saturating_mul(2).min(LONGEST.max(self.patience));
            }
            self.peers.insert(peer, patience);
        }
        asked
    }

    /// It is asked after at the next look, too.
    fn again(&mut self, peer: Destination) {
        if let Some(patience) = self.peers.get_mut(&peer) {
            patience.until = 0;
        }
    }

    /// Its host says that nobody listens there. Whether it has said so before: once is no proof.
    fn refused_again(&mut self, peer: Destination) -> bool {
        self.again(peer);
        self.peers.get_mut(&peer).is_some_and(|patience| std::mem::replace(&mut patience.is_refused, true))
    }
}

/// Of memory that two processes share nothing breaks when one of them dies; messages would only fill it.
fn says_who_has_died(core: &CStr) -> bool {
    !parts(core).any(|part| part == b"shm" || part == b"sm2")
}

/// Whether a core that could not send for this reason has found that nobody is there: it may also have had no memory, or no
/// descriptors.
fn says_that_nobody_is_there(error: i32) -> bool {
    let reasons = [
        libc::ECONNREFUSED,
        libc::ECONNRESET,
        libc::ECONNABORTED,
        libc::ENOTCONN,
        libc::EPIPE,
        libc::EHOSTUNREACH,
        libc::ETIMEDOUT,
    ];
    reasons.contains(&error)
}

impl FrontEnd {
    /// Asks after those who owe an answer for long, or of whom something has failed. What those owe who could not be asked fails.
    #[cold]
    pub(crate) fn inquire(&mut self) {
        self.inquiries.are_due.set(false);
        let gone = std::mem::take(&mut self.inquiries.gone);
        if !gone.is_empty() {
            self.fail_what_they_owe(&gone);
        }
        let suspects = std::mem::take(&mut self.inquiries.suspects);
        if !suspects.is_empty() {
            let owing: HashSet<_> = self.owed_by(&suspects).map(|(peer, _)| peer).collect();
            owing.into_iter().for_each(|peer| self.ask_after(peer));
        }
        let begin = nanoseconds();
        if begin < self.inquiries.next_look {
            return;
        }
        self.hear_answers();
        let mut owing = self.arena().owing();
        let stuck: HashSet<_> = self.deferred.waited_for().collect();
        owing.extend(stuck.intersection(&self.inquiries.stuck));
        self.inquiries.stuck = stuck;
        for peer in self.inquiries.after(&owing, begin) {
            self.ask_after(peer);
        }
        let now = nanoseconds();
        let pause = self.inquiries.patience.max((now - begin).saturating_mul(SHARE));
        self.inquiries.next_look = now.saturating_add(pause);
    }

    /// An inquiry has come to nothing.
    pub(crate) fn inquiry_failed(&mut self, peer: Destination, error: i32) {
        if says_that_nobody_is_there(error) {
            self.has_gone(peer);
        }
    }

    /// Nobody is there. Remembered while something is owed only: the number may become another's.
    fn has_gone(&mut self, peer: Destination) {
        let is_owed = self.deferred.has(peer) || self.owed_by(&HashSet::from([peer])).next().is_some();
        if is_owed {
            self.inquiries.gone.insert(peer);
            self.inquiries.are_due.set(true);
        }
    }

    /// Operations for which one of these owes an answer.
    fn owed_by(&self, peers: &HashSet<Destination>) -> impl Iterator<Item = (Destination, *mut Operation)> {
        self.arena().owed().filter(|(peer, _)| peers.contains(peer))
    }

    fn fail_what_they_owe(&mut self, peers: &HashSet<Destination>) {
        for &peer in peers {
            // The core would try to send it for ever.
            for operation in self.deferred.take_all(peer) {
                // SAFETY: what is deferred is ours, and not under way.
                let is_inquiry =
                    unsafe { (*operation).kind == Kind::Control && (*operation).flags & INQUIRY != 0 };
                match is_inquiry {
                    true => self.done(operation),
                    false => self.undeliverable(operation, errno::ECONNABORTED),
                }
            }
            if peer.is_private {
                for receive in self.waiting.take_all(peer.addr) {
                    self.complete(receive, errno::ECONNABORTED);
                }
            }
        }
        let owed: Vec<_> = self.owed_by(peers).map(|(_, operation)| operation).collect();
        for operation in owed {
            // SAFETY: of the arena, and not free.
            match unsafe { (*operation).kind } {
                Kind::Send => self.sent(operation, errno::ECONNABORTED),
                _ => self.cancel_data(operation),
            }
        }
    }

    /// The application has taken a peer out of the vector: the core knows nobody by that number, so it cannot be asked after.
    pub(crate) fn ask_no_more(&mut self, addr: Addr) {
        let peer = Destination { is_private: false, addr };
        self.inquiries.forget(peer);
        if self.may_be_owed() {
            for (_, operation) in self.owed_by(&HashSet::from([peer])) {
                // SAFETY: of the arena, and not free.
                unsafe { (*operation).stage = Stage::GivenUp };
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
        if self.deferred.has(peer) {
            self.inquiries.again(peer);
        }
    }

    /// The core has not sent there since the last look: it is busy, or nobody takes what it sends.
    fn knock_for(&mut self, peer: Destination) {
        if !self.inquiries.listen || self.inquiries.knocks.len() >= KNOCKS {
            return;
        }
        let Some(private) = &self.private else { return };
        // SAFETY: the vector that the endpoint is bound to, and the private endpoint, which are open.
        let address = unsafe {
            match peer.is_private {
                true => private.address_of(peer.addr),
                false => self.av.as_ref().and_then(|av| av.address_of(peer.addr)),
            }
        };
        if let Some((knock, answer)) = address.and_then(|address| Knock::at(&address, &private.address)) {
            self.heard(peer, knock, answer);
        }
    }

    fn hear_answers(&mut self) {
        for (peer, knock) in std::mem::take(&mut self.inquiries.knocks) {
            let answer = knock.answer();
            self.heard(peer, knock, answer);
        }
    }

    fn heard(&mut self, peer: Destination, knock: Knock, answer: Answer) {
        match answer {
            Answer::None => self.inquiries.knocks.push((peer, knock)),
            Answer::Nobody if self.inquiries.refused_again(peer) => self.has_gone(peer),
            Answer::Nobody | Answer::Perhaps => {}
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
    fn one_refusal_is_none() {
        let mut inquiries = Inquiries { patience: 10, ..Inquiries::new(c"tcp") };
        assert!(!inquiries.refused_again(peer(1)), "it owes nothing");
        inquiries.after(&[peer(1)], 0);
        assert!(!inquiries.refused_again(peer(1)));
        assert_eq!(inquiries.after(&[peer(1)], 1), [peer(1)], "it is asked after at once");
        assert!(inquiries.refused_again(peer(1)));
        inquiries.forget(peer(1));
        inquiries.after(&[peer(1)], 2);
        assert!(!inquiries.refused_again(peer(1)), "another peer of that number");
    }

    #[test]
    fn patience_without_end_is_no_overflow() {
        let mut inquiries = Inquiries { patience: u64::MAX, ..Inquiries::new(c"tcp") };
        assert_eq!(inquiries.after(&[peer(1)], 5), [peer(1)]);
        assert!(inquiries.after(&[peer(1)], 6).is_empty());
    }

    #[test]
    fn only_cores_above_tcp_listen_at_its_ports() {
        for (core, listen) in
            [(c"tcp", true), (c"tcp;ofi_rxm", true), (c"verbs;ofi_rxm", false), (c"udp;ofi_rxd", false)]
        {
            assert_eq!(Inquiries::new(core).listen, listen, "{core:?}");
        }
    }

    #[test]
    fn a_core_without_memory_says_nothing_of_a_peer() {
        assert!(says_that_nobody_is_there(libc::ECONNREFUSED));
        assert!(!says_that_nobody_is_there(libc::EMFILE) && !says_that_nobody_is_there(libc::ENOMEM));
    }

    #[test]
    fn cores_that_do_not_say_who_has_died_are_not_asked() {
        assert!(says_who_has_died(c"tcp") && says_who_has_died(c"tcp;ofi_rxm"));
        assert!(!says_who_has_died(c"shm") && !says_who_has_died(c"sm2"));
    }
}
