//! Stream of one rank: calls of its threads in the order of entry.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use super::clock::Timeline;
use super::cursor::Fault;
use super::decode::{Fields, Ids};
use super::facts::Facts;
use super::lane::{CallHead, Lane, TickedQueues};
use super::plan::Remark;
use crate::call::{Action, Call, CommId, NewComm};
use crate::error::TraceError;
use crate::trace::RankReader;

/// Maximum number of loaded blocks. With more threads, a thread's first block is unloaded until the stream
/// reads the block.
const LOADED_MAX: usize = 16;

pub(super) struct Stream<B> {
    bytes: B,
    path: PathBuf,
    facts: Arc<Facts>,
    time: Timeline,
    lanes: Vec<Lane>,
    ids: Ids,
    position: usize,
    queues: Option<TickedQueues>,
}

enum StopReason {
    Fault(usize, Fault),
    Error(TraceError),
}

impl From<TraceError> for StopReason {
    fn from(error: TraceError) -> Self {
        StopReason::Error(error)
    }
}

impl<B: Deref<Target = [u8]>> Stream<B> {
    pub fn new(path: PathBuf, bytes: B, facts: Arc<Facts>) -> Result<Self, TraceError> {
        Stream::after(path, bytes, facts, Ids::default())
    }

    /// Continues an earlier stream: `ids` has its communicators, requests and messages.
    pub fn after(path: PathBuf, bytes: B, facts: Arc<Facts>, ids: Ids) -> Result<Self, TraceError> {
        let time = Timeline::new(&facts.time, facts.head.clock.hz);
        let lanes = facts.threads.iter().map(|(&thread, &(first, _))| Lane::new(thread, first)).collect();
        let mut stream = Stream { bytes, path, facts, time, lanes, ids, position: 0, queues: None };
        let many = stream.lanes.len() > LOADED_MAX;
        for lane in (0..stream.lanes.len()).rev() {
            let is_present = stream.read_next(lane).map_err(|stop| stream.explain(stop))?;
            if !is_present {
                stream.lanes.remove(lane);
            } else if many {
                stream.lanes[lane].unload_block();
            }
        }
        Ok(stream)
    }

    #[inline]
    fn read_next(&mut self, lane: usize) -> Result<bool, StopReason> {
        let Stream { bytes, path, facts, lanes, queues, .. } = self;
        let of = &mut lanes[lane];
        let fault = |fault| StopReason::Fault(lane, fault);
        while of.next_call.is_none() && !of.read_next(bytes, &facts.plans, queues).map_err(fault)? {
            if !of.next_block(path, bytes, facts.good)? {
                return Ok(false);
            }
            self.position = self.position.max(of.position());
        }
        Ok(true)
    }

    #[inline]
    fn advance(&mut self, call: &mut Call) -> Result<bool, StopReason> {
        if self.lanes.is_empty() {
            return self.ended();
        }
        let lane = if self.lanes.len() == 1 { 0 } else { self.first() };
        let Stream { bytes, path, facts, time, lanes, ids, .. } = self;
        let of = &mut lanes[lane];
        let fault = |fault| StopReason::Fault(lane, fault);
        let Some(CallHead { function, enter, leave }) = of.next_call.take() else { return Ok(false) };
        of.reload_block(path, bytes)?;
        call.thread = of.thread;
        (call.enter_ns, call.leave_ns) = (time.ns(enter), time.ns(leave));
        call.offset = of.offset();
        let (mut cursor, last) = of.parts(bytes);
        let plan = &facts.plans[function as usize];
        Fields { cursor: &mut cursor, last, ids }.read(plan, call).map_err(fault)?;
        of.at = cursor.at;
        if is_remarked(call) {
            self.remark(lane, call)?;
        }
        if !self.read_next(lane)? {
            self.lanes.remove(lane);
        }
        Ok(true)
    }

    pub fn queues(&mut self) -> Option<(i64, [i64; 3])> {
        self.queues.take().map(|queues| (self.time.ns(queues.ticks), queues.lengths))
    }

    pub fn ns(&mut self, ticks: u64) -> i64 {
        self.time.ns(ticks)
    }

    pub fn into_ids(self) -> Ids {
        self.ids
    }

    fn first(&self) -> usize {
        let entered = |lane: &Lane| lane.next_call.map_or(u64::MAX, |next_call| next_call.enter);
        let first = self.lanes.iter().enumerate().min_by_key(|(at, lane)| (entered(lane), *at));
        first.map_or(0, |(at, _)| at)
    }

    #[cold]
    fn remark(&mut self, lane: usize, call: &mut Call) -> Result<(), StopReason> {
        let Stream { bytes, facts, lanes, ids, queues, .. } = self;
        let (fault, of) = (|fault| StopReason::Fault(lane, fault), &mut lanes[lane]);
        let Some(plan) = of.remark(bytes, &facts.plans, Remark::Members, queues).map_err(fault)? else {
            return Ok(());
        };
        let (mut cursor, last) = of.parts(bytes);
        let mut fields = Fields { cursor: &mut cursor, last, ids };
        fields.members(facts.head.size, call).map_err(fault)?;
        plan.skip_extra_fields(fields.cursor, fields.last).map_err(fault)?;
        of.at = cursor.at;
        Ok(())
    }

    fn ended(&mut self) -> Result<bool, StopReason> {
        self.position = self.bytes.len();
        if self.facts.has_damage {
            let problem = "no block here";
            let advice = "the file is damaged from here on: copy it again, or remove the file to analyze the other ranks";
            let error = TraceError::new(&self.path, problem, advice);
            return Err(StopReason::Error(error.at_offset(self.facts.good as u64)));
        }
        Ok(false)
    }

    #[cold]
    fn explain(&self, stop: StopReason) -> TraceError {
        let (lane, fault) = match stop {
            StopReason::Error(error) => return error,
            StopReason::Fault(lane, fault) => (&self.lanes[lane], fault),
        };
        let problem = match fault {
            Fault::Number => "is truncated, or has a number that is too large".to_owned(),
            Fault::Count(count) => format!("claims {count} elements, but the block ends before"),
            Fault::Function(index) => format!("has the function {index}, which the head does not list"),
            Fault::Status(status) => format!("has the invalid status {status}"),
        };
        let problem = format!("the call at byte {} of this block {problem}", lane.at);
        let advice =
            "report this error of the recorder with this file, or remove the file to analyze the other ranks";
        TraceError::new(&self.path, problem, advice).at_offset(lane.block as u64)
    }
}

#[inline]
fn is_remarked(call: &Call) -> bool {
    matches!(call.action, Action::CommCreate { how, comm, .. } if how != NewComm::Dup && comm != CommId::NULL)
}

impl<B: Deref<Target = [u8]> + Send> RankReader for Stream<B> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.advance(call).map_err(|stop| self.explain(stop))
    }

    fn position(&self) -> u64 {
        self.position as u64
    }
}
