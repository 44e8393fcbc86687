//! Lines of the log, 256 at a time. Messages are numbered as they come, in twos, so a line is four bytes: what its
//! message is found by. A chunk that a sweep leaves at most half of has lines of eight: which it is, too.

use super::entry::Ref;
use super::key::Spot;

/// Lines in a chunk: 1 KiB, so that the call which adds one rarely touches a page that was never touched before (1.2 µs
/// each on a virtual machine).
pub(super) const LINES: usize = 256;

/// Lines in one that was swept.
const SPARSE: usize = LINES / 2;

/// Messages that lines of one chunk may be apart.
const FAR: u64 = if cfg!(test) { 1 << 13 } else { FARTHEST };
const FARTHEST: u64 = u32::MAX as u64;

/// What a message is found by, in 31 bits (tables have 2^29 slots at most, and pools fewer than 2^31 records); the upper
/// bit says that it is an equal entry.
pub(super) type Word = u32;

const OF_EQUAL: Word = 1 << 31;

/// The word of a line whose message is known to be gone.
pub(super) const DEAD: Word = u32::MAX;

#[inline]
pub(super) fn word(entry: Ref) -> Word {
    match entry.place() {
        Some(place) => place | OF_EQUAL,
        None => entry.spot().0 & !OF_EQUAL,
    }
}

#[inline]
pub(super) fn entry(word: Word) -> Ref {
    if word & OF_EQUAL != 0 { Ref::equal(word & !OF_EQUAL) } else { Ref::inline(Spot(word)) }
}

/// See the [module's documentation](self).
pub(super) struct Chunk {
    base: u64,
    words: Box<[Word; LINES]>,
    /// Lines, dead or alive.
    len: u32,
    is_sparse: bool,
}

impl Chunk {
    /// Of so many lines, the first of which has the number `base`.
    pub(super) fn new(base: u64, words: Vec<Word>) -> Option<Self> {
        let words = words.into_boxed_slice().try_into().ok()?;
        Some(Chunk { base, words, len: LINES as u32, is_sparse: false })
    }

    pub(super) fn into_words(self) -> Vec<Word> {
        (self.words as Box<[Word]>).into_vec()
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(super) fn lines(&self) -> Lines<'_> {
        let words = if self.is_sparse { 2 * self.len() } else { self.len() };
        Lines { base: self.base, words: &self.words[..words], is_sparse: self.is_sparse }
    }

    /// What a message is found by, if all lines of it are there still and it has one here.
    #[inline]
    pub(super) fn whole(&self, seq: u64) -> Option<Ref> {
        let line = seq.wrapping_sub(self.base).rotate_right(1);
        let is_here = !self.is_sparse && line < LINES as u64;
        let word = is_here.then(|| self.words[line as usize % LINES])?;
        (word != DEAD).then(|| entry(word))
    }

    /// Writes to a [place](Lines::word_of).
    pub(super) fn set(&mut self, at: usize, entry: Ref) {
        self.words[at] = word(entry);
    }

    pub(super) fn drop_unless(&mut self, line: usize, is_live: impl Fn(u64, Ref) -> bool) {
        let lines = self.lines();
        let at = lines.word(line);
        if lines.get(line).is_some_and(|(seq, entry)| !is_live(seq, entry)) {
            self.words[at] = DEAD;
        }
    }

    /// Closes the gaps between the lines that are alive, if they are few. How many lines it has now.
    pub(super) fn close_up(&mut self) -> usize {
        let mut sparse = [0; LINES];
        let mut live = 0;
        let lines = self.lines();
        for line in (0..self.len()).filter(|&line| lines.get(line).is_some()) {
            if live == SPARSE {
                return self.len();
            }
            (sparse[2 * live], sparse[2 * live + 1]) = (lines.step(line), lines.words[lines.word(line)]);
            live += 1;
        }
        (*self.words, self.len, self.is_sparse) = (sparse, live as u32, true);
        live
    }

    /// Whether it can [take over](Self::append) the lines of another, all of them younger.
    pub(super) fn has_room(&self, other: &Chunk) -> bool {
        self.has_room_within(FAR, other)
    }

    fn has_room_within(&self, most: u64, other: &Chunk) -> bool {
        let is_near = (other.lines().last() - self.base) / 2 <= most;
        self.is_sparse && other.is_sparse && self.len() + other.len() <= SPARSE && is_near
    }

    /// Takes over the lines of another. There must be [room](Self::has_room).
    pub(super) fn append(&mut self, other: &Chunk) {
        let (here, there) = (self.len(), other.len());
        let later = ((other.base - self.base) / 2) as u32;
        let words = &mut self.words[2 * here..2 * (here + there)];
        words.copy_from_slice(&other.words[..2 * there]);
        words.iter_mut().step_by(2).for_each(|step| *step += later);
        self.len += there as u32;
    }
}

/// Lines, to be read.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    base: u64,
    words: &'a [Word],
    is_sparse: bool,
}

impl<'a> Lines<'a> {
    /// Of messages in a row.
    pub(super) fn new(base: u64, words: &'a [Word]) -> Self {
        Lines { base, words, is_sparse: false }
    }

    /// Lines, dead or alive.
    #[inline]
    pub(super) fn len(self) -> usize {
        if self.is_sparse { self.words.len() / 2 } else { self.words.len() }
    }

    /// Where in the words a line says what its message is found by.
    #[inline]
    fn word(self, line: usize) -> usize {
        if self.is_sparse { 2 * line + 1 } else { line }
    }

    /// Messages between the first of the chunk and that of a line.
    #[inline]
    fn step(self, line: usize) -> u32 {
        if self.is_sparse { self.words[2 * line] } else { line as u32 }
    }

    #[inline]
    fn seq(self, line: usize) -> u64 {
        self.base + 2 * u64::from(self.step(line))
    }

    /// The last line's number; what comes before the first, if there is none.
    pub(super) fn last(self) -> u64 {
        self.len().checked_sub(1).map_or(self.base.saturating_sub(1), |line| self.seq(line))
    }

    /// The words from a line on, and the number of its message, if they are of messages in a row.
    #[inline]
    pub(super) fn row(self, line: usize) -> Option<(u64, &'a [Word])> {
        let words = if self.is_sparse { None } else { self.words.get(line..) };
        words.map(|words| (self.base + 2 * line as u64, words))
    }

    /// A line, unless it is dead.
    #[inline]
    pub(super) fn get(self, line: usize) -> Option<(u64, Ref)> {
        let word = self.words[self.word(line)];
        (word != DEAD).then(|| (self.seq(line), entry(word)))
    }

    /// The first line that is no older than `seq`.
    #[inline]
    pub(super) fn place(self, seq: u64) -> usize {
        let steps = seq.saturating_sub(self.base).div_ceil(2);
        if !self.is_sparse {
            return usize::try_from(steps).map_or(self.len(), |line| line.min(self.len()));
        }
        let (mut from, mut until) = (0, self.len());
        while from < until {
            let middle = (from + until) / 2;
            if u64::from(self.step(middle)) < steps {
                from = middle + 1;
            } else {
                until = middle;
            }
        }
        from
    }

    /// Where in the words a message's line says what it is found by, if it has one.
    pub(super) fn word_of(self, seq: u64) -> Option<usize> {
        let line = self.place(seq);
        let is_it = line < self.len() && self.seq(line) == seq && self.get(line).is_some();
        is_it.then(|| self.word(line))
    }

    pub(super) fn find(self, seq: u64) -> Option<Ref> {
        self.word_of(seq).map(|at| entry(self.words[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk that a sweep has left these lines of.
    fn swept(base: u64, left: &[u64]) -> Chunk {
        let mut chunk = Chunk::new(base, vec![7; LINES]).unwrap();
        (0..LINES).for_each(|line| chunk.drop_unless(line, |seq, _| left.contains(&seq)));
        assert_eq!(chunk.close_up(), left.len());
        chunk
    }

    /// As far as lines of a chunk may be apart where this is no test: 2^33, to the last bit.
    #[test]
    fn lines_are_joined_as_far_apart_as_32_bits_allow() {
        for base in [2, (1 << 33) - 2, 1 << 40] {
            for (far, is_near) in
                [(1 << 31, true), (1 << 32, true), (FARTHEST * 2, true), (FARTHEST * 2 + 2, false)]
            {
                let last = base + far;
                let mut chunk = swept(base, &[base, base + 20]);
                let other = swept(last - 40, &[last - 30, last]);
                assert_eq!(chunk.has_room_within(FARTHEST, &other), is_near, "{base}, {far}");
                if is_near {
                    chunk.append(&other);
                    let seqs = (0..4).map(|line| chunk.lines().get(line).unwrap().0);
                    assert_eq!(seqs.collect::<Vec<_>>(), [base, base + 20, last - 30, last]);
                    assert!(
                        [base, base + 20, last - 30, last]
                            .iter()
                            .all(|&seq| chunk.lines().find(seq).is_some())
                    );
                    assert_eq!(chunk.lines().find(last + 2), None);
                }
            }
        }
    }
}
