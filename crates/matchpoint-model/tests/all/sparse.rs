//! Tests of reading and distributing matrices.

use std::num::NonZeroU32;
use std::path::Path;

use matchpoint_model::matrix_market::Reader;
use matchpoint_model::sparse::{Needs, RowSizes, Sizes};
use matchpoint_model::{Partition, Sent};
use proptest::prelude::*;

fn processes(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn read_entries(text: &str) -> Result<Vec<(u32, u32)>, String> {
    let path = Path::new("a.mtx");
    let mut entries = Vec::new();
    let mut reader =
        Reader::new(text.as_bytes(), text.len() as u64, path).map_err(|error| error.to_string())?;
    let all = reader.entries(|row, column| entries.push((row, column)), |_| true);
    assert!(all.map_err(|error| error.to_string())?);
    Ok(entries)
}

#[test]
fn every_kind_of_coordinate_matrix_is_read() {
    let cases = [
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 -3e2\n", vec![(0, 0), (1, 0)]),
        (
            "%%MatrixMarket MATRIX Coordinate Integer General\n% c\n\n2 2 2\n1 1 1\n2 2 7\n",
            vec![(0, 0), (1, 1)],
        ),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
            vec![(0, 0), (1, 0), (0, 1)],
        ),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n", vec![(1, 0), (0, 1)]),
        ("%%MatrixMarket matrix coordinate complex hermitian\r\n1 1 1\r\n1 1 2 0\r\n", vec![(0, 0)]),
        ("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1", vec![(0, 0)]),
    ];
    for (text, expected) in cases {
        assert_eq!(read_entries(text), Ok(expected), "{text}");
    }
}

#[test]
fn error_names_line() {
    let real = "%%MatrixMarket matrix coordinate real general\n";
    let of = |rest: &str| format!("{real}{rest}");
    let cases = [
        (String::new(), "a.mtx': an empty file where `%%MatrixMarket"),
        ("1 2 3\n".to_owned(), "line 1: `1 2 3` where `%%MatrixMarket"),
        (
            "%%MatrixMarket vector coordinate real general\n".to_owned(),
            "a matrix in Matrix Market format begins with `%%MatrixMarket matrix`",
        ),
        ("%%MatrixMarket matrix array real general\n".to_owned(), "a dense matrix"),
        (
            "%%MatrixMarket matrix coordinate quaternion general\n".to_owned(),
            "none of real, integer, complex",
        ),
        ("%%MatrixMarket matrix coordinate real diagonal\n".to_owned(), "none of general, symmetric"),
        (of(""), "line 1: no numbers of rows, columns and entries\nhint: the file is incomplete"),
        (of("2 2\n"), "line 2: `2 2` instead of the numbers"),
        (of("2 -2 1\n"), "line 2: `2 -2 1` instead of the numbers"),
        (of("5000000000 5 5\n"), "more rows or columns than 4294967295"),
        (of("0 5 5\n"), "0 × 5: a matrix without entries"),
        (of("2 2 999999999999\n1 1 1\n"), "69 bytes are too few for the declared 999999999999 entries"),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n2 3 1\n1 1\n".to_owned(),
            "line 2: 2 rows, 3 columns: a matrix that is symmetric has as many of both",
        ),
        (of("2 2 2\n1 1 1\n"), "line 3: the file ends after 1 of 2 entries\nhint: the file is incomplete"),
        (of("2 2 2\n1 1 1\n2\n"), "line 4: no column in `2`"),
        (of("2 2 2\n1 1 1\n2 2\n"), "line 4: no value in `2 2`"),
        (of("2 2 2\n1 1 1\n3 2 1\n"), "line 4: `3` is not a row from 1 to 2"),
        (of("2 2 2\n1 1 1\n2 0 1\n"), "line 4: `0` is not a column from 1 to 2"),
        (of("2 2 2\n1 1 NaN\n2 2 1\n"), "line 3: `NaN` is not a finite number"),
        (of("2 2 2\n1 1 1\n2 2 1 9\n"), "line 4: `9` after the entry"),
        (of("2 2 2\n1 1 1\n2 2 1\n1 2 1\n"), "line 5: `1 2 1` after 2 entries"),
    ];
    for (text, expected) in cases {
        let error = read_entries(&text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Interpolation matrices may have empty rows.
#[test]
fn missing_entries_are_reported_before_count() {
    let reader =
        |text: &'static str| Reader::new(text.as_bytes(), text.len() as u64, Path::new("a.mtx")).unwrap();
    let few = "%%MatrixMarket matrix coordinate pattern general\n18 2 1\n1 1\n";
    let error = reader(few).check_enough_entries().unwrap_err().to_string();
    assert!(error.contains("line 2: 1 entries cannot fill 18 rows"), "{error}");
    let enough = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
    assert_eq!(reader(enough).check_enough_entries(), Ok(()));
}

#[test]
fn reading_stops_on_request() {
    let text = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n";
    let mut reader = Reader::new(text.as_bytes(), text.len() as u64, Path::new("a.mtx")).unwrap();
    let mut seen = 0;
    let all = reader.entries(
        |_, _| unreachable!("nothing was asked for"),
        |bytes| {
            seen = bytes;
            false
        },
    );
    assert_eq!((all, seen), (Ok(false), text.len() as u64 - 4));
}

#[test]
fn partitions_are_even_and_in_order() {
    let partition = Partition::contiguous(10, processes(4)).unwrap();
    let owners: Vec<u32> = (0..10).map(|row| partition.owner(row)).collect();
    assert_eq!(owners, [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]);
    assert!(
        Partition::contiguous(3, processes(4)).unwrap_err().contains("3 rows are too few for 4 processes")
    );
}

#[test]
fn lists_of_owners_are_checked() {
    let many = Partition::listed("0\n9\n".as_bytes(), 2, processes(10)).unwrap_err();
    assert!(many.contains("2 rows are too few for 10 processes"), "{many}");
    let read_owners = |text: &str| Partition::listed(text.as_bytes(), 3, processes(2));
    assert_eq!(read_owners("1\n0\n1\n"), Ok(Partition::Listed(vec![1, 0, 1])));
    for (text, expected) in [
        ("1\n0\n", "2 lines, but the matrix has 3 rows"),
        ("1\n0\n1\n0\n", "line 4: more lines than the 3 rows"),
        ("1\n2\n1\n", "line 2: `2` is not a process from 0 to 1"),
        ("1\nx\n1\n", "line 2: `x` is not a process from 0 to 1"),
    ] {
        assert!(read_owners(text).unwrap_err().contains(expected), "{text}");
    }
}

/// Each row is coupled to its two neighbours.
fn tridiagonal_entries(rows: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rows).flat_map(move |row| (row.saturating_sub(1)..rows.min(row + 2)).map(move |column| (row, column)))
}

#[test]
fn row_needs_elements_of_neighbours() {
    let partition = Partition::contiguous(10, processes(3)).unwrap();
    let mut needs = Needs::new(partition.clone(), partition.clone());
    let mut sizes = RowSizes::new(10);
    for (row, column) in tridiagonal_entries(10) {
        needs.entry(row, column);
        sizes.entry(row);
    }
    let sent = Sent::one;
    let expected = |bytes| vec![sent(0, 1, bytes), sent(1, 0, bytes), sent(1, 2, bytes), sent(2, 1, bytes)];
    assert_eq!(needs.clone().exchange(|_| Sizes::default().element()).messages, expected(8));
    // A length, three columns, three values.
    let product = needs.exchange(|column| Sizes::default().row(sizes.of(column)));
    assert_eq!(product.messages, expected(4 + 3 * 12));
    assert_eq!(sizes.first_empty(), None);
    assert_eq!(RowSizes::new(2).first_empty(), Some(0));
}

proptest! {
    /// The comparison is entry by entry, with duplicates and any partition.
    #[test]
    fn needed_columns_are_sent_once(
        entries in prop::collection::vec((0..40_u32, 0..40_u32), 0..400),
        owners in prop::collection::vec(0..7_u32, 40),
    ) {
        let partition = Partition::Listed(owners.clone());
        let mut needs = Needs::new(partition.clone(), partition);
        let mut expected = std::collections::BTreeSet::new();
        for &(row, column) in &entries {
            needs.entry(row, column);
            if owners[row as usize] != owners[column as usize] {
                expected.insert((owners[column as usize], owners[row as usize], column));
            }
        }
        let mut sums = std::collections::BTreeMap::new();
        for (from, to, column) in expected {
            *sums.entry((from, to)).or_insert(0) += u64::from(column) + 1;
        }
        let messages = needs.exchange(|column| u64::from(column) + 1).messages;
        let got: Vec<_> = messages.into_iter().map(|message| ((message.from, message.to), message.bytes)).collect();
        prop_assert_eq!(got, sums.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn no_text_panics(text in "(%%MatrixMarket matrix coordinate real general\n)?[0-9 .\n-]*") {
        let _ = read_entries(&text);
    }
}
