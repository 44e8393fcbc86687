//! Simulation of all ranks together: times of calls and arrivals.
//!
//! Each process has a clock. The process with the earliest call or arrival continues, and may advance beyond
//! the others by the network latency, because no message can arrive sooner. Therefore the arrivals at every
//! process are in order of time. If all processes wait, the simulation [ends](stall) a call of one process,
//! because the traced program finished.

mod call;
mod collective;
mod completion;
mod interval;
mod message;
mod stall;

use std::sync::atomic::Ordering::Relaxed;

use matchpoint_trace::Trace;
use rustc_hash::FxHashMap;

use crate::ReplayError;
use crate::arrivals::Arrivals;
use crate::clocks::Clocks;
use crate::communicators::{Communicators, Context};
use crate::entries::MessageRecord;
use crate::loggp::Delays;
use crate::matcher::Matcher;
use crate::proc_null::NullReceives;
use crate::process::Process;
use crate::progress::Progress;
use crate::recorded_arrivals::RecordedArrivals;
use crate::schedule::{NEVER, Schedule};
use crate::slab::Slab;
use crate::step::StepSink;
use crate::tally::Tally;

use collective::CollectiveCall;

const TURNS_PER_REPORT: u64 = 4096;

pub(crate) struct Setting<'a> {
    pub communicators: &'a Communicators,
    pub clocks: &'a Clocks,
    pub null_receives: &'a [NullReceives],
    pub arrivals: Arrivals,
    /// Recorded times limit arrivals, because all ranks have one clock.
    pub intervals: bool,
    pub loggp: Delays,
    pub world: u32,
}

pub(crate) struct Simulation<'t, S> {
    setting: &'t Setting<'t>,
    processes: Vec<Process<'t>>,
    has_missing_ranks: bool,
    present: Vec<Option<u32>>,
    records: Slab<MessageRecord>,
    pending_collectives: FxHashMap<(Context, u32), CollectiveCall>,
    schedule: Schedule,
    current: usize,
    others_ns: i64,
    own_ns: i64,
    sequence: u64,
    sink: S,
    tally: Tally,
}

impl<'t, S: StepSink> Simulation<'t, S> {
    pub fn new(trace: &'t dyn Trace, setting: &'t Setting<'t>, sink: S) -> Result<Self, ReplayError> {
        let mut present = vec![None; setting.world as usize];
        let mut processes = Vec::new();
        for (index, &rank) in trace.present().iter().enumerate() {
            present[rank as usize] = Some(index as u32);
            let mut process = Process::new(rank, trace.rank(rank)?, Matcher::new(), trace.present().len());
            if setting.arrivals == Arrivals::Recorded {
                process.recorded_arrivals =
                    Some(RecordedArrivals::of(trace, rank)?.ok_or(ReplayError::NoArrivals)?);
            }
            processes.push(process);
        }
        Ok(Simulation {
            setting,
            tally: Tally::new(setting.world, processes.len(), setting.communicators.all.len()),
            schedule: Schedule::new(processes.len()),
            current: usize::MAX,
            others_ns: NEVER,
            own_ns: NEVER,
            has_missing_ranks: processes.len() < present.len() || setting.communicators.has_external_members,
            processes,
            present,
            records: Slab::default(),
            pending_collectives: FxHashMap::default(),
            sequence: 0,
            sink,
        })
    }

    pub fn run(mut self, progress: &Progress) -> Result<(S, Tally), ReplayError> {
        for index in 0..self.processes.len() {
            self.begin(index)?;
        }
        let (mut turns, mut reported) = (0u64, (0, 0));
        loop {
            loop {
                let (at_ns, index) = self.schedule.earliest();
                if at_ns == NEVER {
                    break;
                }
                self.current = index;
                self.schedule.take(index);
                self.others_ns = self.schedule.earliest().0;
                self.own_ns = NEVER;
                let due_ns = self.turn(index)?;
                self.schedule.pull_forward(index, due_ns);
                turns += 1;
                if turns % TURNS_PER_REPORT == 0 {
                    reported = self.report(progress, reported);
                    if progress.stopped() {
                        return Err(ReplayError::Stopped);
                    }
                }
            }
            self.current = usize::MAX;
            if !self.resolve_stall() {
                break;
            }
        }
        self.report(progress, reported);
        (0..self.processes.len()).for_each(|index| self.end_call(index));
        self.tally.finish(&self.processes);
        Ok((self.sink, self.tally))
    }

    fn begin(&mut self, index: usize) -> Result<(), ReplayError> {
        self.processes[index].read_next_calls()?;
        if self.setting.arrivals.uses_recorded_times() {
            let clocks = self.setting.clocks;
            let process = &mut self.processes[index];
            for lane in &mut process.lanes {
                lane.now_ns = clocks.common(index, lane.left_ns);
            }
        }
        let first_ns = self.processes[index].lanes.iter().map(|lane| lane.now_ns).min();
        self.schedule(index, first_ns.unwrap_or(NEVER));
        Ok(())
    }

    fn report(&self, progress: &Progress, (bytes, calls): (u64, u64)) -> (u64, u64) {
        let now_bytes = self.processes.iter().map(Process::position).sum::<u64>();
        let now_calls = self.processes.iter().map(|process| process.calls).sum::<u64>();
        progress.bytes.fetch_add(now_bytes - bytes, Relaxed);
        progress.calls.fetch_add(now_calls - calls, Relaxed);
        (now_bytes, now_calls)
    }

    fn schedule(&mut self, index: usize, at_ns: i64) {
        if index == self.current {
            self.own_ns = self.own_ns.min(at_ns);
        } else if at_ns < self.schedule.due(index) {
            self.schedule.pull_forward(index, at_ns);
            self.others_ns = self.others_ns.min(at_ns);
        }
    }

    fn turn(&mut self, index: usize) -> Result<i64, ReplayError> {
        let lookahead = self.setting.loggp.lookahead();
        loop {
            let process = &mut self.processes[index];
            let (lane, call_ns) = if process.is_blocked() {
                (0, NEVER)
            } else {
                process.read_next_calls()?;
                next_call(self.setting, index, process)
            };
            let arrival_ns = process.inbox.next_ns();
            let mut due_ns = call_ns.min(arrival_ns);
            let mut lookahead = lookahead;
            if self.setting.intervals {
                let deadline_ns = self.next_deadline(index);
                if deadline_ns < due_ns {
                    // All messages sent up to the deadline must be known.
                    (due_ns, lookahead) = (deadline_ns, 0);
                }
            }
            if due_ns == NEVER || due_ns > self.others_ns.min(self.own_ns).saturating_add(lookahead) {
                // The same process would also get the next turn.
                if due_ns != NEVER && self.own_ns < self.others_ns {
                    self.own_ns = NEVER;
                    continue;
                }
                return Ok(due_ns.min(self.own_ns));
            }
            if due_ns < call_ns.min(arrival_ns) {
                self.apply_deadline(index, due_ns);
            } else if call_ns < arrival_ns {
                self.make_call(index, lane, call_ns);
            } else {
                self.deliver_next(index);
            }
        }
    }

    fn next_number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

#[inline]
fn next_call(setting: &Setting<'_>, index: usize, process: &Process<'_>) -> (usize, i64) {
    let Some((at, call)) = process.next_call_to_enter() else { return (0, NEVER) };
    let lane = &process.lanes[at];
    let enter_ns = match setting.arrivals {
        by_clock if by_clock.uses_recorded_times() => {
            lane.now_ns.max(setting.clocks.common(index, call.enter_ns))
        }
        _ => lane.now_ns + (call.enter_ns - lane.left_ns).max(0),
    };
    (at, enter_ns.max(process.clock_ns))
}
