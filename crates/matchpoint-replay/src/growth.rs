//! How tables grow that every process has.
//!
//! A vector that doubles leaves up to half of its room unused, and a replay has a dozen tables for each of ten thousand
//! ranks, all of them just beyond some power of two. A quarter more each time is at most a fifth unused, for some two
//! more copies of each entry, once.

/// Entries that a table has room for at first, and more of at least.
const LEAST: usize = 4;

/// Makes room for one more entry.
#[inline]
pub(crate) fn make_room<T>(table: &mut Vec<T>) {
    if table.len() == table.capacity() {
        grow(table);
    }
}

#[cold]
fn grow<T>(table: &mut Vec<T>) {
    table.reserve_exact((table.len() / 4).max(LEAST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_fifth_is_unused() {
        let mut table = Vec::new();
        for at in 0..10_000 {
            make_room(&mut table);
            table.push(at);
            assert!(table.capacity() - table.len() <= (table.capacity() / 5).max(LEAST), "{at}");
        }
    }
}
