//! *Mapped context ids* (partner paper §2.1): contexts numbered from 0 in the order in which something of them is first
//! queued, so that a key is rank + P × number (Equation 1) whatever the ids are, and the same in every run of a program
//! that uses its communicators in the same order.

use crate::engine::Refused;
use crate::envelope::ContextId;

/// The numbers of the contexts that something was queued in and that are not closed. The paper traverses an array,
/// O(K); here it is O(1) if the context is that of the last call, else O(log K).
#[derive(Default)]
pub(super) struct Contexts {
    sorted: Vec<(ContextId, u64)>,
    /// Where the last search ended.
    recent: usize,
    /// Numbers are not given twice, even if a context is closed: a profile would otherwise take one for another.
    next: u64,
}

impl Contexts {
    #[inline]
    pub fn number(&mut self, context: ContextId) -> Option<u64> {
        if self.sorted.get(self.recent).is_none_or(|&(recent, _)| recent != context) {
            self.recent = self.bisect(context).ok()?;
        }
        Some(self.sorted[self.recent].1)
    }

    /// The number of a context, from now on if not before.
    #[inline]
    pub fn number_or_give(&mut self, context: ContextId) -> Result<u64, Refused> {
        match self.number(context) {
            Some(number) => Ok(number),
            None => self.give(context),
        }
    }

    #[cold]
    fn give(&mut self, context: ContextId) -> Result<u64, Refused> {
        self.sorted.try_reserve(1).map_err(|_| Refused::Memory)?;
        let at = self.bisect(context).unwrap_or_else(|at| at);
        self.sorted.insert(at, (context, self.next));
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Forgets a context, and tells the number that it had.
    pub fn forget(&mut self, context: ContextId) -> Option<u64> {
        let at = self.bisect(context).ok()?;
        Some(self.sorted.remove(at).1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    pub fn bytes(&self) -> u64 {
        (self.sorted.capacity() * size_of::<(ContextId, u64)>()) as u64
    }

    fn bisect(&self, context: ContextId) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&context, |&(of, _)| of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_use_and_are_not_given_twice() {
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
