//! Reader for Matrix Market files, of positions only, because communication does not depend on values.
//!
//! The format is of Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats" (NIST, 1996). Unlike
//! common libraries, the reader stores one line instead of the matrix, does not allocate according to the
//! header, and reports line numbers.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use crate::file_error::FileError;

const BANNER: &str = "%%MatrixMarket matrix";

/// Signature, format, and the program that decompresses the file.
const PACKED: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"\xfd7zXZ", "xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// At least 1.
    pub rows: u32,
    /// At least 1.
    pub columns: u32,
    pub entries: u64,
    /// An entry off the diagonal also represents its mirror image: symmetric, skew-symmetric, Hermitian.
    pub is_symmetric: bool,
    numbers: usize,
}

/// A file after its header.
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    line: u64,
    bytes: u64,
    text: Vec<u8>,
    header: Header,
}

/// The shortest entry: `1 1` and a newline.
const ENTRY_BYTES: u64 = 4;

/// Number of entries between two calls of `look`, which take some milliseconds.
const ENTRIES_PER_CALL: u64 = 1 << 16;

const COMPLETE: &str = "the file is incomplete: copy or write it again";

impl<R: BufRead> Reader<R> {
    /// Reads the header. `bytes` is the size of the file, `path` is for errors.
    ///
    /// # Errors
    /// The file is not a Matrix Market file, the matrix is dense, or the counts contradict the file size.
    pub fn new(input: R, bytes: u64, path: &Path) -> Result<Self, FileError> {
        let header = Header { rows: 1, columns: 1, entries: 0, is_symmetric: false, numbers: 0 };
        let mut reader = Reader { input, path: path.to_owned(), line: 0, bytes: 0, text: Vec::new(), header };
        reader.read_banner()?;
        reader.read_counts(bytes)?;
        Ok(reader)
    }

    /// Checks that every row can have an entry, before the caller allocates memory per row.
    pub fn check_enough_entries(&self) -> Result<(), FileError> {
        let Header { rows, entries, is_symmetric, .. } = self.header;
        if entries * if is_symmetric { 2 } else { 1 } >= u64::from(rows) {
            return Ok(());
        }
        Err(self
            .line_error(format!("{entries} entries cannot fill {rows} rows\nhint: remove the empty rows")))
    }

    pub fn header(&self) -> Header {
        self.header
    }

    /// Calls `each` with row and column of every entry, from 0, including mirror images. Periodically calls
    /// `look` with the bytes read. Returns false if `look` did.
    ///
    /// # Errors
    /// An entry is invalid or out of range, or the number of entries differs from the header.
    pub fn entries(
        &mut self,
        mut each: impl FnMut(u32, u32),
        mut look: impl FnMut(u64) -> bool,
    ) -> Result<bool, FileError> {
        for number in 0..self.header.entries {
            if number % ENTRIES_PER_CALL == 0 && !look(self.bytes) {
                return Ok(false);
            }
            if !self.next_line()? {
                let problem = format!(
                    "the file ends after {} of {} entries\nhint: {COMPLETE}",
                    number, self.header.entries
                );
                return Err(self.line_error(problem));
            }
            let (row, column) = self.parse_entry().map_err(|problem| self.line_error(problem))?;
            each(row, column);
            if self.header.is_symmetric && row != column {
                each(column, row);
            }
        }
        if self.next_line()? {
            let text = self.shorten_line();
            return Err(self.line_error(format!(
                "{text} after {} entries, the number in the header",
                self.header.entries
            )));
        }
        Ok(true)
    }

    fn read_banner(&mut self) -> Result<(), FileError> {
        let is_there = self.read_line()?;
        if let Some((_, name, unpack)) = PACKED.iter().find(|(begin, ..)| self.text.starts_with(begin)) {
            return Err(self.line_error(format!("compressed with {name}\nhint: unpack it: {unpack}")));
        }
        let banner = String::from_utf8_lossy(&self.text).to_lowercase();
        let words: Vec<&str> = banner.split_whitespace().collect();
        let [mark, object, format, field, symmetry] = words[..] else {
            let what = if is_there { self.shorten_line() } else { "an empty file".to_owned() };
            return Err(self.line_error(format!(
                "{what} where `%%MatrixMarket matrix coordinate real general`, or the like, begins a Matrix Market file"
            )));
        };
        if mark != "%%matrixmarket" || object != "matrix" {
            let text = self.shorten_line();
            return Err(
                self.line_error(format!("{text}: a matrix in Matrix Market format begins with `{BANNER}`"))
            );
        }
        if format != "coordinate" {
            return Err(self.line_error(format!(
                "`{format}`: a dense matrix; only sparse ones (`coordinate`) have a pattern"
            )));
        }
        self.header.numbers = match field {
            "real" | "integer" | "double" => 1,
            "complex" => 2,
            "pattern" => 0,
            _ => return Err(self.line_error(format!("`{field}` is none of real, integer, complex, pattern"))),
        };
        self.header.is_symmetric = match symmetry {
            "general" => false,
            "symmetric" | "skew-symmetric" | "hermitian" => true,
            _ => {
                let known = "general, symmetric, skew-symmetric, hermitian";
                return Err(self.line_error(format!("`{symmetry}` is none of {known}")));
            }
        };
        Ok(())
    }

    fn read_counts(&mut self, bytes: u64) -> Result<(), FileError> {
        if !self.next_line()? {
            return Err(self.line_error(format!("no numbers of rows, columns and entries\nhint: {COMPLETE}")));
        }
        let text = self.shorten_line();
        let numbers: Vec<Option<u64>> = self.words().map(|word| word.parse().ok()).collect();
        let [Some(rows), Some(columns), Some(entries)] = numbers[..] else {
            return Err(
                self.line_error(format!("{text} instead of the numbers of rows, columns and entries"))
            );
        };
        let (Ok(rows), Ok(columns)) = (u32::try_from(rows), u32::try_from(columns)) else {
            return Err(
                self.line_error(format!("{rows} × {columns}: more rows or columns than {}", u32::MAX))
            );
        };
        if rows == 0 || columns == 0 {
            return Err(
                self.line_error(format!("{rows} × {columns}: a matrix without entries needs no messages"))
            );
        }
        if entries > bytes / ENTRY_BYTES + 1 {
            return Err(self.line_error(format!(
                "{bytes} bytes are too few for the declared {entries} entries\nhint: {COMPLETE}"
            )));
        }
        if self.header.is_symmetric && rows != columns {
            return Err(self.line_error(format!(
                "{rows} rows, {columns} columns: a matrix that is symmetric has as many of both"
            )));
        }
        self.header = Header { rows, columns, entries, ..self.header };
        Ok(())
    }

    fn parse_entry(&self) -> Result<(u32, u32), String> {
        let mut words = self.words();
        let mut index = |limit: u32, what: &str| {
            let word = words
                .next()
                .ok_or_else(|| format!("no {what} in {}\nhint: {COMPLETE}", self.shorten_line()))?;
            let number = word.parse::<u32>().ok().filter(|number| (1..=limit).contains(number));
            number
                .map(|number| number - 1)
                .ok_or_else(|| format!("`{word}` is not a {what} from 1 to {limit}"))
        };
        let position = (index(self.header.rows, "row")?, index(self.header.columns, "column")?);
        for _ in 0..self.header.numbers {
            let word = words
                .next()
                .ok_or_else(|| format!("no value in {}\nhint: {COMPLETE}", self.shorten_line()))?;
            if !word.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(format!("`{word}` is not a finite number"));
            }
        }
        words.next().map_or(Ok(position), |word| Err(format!("`{word}` after the entry")))
    }

    /// Reads a line that is neither a comment nor empty. Returns false at the end.
    fn next_line(&mut self) -> Result<bool, FileError> {
        while self.read_line()? {
            let is_comment = self.text.first() == Some(&b'%');
            if !is_comment && !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_line(&mut self) -> Result<bool, FileError> {
        self.text.clear();
        let read = self.input.read_until(b'\n', &mut self.text);
        let read = read.map_err(|error: io::Error| {
            self.line_error(format!("{error}\nhint: check the file and its disk"))
        })?;
        self.line += u64::from(read > 0);
        self.bytes += read as u64;
        Ok(read > 0)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        std::str::from_utf8(&self.text).unwrap_or("\u{fffd}").split_ascii_whitespace()
    }

    /// The start of the line, for an error.
    fn shorten_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.text[..self.text.len().min(60)]);
        format!("`{}`", text.trim_end().escape_debug())
    }

    fn line_error(&self, problem: String) -> FileError {
        FileError { path: self.path.clone(), line: (self.line > 0).then_some(self.line), problem }
    }
}
