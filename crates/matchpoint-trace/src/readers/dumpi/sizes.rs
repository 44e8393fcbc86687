//! The sizes of datatypes, as a table by the format's number of the type.

/// The application's own datatypes are numbered from here.
const FIRST_OWN: usize = 28;

/// The sizes of the datatypes that a process used, in bytes.
#[derive(Clone, Default, Debug)]
pub(super) struct Sizes(Vec<i32>);

impl Sizes {
    /// Of a table of sizes; 0 for a predefined type means that it was not used.
    pub fn new(table: Vec<i32>) -> Self {
        Sizes(table)
    }

    /// How many bytes so many elements of a type are; `None` if that is not known.
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
