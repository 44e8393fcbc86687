//! *Mapped context ids* (partner paper §2.1): contexts numbered from 0 in the order of their first entry.
//!
//! A key is rank + P × mapped id (Equation 1), equal in all runs with the same order of communicators.

use crate::communicators::Communicators;
use crate::engine::Refused;
use crate::envelope::ContextId;

/// Mapped ids of the open contexts. The paper searches an array of K contexts, O(K).
#[derive(Default)]
pub(super) struct Contexts {
    numbers: Communicators<u64>,
    /// Ids of closed contexts are not reused: a profile would confuse contexts.
    next: u64,
}

impl Contexts {
    #[inline]
    pub fn number(&mut self, context: ContextId) -> Option<u64> {
        self.numbers.find(context).copied()
    }

    /// Assigned on first use.
    #[inline]
    pub fn find_or_assign(&mut self, context: ContextId) -> Result<u64, Refused> {
        let number = *self.numbers.find_or_open(context, || self.next)?;
        self.next = self.next.max(number + 1);
        Ok(number)
    }

    pub fn remove(&mut self, context: ContextId) -> Option<u64> {
        self.numbers.close(context)
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn bytes(&self) -> u64 {
        self.numbers.bytes(|_| 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_use_once() {
        let mut contexts = Contexts::default();
        for (context, number) in [(70, 0), (3, 1), (70, 0), (9, 2)] {
            assert_eq!(contexts.find_or_assign(ContextId(context)), Ok(number));
        }
        assert_eq!(contexts.number(ContextId(5)), None);
        assert_eq!(contexts.remove(ContextId(3)), Some(1));
        assert_eq!(contexts.number(ContextId(3)), None);
        assert_eq!(contexts.find_or_assign(ContextId(3)), Ok(3));
        assert_eq!(contexts.number(ContextId(9)), Some(2));
    }
}
