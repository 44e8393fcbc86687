//! Table of an engine's communicators by context id.

use crate::engine::Refused;
use crate::envelope::ContextId;

pub(crate) struct Communicators<C> {
    sorted: Vec<(ContextId, C)>,
    /// Index of the last communicator found.
    recent: usize,
}

impl<C> Default for Communicators<C> {
    fn default() -> Self {
        Communicators { sorted: Vec::new(), recent: 0 }
    }
}

impl<C> Communicators<C> {
    /// O(1) for the communicator of the last call, else O(log communicators).
    #[inline]
    pub(crate) fn find(&mut self, context: ContextId) -> Option<&mut C> {
        if self.sorted.get(self.recent).is_none_or(|&(recent, _)| recent != context) {
            self.recent = self.binary_search(context).ok()?;
        }
        self.sorted.get_mut(self.recent).map(|(_, kept)| kept)
    }

    #[inline]
    pub(crate) fn get(&self, context: ContextId) -> Option<&C> {
        let recent = self.sorted.get(self.recent).filter(|&&(recent, _)| recent == context);
        let found = recent.or_else(|| self.sorted.get(self.binary_search(context).ok()?));
        found.map(|(_, kept)| kept)
    }

    #[inline]
    pub(crate) fn find_or_insert(
        &mut self,
        context: ContextId,
        make: impl FnOnce() -> C,
    ) -> Result<&mut C, Refused> {
        if self.find(context).is_none() {
            self.insert(context, make())?;
        }
        Ok(&mut self.sorted[self.recent].1)
    }

    #[cold]
    fn insert(&mut self, context: ContextId, new: C) -> Result<(), Refused> {
        self.sorted.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.recent = self.binary_search(context).unwrap_or_else(|at| at);
        self.sorted.insert(self.recent, (context, new));
        Ok(())
    }

    fn binary_search(&self, context: ContextId) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&context, |&(id, _)| id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.sorted.iter_mut().map(|(_, kept)| kept)
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(crate) fn close(&mut self, context: ContextId) -> Option<C> {
        let at = self.binary_search(context).ok()?;
        Some(self.sorted.remove(at).1)
    }

    /// `inner` returns the bytes of a communicator.
    pub(crate) fn bytes(&self, inner: impl Fn(&C) -> u64) -> u64 {
        let held: u64 = self.sorted.iter().map(|(_, kept)| inner(kept)).sum();
        held + (self.sorted.capacity() * size_of::<(ContextId, C)>()) as u64
    }
}
