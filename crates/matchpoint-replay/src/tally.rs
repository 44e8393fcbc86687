//! Counters of the simulation.

use std::collections::BTreeMap;

use matchpoint_trace::Function;
use matchpoint_trace::call::{Peer, ReceiveArgs, SendArgs, TagArg};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::label::Label;
use crate::measurements::{CommunicationMatrix, SiteReceives, Totals};
use crate::process::Process;
use crate::rank_summary::by_function;
use crate::status_envelope::StatusEnvelope;

const MATRIX_CELLS: u32 = 128;

const TAGS_MAX: usize = 1 << 17;

const TAGS_REPORTED: usize = 32;

pub(crate) struct Tally {
    pub totals: Totals,
    pub ended_calls: BTreeMap<&'static str, u64>,
    pub made_up_messages: u64,
    pub lost_messages: u64,
    pub arrivals_moved: u64,
    pub arrivals_outside: u64,
    pub unexplained_ranks: u64,
    pub ranks: Vec<RankTally>,
    pub messages_by_context: Vec<u64>,
    pub matrix: CommunicationMatrix,
    /// Matrix row of each rank: a division would take longer than the rest of a count.
    row_of: Vec<u8>,
    pub end_ns: i64,
    late: Vec<u64>,
    posted: Vec<u64>,
    /// Process and call site of the current call; call site 0 is unknown.
    calling: (u32, u64),
    site_of: FxHashMap<(u32, u64), u32>,
    pub sites: Vec<(u32, u64, SiteReceives)>,
    tags: FxHashMap<i32, u64>,
    /// The last tag, and its consecutive sends.
    recent_tag: (i32, u64),
}

#[derive(Default)]
pub(crate) struct RankTally {
    pub sends: u64,
    pub lost_peers: FxHashSet<u32>,
}

impl Tally {
    pub fn new(world: u32, processes: usize, communicators: usize) -> Self {
        let ranks_per_cell = world.div_ceil(MATRIX_CELLS).max(1);
        let cells = world.div_ceil(ranks_per_cell);
        let area = (cells as usize).pow(2);
        Tally {
            totals: Totals { tags_exact: true, ..Totals::default() },
            ended_calls: BTreeMap::new(),
            made_up_messages: 0,
            lost_messages: 0,
            arrivals_moved: 0,
            arrivals_outside: 0,
            unexplained_ranks: 0,
            ranks: (0..processes).map(|_| RankTally::default()).collect(),
            messages_by_context: vec![0; communicators],
            matrix: CommunicationMatrix {
                ranks_per_cell,
                cells,
                messages: vec![0; area],
                bytes: vec![0; area],
            },
            row_of: (0..world).map(|rank| (rank / ranks_per_cell) as u8).collect(),
            end_ns: 0,
            late: vec![0; Function::ALL.len()],
            posted: vec![0; Function::ALL.len()],
            calling: (0, 0),
            site_of: FxHashMap::default(),
            sites: Vec::new(),
            tags: FxHashMap::default(),
            recent_tag: (0, 0),
        }
    }

    pub fn count_send(&mut self, process: usize, from: u32, to: Option<u32>, context: u32, args: &SendArgs) {
        self.totals.sends += 1;
        self.ranks[process].sends += 1;
        self.messages_by_context[context as usize] += 1;
        match args.bytes {
            Some(bytes) => self.totals.bytes += bytes,
            None => self.totals.sends_without_size += 1,
        }
        self.count_tag(args.tag);
        if let Some(to) = to {
            let row = |rank: u32| usize::from(self.row_of[rank as usize]);
            let cell = row(from) * self.matrix.cells as usize + row(to);
            self.matrix.messages[cell] += 1;
            self.matrix.bytes[cell] += args.bytes.unwrap_or(0);
        }
    }

    pub fn count_lost(&mut self, process: usize, to: Option<u32>) {
        self.lost_messages += 1;
        self.ranks[process].lost_peers.extend(to);
    }

    fn count_tag(&mut self, tag: i32) {
        if self.recent_tag.0 == tag {
            self.recent_tag.1 += 1;
            return;
        }
        let (before, sends) = std::mem::replace(&mut self.recent_tag, (tag, 1));
        self.count_tags(before, sends);
    }

    fn count_tags(&mut self, tag: i32, sends: u64) {
        if sends == 0 {
            return;
        }
        self.totals.tag_max = self.totals.tag_max.max(Some(tag));
        if self.tags.len() < TAGS_MAX {
            *self.tags.entry(tag).or_insert(0) += sends;
        } else if let Some(count) = self.tags.get_mut(&tag) {
            *count += sends;
        } else {
            self.totals.tags_exact = false;
        }
    }

    #[inline]
    pub fn set_call(&mut self, process: usize, site: u64) {
        self.calling = (process as u32, site);
    }

    pub fn count_receive(&mut self, function: Function, selector: Label, late: bool) -> u32 {
        self.totals.receives += 1;
        self.posted[function as usize] += 1;
        self.late[function as usize] += u64::from(late);
        let wildcards = &mut self.totals.wildcards;
        *match (selector.is_any_source(), selector.is_any_tag()) {
            (false, false) => &mut wildcards.none,
            (true, false) => &mut wildcards.any_source,
            (false, true) => &mut wildcards.any_tag,
            (true, true) => &mut wildcards.both,
        } += 1;
        if self.calling.1 == 0 { 0 } else { self.count_at_site(selector, late) }
    }

    #[cold]
    fn count_at_site(&mut self, selector: Label, late: bool) -> u32 {
        let (process, address) = self.calling;
        let number = *self.site_of.entry(self.calling).or_insert_with(|| {
            self.sites.push((process, address, SiteReceives::default()));
            self.sites.len() as u32
        });
        let counts = &mut self.sites[number as usize - 1].2;
        counts.posted += 1;
        counts.late += u64::from(late);
        counts.any_source += u64::from(selector.is_any_source());
        counts.any_tag += u64::from(selector.is_any_tag());
        number
    }

    pub fn count_probe(&mut self, args: &ReceiveArgs, found: bool) {
        let totals = &mut self.totals;
        totals.probes_any_source += u64::from(args.source == Peer::Any);
        totals.probes_any_tag += u64::from(args.tag == TagArg::Any);
        *if found { &mut totals.probes_found } else { &mut totals.probes_missed } += 1;
    }

    pub fn compare_envelope(
        &mut self,
        selector: Label,
        expected: Option<StatusEnvelope>,
        got: Option<(u32, i32)>,
    ) {
        if selector.is_exact() {
            return;
        }
        if let (Some(expected), Some(got)) = (expected, got) {
            self.compare_status(expected, StatusEnvelope::from_envelope(got));
        }
    }

    pub fn compare_status(&mut self, expected: StatusEnvelope, got: StatusEnvelope) {
        if let (Some(_), Some(_)) = (expected.source(), expected.tag()) {
            self.totals.recorded_wildcards += 1;
            self.totals.reproduced_wildcards += u64::from(expected == got);
        }
    }

    pub fn count_ended_call(&mut self, reason: &'static str) {
        *self.ended_calls.entry(reason).or_insert(0) += 1;
    }

    pub fn finish(&mut self, processes: &[Process<'_>]) {
        let totals = &mut self.totals;
        totals.unmatched_receives = processes.iter().map(|process| process.matcher.posted_len() as u64).sum();
        totals.unmatched_messages =
            processes.iter().map(|process| process.matcher.unexpected_len() as u64).sum();
        self.unexplained_ranks =
            processes.iter().filter(|process| process.has_unresolved_comm).count() as u64;
        let lanes = processes.iter().flat_map(|process| &process.lanes);
        self.end_ns = lanes.map(|lane| lane.now_ns).max().unwrap_or(0);
        self.compute_totals();
    }

    pub fn compute_totals(&mut self) {
        let (tag, sends) = std::mem::take(&mut self.recent_tag);
        self.count_tags(tag, sends);
        let totals = &mut self.totals;
        totals.tags_unique = self.tags.len() as u64;
        let mut tags: Vec<(i32, u64)> = std::mem::take(&mut self.tags).into_iter().collect();
        tags.sort_unstable_by_key(|&(tag, sends)| (std::cmp::Reverse(sends), tag));
        tags.truncate(TAGS_REPORTED);
        totals.sends_per_tag = tags;
        totals.late_by_function = by_function(&self.late);
        totals.posted_by_function = by_function(&self.posted);
    }
}
