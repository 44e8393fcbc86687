//! The search of the log, which compares 64 messages at a time.

use super::key::{Class, Pattern};
use super::log::{Block, LANE, Log};
use crate::scan::{Lanes, Search};

impl Log {
    /// The first message that a pattern accepts, from age `from` on, and the number of messages compared.
    pub(super) fn search(&self, pattern: &Pattern, from: u64) -> (Option<u64>, u64) {
        let mut scan = Scan { log: self, pattern, from, compared: 0 };
        let found = if self.len > 0 { self.kernel.run(&mut scan) } else { None };
        (found, scan.compared)
    }
}

/// Parameters of a log search, for any instruction set.
struct Scan<'a> {
    log: &'a Log,
    pattern: &'a Pattern,
    from: u64,
    compared: u64,
}

impl Search for Scan<'_> {
    type Found = Option<u64>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<u64> {
        for (number, block, waiting) in self.log.blocks_from(self.from) {
            let mut hits = candidates(lanes, block, self.pattern, waiting);
            while hits != 0 {
                let lane = hits.trailing_zeros();
                if self.pattern.accepts(block.key(lane as usize)) {
                    self.compared += u64::from((waiting & u64::MAX >> (63 - lane)).count_ones());
                    return Some(u64::from(number) * LANE + u64::from(lane));
                }
                hits &= hits - 1;
            }
            self.compared += u64::from(waiting.count_ones());
        }
        None
    }
}

/// Returns the lanes of `hits` that a pattern may accept. Compares more columns only while several lanes are
/// left.
#[inline(always)]
fn candidates<L: Lanes>(lanes: L, block: &Block, pattern: &Pattern, mut hits: u64) -> u64 {
    let [lows, highs, sources, contexts] = &block.columns;
    let Pattern { key, class: Class { source, ignore } } = *pattern;
    let (low, high) = (!ignore as u32, (!ignore >> 32) as u32);
    let has_several = |hits: u64| hits & hits.wrapping_sub(1) != 0;
    if low != 0 {
        hits &= lanes.equal_u32_under(lows, low, key.tag as u32);
    }
    if source == 0 && has_several(hits) {
        hits &= lanes.equal_u32(sources, key.pair as u32);
    }
    if high != 0 && has_several(hits) {
        hits &= lanes.equal_u32_under(highs, high, (key.tag >> 32) as u32);
    }
    if has_several(hits) {
        hits &= lanes.equal_u32(contexts, (key.pair >> 32) as u32);
    }
    hits
}
