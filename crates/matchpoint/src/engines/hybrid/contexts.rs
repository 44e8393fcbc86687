//! How many entries are queued in each context, nearly: contexts share 256 counts. Zero is certain, so that closing a
//! context in which nothing is queued, or setting its hints, does not have to look at what is queued in others.

use crate::envelope::ContextId;

const COUNTS: usize = 256;

/// See the [module's documentation](self).
pub(super) struct Contexts([u32; COUNTS]);

impl Default for Contexts {
    fn default() -> Self {
        Contexts([0; COUNTS])
    }
}

/// The count of a context. Ids come in steps of powers of two (MPICH's in sixteens): the upper bits of a product, since
/// the lower would fall together.
#[inline]
fn place(context: u32) -> usize {
    (context.wrapping_mul(0x9E37_79B9) >> 24) as usize
}

impl Contexts {
    /// An entry is queued in the context that the upper half of `pair` is.
    #[inline]
    pub(super) fn add(&mut self, pair: u64) {
        self.0[place((pair >> 32) as u32)] += 1;
    }

    /// It is not, any more.
    #[inline]
    pub(super) fn remove(&mut self, pair: u64) {
        self.0[place((pair >> 32) as u32)] -= 1;
    }

    /// Whether it is certain that nothing is queued in a context.
    pub(super) fn is_idle(&self, context: ContextId) -> bool {
        self.0[place(context.0)] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MPICH counts them, and as everybody else does.
    #[test]
    fn few_contexts_share_a_count_with_one_that_is_busy() {
        for step in [1, 16] {
            let mut contexts = Contexts::default();
            contexts.add(u64::from(3 * step) << 32);
            let idle = (0..1 << 12).filter(|&nth| contexts.is_idle(ContextId(nth * step))).count();
            assert!(idle >= (1 << 12) - (1 << 5), "steps of {step}: {idle} are known to be idle");
        }
    }
}
