//! Sizes of datatypes in DUMPI traces.

/// First number of the application's datatypes.
const FIRST_OWN: usize = 28;

#[derive(Clone, Default, Debug)]
pub(super) struct Sizes(Vec<i32>);

impl Sizes {
    /// A size of 0 for a predefined type means that the program did not use the type.
    pub fn new(table: Vec<i32>) -> Self {
        Sizes(table)
    }

    #[inline]
    pub fn bytes(&self, count: i32, datatype: i32) -> Option<u64> {
        let count = u64::try_from(count).ok()?;
        if count == 0 {
            return Some(0);
        }
        let datatype = usize::try_from(datatype).ok()?;
        let size = u64::try_from(*self.0.get(datatype)?).ok()?;
        (size > 0 || datatype >= FIRST_OWN).then_some(count * size)
    }
}
