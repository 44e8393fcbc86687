//! Estimate of the search time in each call of the traced MPI library.
//!
//! An attempt costs ten times as much with cold caches as with warm caches. The recorded durations of calls,
//! less their time with empty queues, narrow this range:
//!
//! * A receive or a probe searches within its call.
//! * A message is matched in the call during which it arrives, or later: not every call makes progress. A
//!   call that completes a receive has matched all messages that arrived before.
//! * A message that a call waited for was matched between its arrival and the end of the call.
//! * A call that took many times as long as its searches has waited, so the estimate is the geometric mean of
//!   the range.
//!
//! A measured burst is the reference for calls that wait for many messages.

use std::collections::VecDeque;

use matchpoint::{Selector, Wild};
use matchpoint_trace::SearchCost;

use crate::batch::SortedChunk;
use crate::library_cost::{Curve, LibraryCost, SearchTime};
use crate::step::{CallEnd, Kind, Step};

const WAITED: f64 = 8.0;

pub(crate) struct CallCosts {
    named: LibraryCost,
    any: LibraryCost,
    crowding: f64,
    ranks: Vec<RankCosts>,
}

#[derive(Default)]
struct RankCosts {
    rank: u32,
    ends: VecDeque<(u64, CallEnd)>,
    received: u64,
    played: u64,
    receives: u64,
    any_source: u64,
    open: CallSearches,
    deferred: DeferredMessages,
    sum: SearchTime,
}

/// Messages that the previous calls were too short to match.
#[derive(Clone, Copy, Default)]
struct DeferredMessages {
    messages: f64,
    transferred_ns: f64,
    search_ns: f64,
}

#[derive(Clone, Copy, Default)]
struct CallSearches {
    low_ns: f64,
    requested_ns: f64,
    arrived_ns: f64,
    /// Time of the calls with empty queues, without messages of other processes.
    empty_ns: f64,
    messages: u64,
    /// Arrival time of the last message, and its maximum search time.
    last: Option<(i64, f64)>,
}

impl CallCosts {
    pub fn new(measured: &[SearchCost], ranks: &[u32], crowding: f64) -> Option<Self> {
        let (named, any) = (LibraryCost::of(measured, 0.0)?, LibraryCost::of(measured, 1.0)?);
        let ranks = ranks.iter().map(|&rank| RankCosts { rank, ..RankCosts::default() }).collect();
        Some(CallCosts { named, any, crowding: crowding.max(1.0), ranks })
    }

    pub fn receive(&mut self, chunk: &SortedChunk) {
        for &(before, end) in chunk.ends() {
            let rank = &mut self.ranks[end.process as usize];
            rank.ends.push_back((rank.received + u64::from(before), end));
        }
        for (process, rank) in self.ranks.iter_mut().enumerate() {
            rank.received += chunk.steps_of(process).len() as u64;
        }
    }

    pub fn add(&mut self, process: usize, step: &Step, compared: u64) {
        self.end_calls(process);
        let rank = &mut self.ranks[process];
        rank.played += 1;
        let cost = |is_any: bool| if is_any { &self.any } else { &self.named };
        match &step.kind {
            Kind::Post { receive, .. } => {
                let is_any = is_any_source(&receive.selector);
                rank.receives += 1;
                rank.any_source += u64::from(is_any);
                rank.open.add(&cost(is_any).unexpected, compared);
            }
            Kind::Probe { selector, .. } | Kind::MatchedProbe { selector, .. } => {
                rank.open.add(&cost(is_any_source(selector)).unexpected, compared);
            }
            Kind::Arrive { from, .. } => {
                let share = rank.any_source as f64 / rank.receives.max(1) as f64;
                let (named, any) = (self.named.posted.search(compared), self.any.posted.search(compared));
                let mixed = |named: f64, any: f64| named * (1.0 - share) + any * share;
                let high_ns = mixed(named.1, any.1);
                rank.open.low_ns += mixed(named.0, any.0);
                rank.open.arrived_ns += high_ns;
                if *from == rank.rank {
                    rank.open.empty_ns += self.named.posted.empty_ns;
                } else {
                    rank.open.messages += 1;
                }
                rank.open.last = Some((step.at_ns, high_ns));
            }
            Kind::Cancel { .. } | Kind::Retract { .. } => {}
        }
    }

    pub fn search_time(&self, process: usize) -> SearchTime {
        let rank = &self.ranks[process];
        let mut sum = rank.sum;
        if rank.open.high_ns() > 0.0 {
            sum.low_ns += rank.open.low_ns;
            sum.likely_ns += (rank.open.low_ns * rank.open.high_ns()).sqrt();
            sum.high_ns += rank.open.high_ns();
        }
        SearchTime { likely_ns: sum.likely_ns.max(sum.low_ns), ..sum }
    }

    pub fn finish(&mut self) {
        (0..self.ranks.len()).for_each(|process| self.end_calls(process));
    }

    fn end_calls(&mut self, process: usize) {
        let rank = &mut self.ranks[process];
        while rank.ends.front().is_some_and(|(before, _)| *before <= rank.played) {
            if let Some((_, end)) = rank.ends.pop_front() {
                rank.end(&end, &self.named, self.crowding);
            }
            if rank.ends.is_empty() {
                rank.ends = VecDeque::new(); // frees its capacity
            }
        }
    }
}

fn is_any_source(selector: &Selector) -> bool {
    matches!(selector.source(), Wild::Any)
}

impl RankCosts {
    fn end(&mut self, end: &CallEnd, cost: &LibraryCost, crowding: f64) {
        let searches = std::mem::take(&mut self.open);
        self.sum.low_ns += searches.low_ns;
        self.sum.high_ns += searches.high_ns();
        let deferred = std::mem::take(&mut self.deferred);
        let messages = deferred.messages + searches.messages as f64;
        let transfer_ns = (cost.burst_ns(messages) - deferred.transferred_ns).max(0.0);
        let called_ns = (f64::from(end.took_ns) - searches.empty_ns).max(0.0);
        let available_ns = (called_ns - transfer_ns).max(0.0);
        let requested_ns = searches.requested_ns * crowding;
        let due_ns = deferred.search_ns + searches.arrived_ns * crowding * searches.part_in(end);
        if available_ns > WAITED * (requested_ns + searches.arrived_ns * crowding + deferred.search_ns) {
            self.sum.likely_ns += (requested_ns + due_ns) * self.mean_part();
            return;
        }
        let is_bounded = requested_ns + due_ns > available_ns;
        let requested_ns = requested_ns.min(available_ns);
        let arrived_ns = due_ns.min(available_ns - requested_ns);
        self.sum.likely_ns += requested_ns + arrived_ns;
        if is_bounded {
            self.sum.bounded_ns += requested_ns + arrived_ns;
        }
        if end.completes_receive {
            return;
        }
        if available_ns == 0.0 {
            self.deferred = DeferredMessages {
                messages,
                transferred_ns: deferred.transferred_ns + called_ns,
                search_ns: due_ns,
            };
        } else if arrived_ns < due_ns {
            let messages = messages * (1.0 - arrived_ns / due_ns);
            self.deferred = DeferredMessages {
                messages,
                transferred_ns: cost.burst_ns(messages),
                search_ns: due_ns - arrived_ns,
            };
        }
    }

    fn mean_part(&self) -> f64 {
        if self.sum.high_ns > 0.0 { (self.sum.low_ns / self.sum.high_ns).sqrt() } else { 0.0 }
    }
}

impl CallSearches {
    fn add(&mut self, curve: &Curve, compared: u64) {
        let (low_ns, high_ns) = curve.search(compared);
        self.low_ns += low_ns;
        self.requested_ns += high_ns;
        self.empty_ns += curve.empty_ns;
    }

    fn high_ns(&self) -> f64 {
        self.requested_ns + self.arrived_ns
    }

    /// Fraction of the last message's maximum search time for which the call had time.
    fn part_in(&self, end: &CallEnd) -> f64 {
        match self.last {
            Some((arrived_ns, most_ns)) if end.waited_until_ns != CallEnd::NO_WAIT && most_ns > 0.0 => {
                ((end.waited_until_ns - arrived_ns) as f64 / most_ns).clamp(0.0, 1.0)
            }
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, RecvId, Tag};
    use matchpoint_trace::{BurstCost, EntryCost};

    use super::*;

    fn costs() -> CallCosts {
        let cost = Some(EntryCost { warm_ns: vec![1.0; 2], cold_ns: 10.0, empty_ns: 100.0 });
        let measured = SearchCost {
            pairs: 1,
            same_host: true,
            lengths: vec![16, 1024],
            posted: cost.clone(),
            posted_any: cost.clone(),
            unexpected: cost.clone(),
            unexpected_any: cost,
            bursts: Vec::new(),
            ring_message_ns: 0.0,
        };
        CallCosts::new(&[measured], &[5], 1.0).unwrap()
    }

    fn envelope() -> Envelope {
        Envelope::new(ContextId(0), Rank(0), Tag(0))
    }

    fn post() -> Step {
        let receive = Receive::new(RecvId::new(0, 0), Selector::exactly(&envelope()));
        Step { at_ns: 0, kind: Kind::Post { receive, took: None }, site: 0 }
    }

    fn arrive(at_ns: i64) -> Step {
        arrive_from(0, at_ns)
    }

    fn arrive_from(from: u32, at_ns: i64) -> Step {
        let message = Message::new(MsgId::new(0, 0), envelope());
        Step { at_ns, kind: Kind::Arrive { message, from, took: None }, site: 0 }
    }

    fn play(steps: &[Result<(Step, u64), CallEnd>]) -> SearchTime {
        let mut costs = costs();
        for step in steps {
            match step {
                Ok((step, compared)) => costs.add(0, step, *compared),
                Err(end) => {
                    let played = costs.ranks[0].played;
                    costs.ranks[0].ends.push_back((played, *end));
                }
            }
        }
        costs.finish();
        costs.search_time(0)
    }

    fn end(took_ns: u32) -> Result<(Step, u64), CallEnd> {
        Err(CallEnd { process: 0, took_ns, completes_receive: false, waited_until_ns: CallEnd::NO_WAIT })
    }

    #[test]
    fn call_duration_narrows_search_time() {
        let likely = |took_ns| play(&[Ok((post(), 100)), end(took_ns)]).likely_ns;
        assert_eq!([50, 150, 500, 5000].map(likely), [100.0, 100.0, 400.0, 1000.0]);
        assert_eq!(likely(50_000), 100_000f64.sqrt());
        let sum = play(&[Ok((post(), 100)), end(500)]);
        assert_eq!((sum.low_ns, sum.high_ns), (100.0, 1000.0));
    }

    #[test]
    fn only_short_call_bounds_search_time() {
        let bounded = |took_ns| play(&[Ok((post(), 100)), end(took_ns)]).bounded_ns;
        assert_eq!([50, 500, 5000, 50_000].map(bounded), [0.0, 400.0, 0.0, 0.0]);
    }

    #[test]
    fn later_call_searches_for_message() {
        let arrived = [Ok((arrive(0), 100)), end(400), end(500)];
        assert_eq!(play(&arrived).likely_ns, 800.0);
        let posted = [Ok((post(), 100)), end(400), end(500)];
        assert_eq!(play(&posted).likely_ns, 300.0);
    }

    #[test]
    fn completed_receive_leaves_no_search() {
        let likely = |completes_receive| {
            let waits =
                CallEnd { process: 0, took_ns: 400, completes_receive, waited_until_ns: CallEnd::NO_WAIT };
            play(&[Ok((arrive(0), 100)), Err(waits), end(500)]).likely_ns
        };
        assert_eq!((likely(false), likely(true)), (800.0, 300.0));
    }

    #[test]
    fn transfer_time_is_not_search_time() {
        let likely_from = |from, calls: &[u32]| {
            let mut costs = costs();
            costs.named.bursts = vec![BurstCost { messages: 2, message_ns: 1000.0 }];
            costs.add(0, &arrive_from(from, 0), 100);
            costs.add(0, &arrive_from(from, 0), 100);
            for &took_ns in calls {
                let end = CallEnd {
                    process: 0,
                    took_ns,
                    completes_receive: false,
                    waited_until_ns: CallEnd::NO_WAIT,
                };
                costs.ranks[0].ends.push_back((2, end));
            }
            costs.finish();
            costs.search_time(0).likely_ns
        };
        let likely = |calls| likely_from(0, calls);
        assert_eq!([likely(&[2500]), likely(&[1500, 1000]), likely(&[5000])], [500.0, 500.0, 2000.0]);
        assert_eq!(likely_from(5, &[1500]), 1300.0, "a message to the rank itself is not transferred");
    }

    #[test]
    fn waiting_time_is_not_search_time() {
        let waited = |waits| {
            let waited_until_ns = if waits { 1_900 } else { CallEnd::NO_WAIT };
            let end = CallEnd { process: 0, took_ns: 1_900, completes_receive: false, waited_until_ns };
            play(&[Ok((arrive(1_700), 100)), Err(end)]).likely_ns
        };
        assert_eq!((waited(true), waited(false)), (200.0, 1000.0));
    }

    #[test]
    fn steps_without_calls_cost_geometric_mean() {
        let sum = play(&[Ok((post(), 100))]);
        assert!((sum.likely_ns - 100.0 * 10f64.sqrt()).abs() < 1e-9, "{}", sum.likely_ns);
    }
}
