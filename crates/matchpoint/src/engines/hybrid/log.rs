//! The order of arrival: every unexpected message in one line, those that were taken since included until a sweep
//! passes. Taking a message does not look here, so that a program without wildcards pays for one store.
//!
//! ```text
//! full   [ 256 entries ][ 256 entries ][ … ]   oldest first, swept a few entries at a time
//! tail   [ 37 entries ]                        where the next one goes
//! ```

use std::collections::VecDeque;

use super::entry::Ref;
use super::key::Spot;
use crate::engine::Refused;

/// Entries in a chunk: 3 KiB, so that the call which adds one rarely touches more than one page that was never
/// touched before (1.2 µs each on a virtual machine). The tail begins smaller.
const CHUNK: usize = 256;
const FIRST: usize = 32;

/// Dead entries that are not worth a sweep.
const SLACK: usize = 1024;

/// Entries looked at with each arrival while a sweep is on.
const SWEEP: usize = 4;

/// A message's number (its upper bit says whether it was placed as a twin) and what it is found by: 12 bytes.
#[derive(Clone, Copy, Default)]
struct Line {
    low: u32,
    high: u32,
    place: u32,
}

/// In `high`.
const TWIN: u32 = 1 << 31;
const DEAD: u32 = 1 << 30;

impl Line {
    #[inline]
    fn new(seq: u64, entry: Ref) -> Self {
        let (place, twin) = match entry.place() {
            Some(place) => (place, TWIN),
            None => (entry.spot().0, 0),
        };
        Line { low: seq as u32, high: (seq >> 32) as u32 | twin, place }
    }

    #[inline]
    fn seq(self) -> u64 {
        u64::from(self.high & (DEAD - 1)) << 32 | u64::from(self.low)
    }

    #[inline]
    fn entry(self) -> Ref {
        if self.high & TWIN != 0 { Ref::twin(self.place) } else { Ref::inline(Spot(self.place)) }
    }

    #[inline]
    fn is_dead(self) -> bool {
        self.high & DEAD != 0
    }
}

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Log {
    /// All of it is initialised, so that adding a line is a store behind one comparison.
    tail: Vec<Line>,
    used: usize,
    full: VecDeque<Vec<Line>>,
    spare: VecDeque<Vec<Line>>,
    /// Where the sweep stands: a full chunk and an entry of it.
    sweep: Option<(usize, usize)>,
    /// Lines in full chunks.
    settled: usize,
}

impl Log {
    /// Lines kept, dead or alive.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.settled + self.used
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let chunks = self.full.len() + self.spare.len();
        let lines = self.tail.capacity() + chunks * CHUNK;
        let places = self.full.capacity() + self.spare.capacity();
        (lines * size_of::<Line>() + places * size_of::<Vec<Line>>()) as u64
    }

    /// Whether there are entries to sweep.
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
        if self.tail.len() < CHUNK {
            let lines = usize::clamp(2 * self.tail.len(), FIRST, CHUNK);
            self.tail.try_reserve_exact(lines - self.tail.len()).map_err(|_| Refused::Memory)?;
            self.tail.resize(lines, Line::default());
            return Ok(());
        }
        self.full.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut next = match self.spare.pop_front() {
            Some(chunk) => chunk,
            None => {
                let mut chunk = Vec::new();
                chunk.try_reserve_exact(CHUNK).map_err(|_| Refused::Memory)?;
                chunk
            }
        };
        next.resize(CHUNK, Line::default());
        self.settled += CHUNK;
        self.full.push_back(std::mem::replace(&mut self.tail, next));
        self.used = 0;
        if self.sweep.is_none() && self.len() > 2 * live + SLACK {
            self.sweep = Some((0, 0));
        }
        Ok(())
    }

    /// Adds a line; false: there is no [room](Self::make_room).
    #[inline]
    pub(super) fn push(&mut self, seq: u64, entry: Ref) -> bool {
        let Some(line) = self.tail.get_mut(self.used) else { return false };
        *line = Line::new(seq, entry);
        self.used += 1;
        true
    }

    /// Forgets all lines, none of which is alive. False, and nothing done: there are full chunks to put away.
    #[inline]
    pub(super) fn restart(&mut self) -> bool {
        if self.settled == 0 {
            self.used = 0;
        }
        self.settled == 0
    }

    /// Forgets all lines: none is alive.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.used = 0;
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

    /// The lines from the oldest on that is no older than `seq`.
    pub(super) fn since(&self, seq: u64) -> impl Iterator<Item = (u64, Ref)> {
        let chunk = self.full.partition_point(|chunk| chunk.last().is_none_or(|last| last.seq() < seq));
        let lines = self.full.range(chunk..).map(Vec::as_slice).chain([&self.tail[..self.used]]);
        let older = move |lines: &[Line]| lines.partition_point(|line| line.seq() < seq);
        let lines = lines.flat_map(move |lines| {
            let first = lines.first().is_some_and(|first| first.seq() < seq);
            &lines[if first { older(lines) } else { 0 }..]
        });
        lines.filter(|line| !line.is_dead()).map(|line| (line.seq(), line.entry()))
    }

    /// What a message is found by. O(log lines).
    pub(super) fn find(&self, seq: u64) -> Option<Ref> {
        self.since(seq).next().filter(|&(found, _)| found == seq).map(|(_, entry)| entry)
    }

    /// Changes what a message is found by. O(log lines).
    pub(super) fn replace(&mut self, seq: u64, entry: Ref) {
        let chunk = self.full.partition_point(|chunk| chunk.last().is_none_or(|last| last.seq() < seq));
        let lines = match self.full.get_mut(chunk) {
            Some(lines) => lines,
            None => &mut self.tail[..self.used],
        };
        let at = lines.partition_point(|line| line.seq() < seq);
        if let Some(line) = lines.get_mut(at).filter(|line| line.seq() == seq) {
            *line = Line::new(seq, entry);
        }
    }

    /// Looks at some entries, and drops those of which `is_live` says no.
    pub(super) fn tend(&mut self, is_live: impl Fn(u64, Ref) -> bool) {
        let Some((chunk, at)) = self.sweep else { return };
        let Some(lines) = self.full.get_mut(chunk) else {
            self.sweep = None;
            return;
        };
        let end = lines.len().min(at + SWEEP);
        for line in &mut lines[at..end] {
            if !is_live(line.seq(), line.entry()) {
                line.high |= DEAD;
            }
        }
        self.sweep = Some((chunk, end));
        if end == lines.len() {
            self.close_up(chunk);
        }
    }

    /// Drops the dead lines of a chunk, and joins it with the one before if there is room.
    fn close_up(&mut self, chunk: usize) {
        let lines = &mut self.full[chunk];
        self.settled -= lines.len();
        lines.retain(|line| !line.is_dead());
        self.settled += lines.len();
        let here = lines.len();
        let joins = chunk > 0 && self.full[chunk - 1].len() + here <= CHUNK;
        if !joins && here > 0 {
            self.sweep = Some((chunk + 1, 0));
            return;
        }
        let mut emptied = self.full.remove(chunk).unwrap_or_default();
        if joins {
            self.full[chunk - 1].extend_from_slice(&emptied);
        }
        emptied.clear();
        self.sweep = Some((chunk, 0));
        // A spare chunk that there is no room to remember is given back.
        if self.spare.try_reserve(1).is_ok() {
            self.spare.push_back(emptied);
        }
    }
}
