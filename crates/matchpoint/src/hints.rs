//! Assertions about a communicator, and the matching order that results.

use crate::entry::Refused;
use crate::envelope::{ContextId, Selector, Wild};

/// Assertions on a context: MPI-4.1's info keys (§7.4.4), and `no_unexpected`. The default is MPI's full
/// semantics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hints {
    /// `mpi_assert_no_any_source`: no receive or probe uses any source.
    pub no_any_source: bool,
    /// `mpi_assert_no_any_tag`: no receive or probe uses any tag or an ignore mask.
    pub no_any_tag: bool,
    /// `mpi_assert_exact_length`: buffers have the length of the message. No effect on matching.
    pub exact_length: bool,
    /// `mpi_assert_allow_overtaking`: messages match in any order ([`Order::None`]).
    pub allow_overtaking: bool,
    /// Unexpected messages are refused: every receive is posted before its message arrives. MPI has no such
    /// assertion.
    pub no_unexpected: bool,
}

/// Order in which messages and receives match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Order {
    /// The oldest match of all sources; the default.
    #[default]
    Total,
    /// Messages take receives in posted order. A receive takes the oldest match of any one source (MPI's
    /// minimum, §3.5). Messages with unknown source count as one source.
    PerSource,
    /// A receive may take any matching message ([`Hints::allow_overtaking`]).
    None,
}

impl Hints {
    /// The assertions of `self` and of `other`.
    #[must_use]
    pub fn and(self, other: Hints) -> Hints {
        Hints {
            no_any_source: self.no_any_source || other.no_any_source,
            no_any_tag: self.no_any_tag || other.no_any_tag,
            exact_length: self.exact_length || other.exact_length,
            allow_overtaking: self.allow_overtaking || other.allow_overtaking,
            no_unexpected: self.no_unexpected || other.no_unexpected,
        }
    }

    fn can_refuse(self) -> bool {
        self.no_any_source || self.no_any_tag || self.no_unexpected
    }

    /// Checks a receive or probe.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the selector breaks an assertion.
    #[inline]
    pub fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        let any_source = self.no_any_source && selector.source() == Wild::Any;
        let any_tag = self.no_any_tag && !matches!(selector.tag(), Wild::Is(_));
        if any_source || any_tag { Err(Refused::Hint) } else { Ok(()) }
    }
}

/// Assertions by context.
#[derive(Clone, Debug, Default)]
pub struct HintTable(Vec<(ContextId, Hints)>);

impl HintTable {
    /// The assertions on `context`. O(log contexts with assertions).
    #[inline]
    pub fn get(&self, context: ContextId) -> Hints {
        if self.0.is_empty() { Hints::default() } else { self.find(context) }
    }

    #[cold]
    fn find(&self, context: ContextId) -> Hints {
        self.position(context).map_or(Hints::default(), |at| self.0[at].1)
    }

    fn position(&self, context: ContextId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&context, |&(id, _)| id)
    }

    /// Checks a receive or probe against the assertions on its context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the selector breaks an assertion.
    #[inline]
    pub fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        if self.0.is_empty() { Ok(()) } else { self.find(selector.context()).admit(selector) }
    }

    /// Checks whether `context` allows unexpected messages.
    ///
    /// # Errors
    /// [`Refused::Hint`] if `no_unexpected` is asserted on `context`.
    #[inline]
    pub fn admit_unexpected(&self, context: ContextId) -> Result<(), Refused> {
        if self.get(context).no_unexpected { Err(Refused::Hint) } else { Ok(()) }
    }

    /// O(contexts with assertions).
    pub(crate) fn can_refuse(&self) -> bool {
        self.iter().any(|(_, hints)| hints.can_refuse())
    }

    /// Replaces the assertions on `context`.
    ///
    /// # Errors
    /// [`Refused::Memory`]: the assertions are unchanged.
    pub fn set(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        match self.position(context) {
            _ if hints == Hints::default() => self.forget(context),
            Ok(at) => self.0[at].1 = hints,
            Err(at) => {
                self.0.try_reserve(1).map_err(|_| Refused::Memory)?;
                self.0.insert(at, (context, hints));
            }
        }
        Ok(())
    }

    /// Reserves memory for one more context, so that the next [`set`](HintTable::set) cannot fail.
    ///
    /// # Errors
    /// [`Refused::Memory`].
    pub fn reserve(&mut self) -> Result<(), Refused> {
        self.0.try_reserve(1).map_err(|_| Refused::Memory)
    }

    /// Contexts with assertions, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (ContextId, Hints)> {
        self.0.iter().copied()
    }

    /// Removes the assertions on `context`.
    pub fn forget(&mut self, context: ContextId) {
        if let Ok(at) = self.position(context) {
            self.0.remove(at);
        }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        (self.0.capacity() * size_of::<(ContextId, Hints)>()) as u64
    }
}
