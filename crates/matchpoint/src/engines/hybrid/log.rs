//! The order of arrival: every unexpected message in one line, those that were taken since included until a sweep
//! passes. Taking a message does not look here, so that a program without wildcards pays for one store.
//!
//! ```text
//! full   [ 256 lines ][ 97 lines, swept ][ … ]   oldest first, swept a few lines at a time
//! tail   [ 37 lines ]                            where the next one goes
//! ```

use std::collections::VecDeque;

use super::chunk::{Chunk, DEAD, LINES, Lines, Word, entry, word};
use super::entry::Ref;
use super::grave::Dropped;
use crate::engine::Refused;

/// Lines that the tail begins with.
const FIRST: usize = 32;

/// Dead lines that are not worth a sweep.
const SLACK: usize = 1024;

/// Lines looked at with each arrival while a sweep is on.
const SWEEP: usize = 4;

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Log {
    /// All of it is initialised, so that adding a line is a store behind one comparison.
    tail: Vec<Word>,
    used: usize,
    /// The number of the tail's first message.
    base: u64,
    full: VecDeque<Chunk>,
    spare: VecDeque<Chunk>,
    /// Where the sweep stands: a full chunk and a line of it.
    sweep: Option<(usize, usize)>,
    /// Lines in full chunks.
    settled: usize,
}

impl Log {
    /// One whose first message has the number `seq`.
    pub(super) fn from(seq: u64) -> Self {
        Log { base: seq, ..Log::default() }
    }

    /// Lines kept, dead or alive.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.settled + self.used
    }

    /// Whether there are lines to sweep.
    #[inline]
    pub(super) fn is_sweeping(&self) -> bool {
        self.sweep.is_some()
    }

    /// Whether a line can be added without allocating.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.used < self.tail.len()
    }

    /// Makes room for one line; `live` of those that are there are wanted still.
    #[cold]
    pub(super) fn make_room(&mut self, live: usize) -> Result<(), Refused> {
        if self.tail.len() < LINES {
            let lines = usize::clamp(2 * self.tail.len(), FIRST, LINES);
            self.tail.try_reserve_exact(lines - self.tail.len()).map_err(|_| Refused::Memory)?;
            self.tail.resize(lines, 0);
            return Ok(());
        }
        self.full.try_reserve(1).map_err(|_| Refused::Memory)?;
        let next = match self.spare.pop_front() {
            Some(chunk) => chunk.into_words(),
            None => {
                let mut words = Vec::new();
                words.try_reserve_exact(LINES).map_err(|_| Refused::Memory)?;
                words.resize(LINES, 0);
                words
            }
        };
        if let Some(chunk) = Chunk::new(self.base, std::mem::replace(&mut self.tail, next)) {
            self.full.push_back(chunk);
        }
        self.settled += LINES;
        self.base += 2 * LINES as u64;
        self.used = 0;
        if self.sweep.is_none() && self.len() > 2 * live + SLACK {
            self.sweep = Some((0, 0));
        }
        Ok(())
    }

    /// Adds the line of the next message; false: there is no [room](Self::make_room).
    #[inline]
    pub(super) fn push(&mut self, entry: Ref) -> bool {
        let Some(line) = self.tail.get_mut(self.used) else { return false };
        *line = word(entry);
        self.used += 1;
        true
    }

    /// Forgets all lines, none of which is alive: the next message has the number `seq`. False, and nothing done: there
    /// are full chunks to put away.
    #[inline]
    pub(super) fn restart(&mut self, seq: u64) -> bool {
        if self.settled == 0 {
            (self.used, self.base) = (0, seq);
        }
        self.settled == 0
    }

    /// Forgets all lines: none is alive, and the next message has the number `seq`.
    #[inline]
    pub(super) fn clear(&mut self, seq: u64) {
        (self.used, self.base) = (0, seq);
        if !self.full.is_empty() {
            self.clear_full();
        }
    }

    #[cold]
    fn clear_full(&mut self) {
        self.sweep = None;
        self.settled = 0;
        // Without memory to remember them by, the chunks are given back.
        if self.spare.try_reserve(self.full.len()).is_ok() {
            self.spare.append(&mut self.full);
        } else {
            self.full.clear();
        }
    }

    fn tail(&self) -> Lines<'_> {
        Lines::new(self.base, &self.tail[..self.used])
    }

    /// The full chunk that a message has its line in, or would have; the number of them, if that is the tail.
    fn chunk_of(&self, seq: u64) -> usize {
        self.full.partition_point(|chunk| chunk.lines().last() < seq)
    }

    /// The lines from the oldest on that is no older than `seq`.
    #[inline]
    pub(super) fn since(&self, seq: u64) -> Since<'_> {
        let chunk =
            if self.full.is_empty() || seq >= self.base { self.full.len() } else { self.chunk_of(seq) };
        let line = self.full.get(chunk).map_or(self.tail(), Chunk::lines).place(seq);
        let mut since = Since { log: self, row: &[], seq: 0, lines: Lines::new(0, &[]), line: 0, chunk };
        since.enter(line);
        since
    }

    /// What a message is found by. O(log lines), O(1) among lines that no sweep has come to.
    #[inline]
    pub(super) fn find(&self, seq: u64) -> Option<Ref> {
        // Of what is no message's number this makes a line that there is not.
        let line = seq.wrapping_sub(self.base).rotate_right(1) as usize;
        if line < self.used {
            return Some(entry(self.tail[line]));
        }
        // Chunks in a row, unless some were swept.
        let number = (self.base.wrapping_sub(seq) as usize).div_ceil(2 * LINES);
        let chunk = self.full.len().checked_sub(number).and_then(|number| self.full.get(number));
        match chunk.and_then(|chunk| chunk.whole(seq)) {
            None => self.find_among(seq),
            found => found,
        }
    }

    #[inline(never)]
    fn find_among(&self, seq: u64) -> Option<Ref> {
        self.full.get(self.chunk_of(seq)).map_or(self.tail(), Chunk::lines).find(seq)
    }

    /// Changes what a message is found by. O(log lines).
    pub(super) fn replace(&mut self, seq: u64, entry: Ref) {
        let chunk = self.chunk_of(seq);
        let at = self.full.get(chunk).map_or(self.tail(), Chunk::lines).word_of(seq);
        let Some(at) = at else { return };
        match self.full.get_mut(chunk) {
            Some(chunk) => chunk.set(at, entry),
            None => self.tail[at] = word(entry),
        }
    }

    /// Looks at some lines, and drops those of which `is_live` says no.
    pub(super) fn tend(&mut self, is_live: impl Fn(u64, Ref) -> bool) {
        let Some((number, at)) = self.sweep else { return };
        let Some(chunk) = self.full.get_mut(number) else {
            self.sweep = None;
            return;
        };
        let end = chunk.len().min(at + SWEEP);
        for line in at..end {
            chunk.drop_unless(line, &is_live);
        }
        self.sweep = Some((number, end));
        if end == chunk.len() {
            self.close_up(number);
        }
    }

    /// Drops the dead lines of a chunk, and joins it with the one before if there is room.
    fn close_up(&mut self, number: usize) {
        let chunk = &mut self.full[number];
        self.settled -= chunk.len();
        let here = chunk.close_up();
        self.settled += here;
        let before = number.checked_sub(1).filter(|&before| self.full[before].has_room(&self.full[number]));
        if here > 0 && before.is_none() {
            self.sweep = Some((number + 1, 0));
            return;
        }
        self.sweep = Some((number, 0));
        let Some(emptied) = self.full.remove(number) else { return };
        if let (Some(before), 1..) = (before, here) {
            self.full[before].append(&emptied);
        }
        // A spare chunk that there is no room to remember is given back.
        if self.spare.try_reserve(1).is_ok() {
            self.spare.push_back(emptied);
        }
    }
}

impl Dropped for Log {
    fn bytes(&self) -> u64 {
        let chunks = self.full.len() + self.spare.len();
        let words = self.tail.capacity() + chunks * LINES;
        let places = self.full.capacity() + self.spare.capacity();
        (words * size_of::<Word>() + places * size_of::<Chunk>()) as u64
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.full.pop_back().or_else(|| self.spare.pop_back()).is_some())
    }
}

/// Lines from one on. Mostly the next few are asked for: what the standard library makes of two loops takes longer to
/// begin than they do.
#[derive(Clone)]
pub(super) struct Since<'a> {
    log: &'a Log,
    /// Words of messages in a row, and the number of the first.
    row: &'a [Word],
    seq: u64,
    /// What is behind those: the rest of a chunk that was swept, from a line on.
    lines: Lines<'a>,
    line: usize,
    /// Of the next chunk; the tail is that behind the last.
    chunk: usize,
}

impl Iterator for Since<'_> {
    type Item = (u64, Ref);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Ref)> {
        while let Some((&word, row)) = self.row.split_first() {
            let seq = self.seq;
            (self.row, self.seq) = (row, seq + 2);
            if word != DEAD {
                return Some((seq, entry(word)));
            }
        }
        self.next_elsewhere()
    }
}

impl Since<'_> {
    #[inline(never)]
    fn next_elsewhere(&mut self) -> Option<(u64, Ref)> {
        loop {
            while self.line < self.lines.len() {
                self.line += 1;
                let line = self.lines.get(self.line - 1);
                if line.is_some() {
                    return line;
                }
            }
            if self.chunk > self.log.full.len() {
                return None;
            }
            self.enter(0);
            if !self.row.is_empty() {
                return self.next();
            }
        }
    }

    /// Goes on with a line of the next chunk.
    #[inline]
    fn enter(&mut self, line: usize) {
        let lines = self.log.full.get(self.chunk).map_or(self.log.tail(), Chunk::lines);
        self.chunk += 1;
        match lines.row(line) {
            Some((seq, row)) => {
                (self.seq, self.row, self.lines, self.line) = (seq, row, Lines::new(0, &[]), 0);
            }
            None => (self.row, self.lines, self.line) = (&[], lines, line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Spot;
    use super::*;

    fn entry(seq: u64) -> Ref {
        if seq % 3 == 0 { Ref::equal(seq as u32) } else { Ref::inline(Spot(seq as u32)) }
    }

    fn lines(log: &Log, seq: u64) -> Vec<u64> {
        let line = |(seq, found)| {
            assert_eq!(found, entry(seq));
            seq
        };
        log.since(seq).map(line).collect()
    }

    #[test]
    fn lines_are_found_before_and_after_sweeps() {
        let mut log = Log::default();
        let count = 20 * LINES as u64;
        log.clear(1000);
        let mut live: Vec<u64> = (0..count).map(|at| 1000 + 2 * at).collect();
        for &seq in &live {
            if !log.has_room() {
                log.make_room(usize::MAX / 4).unwrap();
            }
            assert!(log.push(entry(seq)));
        }
        // Nearly none left of some chunks, nearly all of others, nothing of one.
        for share in [1, 2, 3, 5, 40] {
            let is_live = |seq: u64| match seq / 2 / LINES as u64 % 4 {
                0 => seq % (2 * share) == 0,
                1 => seq % (2 * share) != 0 || share == 1,
                2 => share == 1,
                _ => seq % 7 < 6,
            };
            live.retain(|&seq| is_live(seq) || seq >= log.base);
            let before = log.len();
            log.sweep = Some((0, 0));
            while log.is_sweeping() {
                log.tend(|seq, found| {
                    assert_eq!(found, entry(seq));
                    is_live(seq)
                });
            }
            assert_eq!(lines(&log, 0), live, "share {share}");
            assert!(log.len() <= before && log.len() <= 2 * live.len() + 2 * LINES, "{} lines", log.len());
            for since in (900..1000 + 2 * count + 100).step_by(if cfg!(miri) { 7007 } else { 77 }) {
                let expected: Vec<u64> = live.iter().copied().filter(|&seq| seq >= since).collect();
                assert_eq!(lines(&log, since), expected, "share {share}, since {since}");
                let found = live.binary_search(&since).is_ok().then(|| entry(since));
                assert_eq!(log.find(since), found, "share {share}, {since}");
            }
        }
        let (bytes, seq) = (log.bytes(), live[0]);
        log.replace(seq, Ref::equal(7));
        assert_eq!(log.find(seq), Some(Ref::equal(7)));
        log.clear(1 << 40);
        assert_eq!((log.len(), log.bytes() <= bytes + 4096), (0, true), "chunks are kept");
        assert!(log.has_room() && log.push(entry(1 << 40)));
        assert_eq!(lines(&log, 0), [1 << 40]);
    }
}
