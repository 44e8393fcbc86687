//! Mapped context ids: contexts numbered from 0 in the order of their first entry (partner paper §2.1).
//!
//! A key is rank + P × mapped id (Equation 1), equal in all runs with the same order of communicators.

use crate::communicators::Communicators;
use crate::engine::Refused;
use crate::envelope::ContextId;

/// The paper searches an array of K contexts, O(K).
#[derive(Default)]
pub(super) struct Contexts {
    numbers: Communicators<u64>,
    /// Ids of closed contexts are not reused, so that a profile does not confuse contexts.
    next: u64,
}

impl Contexts {
    #[inline]
    pub fn number(&mut self, context: ContextId) -> Option<u64> {
        self.numbers.find(context).copied()
    }

    /// The mapped id of a context, assigned at its first entry.
    #[inline]
    pub fn find_or_assign(&mut self, context: ContextId) -> Result<u64, Refused> {
        let number = *self.numbers.find_or_insert(context, || self.next)?;
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
    fn contexts_are_numbered_by_first_entry() {
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
