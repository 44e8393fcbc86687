//! Whether an entry that is asked for by its name is looked for among all, or [names](super::ids) begin.
//!
//! Names cost each call as much as a look at some [places](PLACES_A_CALL) does: more than all looks together, where few entries are
//! taken back or tables are small. So calls save up for looks, and names begin when a look costs more than was saved: when the calls
//! since the last such looks would have kept names for less. Whoever takes back many in a row has names after the first, or the first
//! few of a small table.

/// Places that are looked at in the time that names cost a call.
const PLACES_A_CALL: u64 = 32;

/// Places for which calls save up, where there are no more than these.
const SAVED: u64 = 8192;

/// What calls have saved.
#[derive(Default)]
pub(super) struct Looks {
    saved: u64,
    /// Entries that had been queued in the tables when it was reckoned last.
    queued: u64,
}

impl Looks {
    /// Whether so many places are to be looked at, where so many entries were queued in the tables until now: then they are paid for.
    pub(super) fn afford(&mut self, places: u64, queued: u64) -> bool {
        let saved = PLACES_A_CALL.saturating_mul(queued - self.queued);
        self.saved = self.saved.saturating_add(saved).min(places.max(SAVED));
        self.queued = queued;
        let rest = self.saved.checked_sub(places);
        self.saved = rest.unwrap_or_default();
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_afforded_by_the_calls_before() {
        let mut looks = Looks::default();
        assert!(!looks.afford(1000, 30), "30 calls save 960");
        assert!(!looks.afford(1000, 61) && looks.afford(1000, 93), "what did not do is spent");
        assert!(
            looks.afford(1 << 20, 1 << 20) && !looks.afford(1 << 20, 1 << 20),
            "one look at many places is saved"
        );
        let many = (0..100).take_while(|_| looks.afford(256, 1 << 21)).count();
        assert_eq!(many as u64, SAVED / 256, "or some looks at few");
    }
}
