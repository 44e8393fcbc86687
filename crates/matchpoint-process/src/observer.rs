//! [`Observer`]: the measurements of one endpoint.

use crate::arrivals::Arrivals;
use crate::tally::Tally;

/// The measurements of one endpoint. Records arrival times if the settings request them.
pub struct Observer {
    /// The counts.
    pub tally: Tally,
    arrivals: Option<Box<Arrivals>>,
}

impl Observer {
    /// Creates an observer with zero counts.
    #[allow(clippy::new_without_default, reason = "the function may create a file")]
    pub fn new() -> Self {
        Observer { tally: Tally::default(), arrivals: Arrivals::begin() }
    }

    /// Creates an observer that records no arrival times.
    pub fn without_times() -> Self {
        Observer { tally: Tally::default(), arrivals: None }
    }

    /// Begins a post or an arrival. Returns the argument `started` of [`posted`](Self::posted) and
    /// [`arrived`](Self::arrived).
    #[inline(always)]
    pub fn begin(&mut self) -> u64 {
        self.tally.begin()
    }

    /// Ends a post. `message`: the unexpected message that the receive matched.
    #[inline(always)]
    pub fn posted(&mut self, started: u64, id: u64, message: Option<u64>) {
        self.tally.posted(started, message.is_some());
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.posted(id, message);
        }
    }

    /// Ends an arrival. `receive`: the posted receive that the message matched.
    #[inline(always)]
    pub fn arrived(&mut self, started: u64, id: u64, receive: Option<u64>) {
        self.tally.arrived(started, receive.is_some());
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.arrived(id, receive);
        }
    }

    /// Counts a probe. `take`: the probe is a matched probe, which removes the message.
    #[inline]
    pub fn probed(&mut self, take: bool, message: Option<u64>) {
        self.tally.probes += 1;
        self.tally.unexpected_now -= u64::from(take && message.is_some());
        if let (Some(arrivals), true, Some(message)) = (&mut self.arrivals, take, message) {
            arrivals.posted(0, Some(message));
        }
    }

    /// A message matched a posted receive when the message's source became known.
    pub fn readdressed(&mut self, message: u64, receive: u64) {
        self.tally.readdressed();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.readdressed(message, receive);
        }
    }

    /// A posted receive was removed without a message.
    pub fn cancelled(&mut self, id: u64) {
        self.tally.posted_now -= 1;
        self.removed(id);
    }

    /// An unexpected message was removed without a receive.
    pub fn retracted(&mut self, id: u64) {
        self.tally.unexpected_now -= 1;
        self.removed(id);
    }

    fn removed(&mut self, id: u64) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.removed(id);
        }
    }
}
