//! Growth of tables. Growth by a quarter leaves at most a fifth unused, doubling up to half. A replay has a dozen
//! tables for each of up to ten thousand ranks.

const LEAST: usize = 4;

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
    fn growing_table_has_limited_spare_capacity() {
        let mut table = Vec::new();
        for at in 0..10_000 {
            make_room(&mut table);
            table.push(at);
            assert!(table.capacity() - table.len() <= (table.capacity() / 5).max(LEAST), "{at}");
        }
    }
}
