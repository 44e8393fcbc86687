//! What the application promises about a communicator, and the order it may then rely on.

use crate::entry::Refused;
use crate::envelope::{ContextId, Selector, Wild};

/// Assertions on one context, by the names of MPI-4.1's info keys (§7.4.4), and one of ours. All false: MPI's
/// full semantics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hints {
    /// `mpi_assert_no_any_source`: no receive or probe will leave the source open.
    pub no_any_source: bool,
    /// `mpi_assert_no_any_tag`: no receive or probe will leave the tag, or part of it, open.
    pub no_any_tag: bool,
    /// `mpi_assert_exact_length`: buffers have just the length of the message. Does not affect matching.
    pub exact_length: bool,
    /// `mpi_assert_allow_overtaking`: messages may match in any order ([`Order::None`]).
    pub allow_overtaking: bool,
    /// Ours: every receive is posted before its message arrives. One that would have to wait is refused.
    pub no_unexpected: bool,
}

/// Which of several messages or receives that match is taken. The laws that apply follow from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Order {
    /// The earliest, over all sources. What an engine gives unless the user relaxed it.
    #[default]
    Total,
    /// Receives in the order they were posted; of the unexpected messages the earliest *of its source*, from
    /// whichever source (MPI's minimum, §3.5). Those whose source is not known yet count as being of one.
    PerSource,
    /// Any that matches ([`Hints::allow_overtaking`]).
    None,
}

impl Hints {
    /// All assertions of either.
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

    /// Whether a call can break them.
    fn can_refuse(self) -> bool {
        self.no_any_source || self.no_any_tag || self.no_unexpected
    }

    /// Whether a receive or probe with `selector` keeps these assertions.
    ///
    /// # Errors
    /// [`Refused::Hint`] if it does not.
    #[inline]
    pub fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        let any_source = self.no_any_source && selector.source() == Wild::Any;
        let any_tag = self.no_any_tag && !matches!(selector.tag(), Wild::Is(_));
        if any_source || any_tag { Err(Refused::Hint) } else { Ok(()) }
    }
}

/// The assertions of the contexts that have any, by context: mostly none has, so a table that is empty costs one test.
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
        self.place(context).map_or(Hints::default(), |at| self.0[at].1)
    }

    fn place(&self, context: ContextId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&context, |&(of, _)| of)
    }

    /// Whether a receive or probe keeps the assertions on its context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if it does not.
    #[inline]
    pub fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        if self.0.is_empty() { Ok(()) } else { self.find(selector.context()).admit(selector) }
    }

    /// Whether a message may wait in `context`.
    ///
    /// # Errors
    /// [`Refused::Hint`] where `no_unexpected` was asserted.
    #[inline]
    pub fn admit_unexpected(&self, context: ContextId) -> Result<(), Refused> {
        if self.get(context).no_unexpected { Err(Refused::Hint) } else { Ok(()) }
    }

    /// Whether a call can break an assertion. O(contexts with assertions).
    pub(crate) fn can_refuse(&self) -> bool {
        self.iter().any(|(_, hints)| hints.can_refuse())
    }

    /// Replaces the assertions on `context`.
    ///
    /// # Errors
    /// [`Refused::Memory`]: they are as they were.
    pub fn set(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        match self.place(context) {
            _ if hints == Hints::default() => self.forget(context),
            Ok(at) => self.0[at].1 = hints,
            Err(at) => {
                self.0.try_reserve(1).map_err(|_| Refused::Memory)?;
                self.0.insert(at, (context, hints));
            }
        }
        Ok(())
    }

    /// Has room for the assertions on one context more, so that the next [`set`](HintTable::set) succeeds.
    ///
    /// # Errors
    /// [`Refused::Memory`].
    pub fn reserve(&mut self) -> Result<(), Refused> {
        self.0.try_reserve(1).map_err(|_| Refused::Memory)
    }

    /// The contexts that have assertions, in order, and those.
    pub fn iter(&self) -> impl Iterator<Item = (ContextId, Hints)> {
        self.0.iter().copied()
    }

    /// Back to MPI's full semantics on `context`.
    pub fn forget(&mut self, context: ContextId) {
        if let Ok(at) = self.place(context) {
            self.0.remove(at);
        }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        (self.0.capacity() * size_of::<(ContextId, Hints)>()) as u64
    }
}
