//! *Mapped context ids* (partner paper §2.1): contexts numbered from 0 in the order in which something of them is first
//! queued, so that a key is rank + P × number (Equation 1) whatever the ids are, and the same in every run of a program
//! that uses its communicators in the same order.

use crate::communicators::Communicators;
use crate::engine::Refused;
use crate::envelope::ContextId;

/// The numbers of the contexts that something was queued in and that are not closed. (The paper traverses an array, O(K).)
#[derive(Default)]
pub(super) struct Contexts {
    numbers: Communicators<u64>,
    /// Numbers are not given twice, even if a context is closed: a profile would otherwise take one for another.
    next: u64,
}

impl Contexts {
    #[inline]
    pub fn number(&mut self, context: ContextId) -> Option<u64> {
        self.numbers.find(context).copied()
    }

    /// The number of a context, from now on if not before.
    #[inline]
    pub fn number_or_give(&mut self, context: ContextId) -> Result<u64, Refused> {
        let number = *self.numbers.find_or_open(context, || self.next)?;
        self.next = self.next.max(number + 1);
        Ok(number)
    }

    /// Forgets a context, and tells the number that it had.
    pub fn forget(&mut self, context: ContextId) -> Option<u64> {
        self.numbers.close(context)
    }

    /// How many there are.
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
            assert_eq!(contexts.number_or_give(ContextId(context)), Ok(number));
        }
        assert_eq!(contexts.number(ContextId(5)), None);
        assert_eq!(contexts.forget(ContextId(3)), Some(1));
        assert_eq!(contexts.number(ContextId(3)), None);
        assert_eq!(contexts.number_or_give(ContextId(3)), Ok(3));
        assert_eq!(contexts.number(ContextId(9)), Some(2));
    }
}
