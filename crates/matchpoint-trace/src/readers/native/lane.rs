//! Calls of one thread in a rank's file.

use std::path::Path;

use super::cursor::{Cursor, Fault};
use super::facts::Facts;
use super::plan::{LastHandles, Plan, Remark};
use super::unpack::{self, NextBlock, next};
use crate::error::TraceError;
use crate::native::block::{HEADER, Header, TIMES_HEADER, codec, kind};

#[derive(Clone, Copy, Debug)]
pub(super) struct CallHead {
    pub function: u32,
    pub enter: u64,
    pub leave: u64,
}

/// A remark with queue lengths, and its time in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickedQueues {
    pub ticks: u64,
    pub lengths: [i64; 3],
}

/// Position of the reader in the calls of a thread.
pub(super) struct Lane {
    pub thread: u16,
    next_block: usize,
    pub block: usize,
    /// Byte range of the content in the file, if the block is not compressed.
    stored: Option<(usize, usize)>,
    buffer: Vec<u8>,
    pub at: usize,
    until: usize,
    /// Position in the block's column of times. `None`: the times are in the calls.
    times: Option<usize>,
    ticks: u64,
    pub last: LastHandles,
    pub next_call: Option<CallHead>,
    is_unloaded: bool,
}

#[inline]
pub(super) fn content<'a>(stored: Option<(usize, usize)>, buffer: &'a [u8], file: &'a [u8]) -> &'a [u8] {
    match stored {
        Some((from, to)) => &file[from..to],
        None => buffer,
    }
}

fn times(content: &[u8]) -> Option<usize> {
    let (_, after) = content.first_chunk::<TIMES_HEADER>()?.split_last_chunk()?;
    let times = usize::try_from(u32::from_le_bytes(*after)).ok()?;
    (TIMES_HEADER..=content.len()).contains(&times).then_some(times)
}

impl Lane {
    pub fn new(thread: u16, first_block: usize) -> Self {
        Lane {
            thread,
            next_block: first_block,
            block: first_block,
            stored: None,
            buffer: Vec::new(),
            at: 0,
            until: 0,
            times: None,
            ticks: 0,
            last: LastHandles::default(),
            next_call: None,
            is_unloaded: false,
        }
    }

    #[inline]
    pub fn parts<'a>(&'a mut self, file: &'a [u8]) -> (Cursor<'a>, &'a mut LastHandles) {
        (Cursor::new(&content(self.stored, &self.buffer, file)[..self.until], self.at), &mut self.last)
    }

    /// Reads the head of the next call. Returns false at the end of the block.
    #[inline]
    pub fn read_next(
        &mut self,
        file: &[u8],
        plans: &[Plan],
        queues: &mut Option<TickedQueues>,
    ) -> Result<bool, Fault> {
        loop {
            let Some((next_call, plan)) = self.entry(file, plans)? else { return Ok(false) };
            if plan.remark.is_none() {
                self.next_call = Some(next_call);
                return Ok(true);
            }
            self.skip_remark(file, next_call, plan, queues)?;
        }
    }

    /// Fields of the next remark of this kind. Other remarks are skipped.
    pub fn remark<'p>(
        &mut self,
        file: &[u8],
        plans: &'p [Plan],
        wanted: Remark,
        queues: &mut Option<TickedQueues>,
    ) -> Result<Option<&'p Plan>, Fault> {
        loop {
            let Some((next_call, plan)) = self.entry(file, plans)? else { return Ok(None) };
            match plan.remark {
                None => {
                    self.next_call = Some(next_call);
                    return Ok(None);
                }
                Some(found) if found == wanted => return Ok(Some(plan)),
                Some(_) => self.skip_remark(file, next_call, plan, queues)?,
            }
        }
    }

    #[inline]
    fn entry<'p>(&mut self, file: &[u8], plans: &'p [Plan]) -> Result<Option<(CallHead, &'p Plan)>, Fault> {
        let content = content(self.stored, &self.buffer, file);
        let mut cursor = Cursor::new(&content[..self.until], self.at);
        if cursor.ended() {
            return Ok(None);
        }
        let function = cursor.unsigned()?;
        let plan = usize::try_from(function).ok().and_then(|function| plans.get(function));
        let plan = plan.ok_or(Fault::Function(function))?;
        let (after, took) = match &mut self.times {
            None => (cursor.unsigned()?, cursor.unsigned()?),
            Some(at) => {
                let mut times = Cursor::new(content, *at);
                let both = (times.unsigned()?, times.unsigned()?);
                *at = times.at;
                both
            }
        };
        self.ticks = self.ticks.wrapping_add(after);
        let leave = self.ticks.saturating_add(took);
        self.at = cursor.at;
        Ok(Some((CallHead { function: function as u32, enter: self.ticks, leave }, plan)))
    }

    #[cold]
    fn skip_remark(
        &mut self,
        file: &[u8],
        next_call: CallHead,
        plan: &Plan,
        queues: &mut Option<TickedQueues>,
    ) -> Result<(), Fault> {
        if plan.remark != Some(Remark::Queues) {
            return self.skip_fields(file, plan);
        }
        let (mut cursor, last) = self.parts(file);
        let lengths = [cursor.signed()?, cursor.signed()?, cursor.signed()?];
        plan.skip_extra_fields(&mut cursor, last)?;
        self.at = cursor.at;
        *queues = Some(TickedQueues { ticks: next_call.enter, lengths });
        Ok(())
    }

    fn skip_fields(&mut self, file: &[u8], plan: &Plan) -> Result<(), Fault> {
        let (mut cursor, last) = self.parts(file);
        plan.skip_fields(&mut cursor, last)?;
        self.at = cursor.at;
        Ok(())
    }

    /// Loads the thread's next block. Returns false without such a block before position `good`.
    pub fn next_block(&mut self, path: &Path, file: &[u8], good: usize) -> Result<bool, TraceError> {
        while self.next_block < good {
            let at = self.next_block;
            let NextBlock::Block(header) = next(file, at) else { return Ok(false) };
            self.next_block = at + HEADER + header.packed as usize;
            let apart = header.kind == kind::CALLS_THEN_TIMES;
            if header.thread != self.thread || !(apart || header.kind == kind::CALLS) {
                continue;
            }
            self.block = at;
            self.load(path, file, &header)?;
            let content = content(self.stored, &self.buffer, file);
            let Some(first) = content.first_chunk() else { continue };
            (self.ticks, self.last) = (u64::from_le_bytes(*first), LastHandles::default());
            (self.at, self.until, self.times) = (8, content.len(), None);
            if apart {
                let times = times(content).ok_or_else(|| {
                    let problem = "the times of the block's calls are not where it says";
                    TraceError::new(path, problem, unpack::ADVICE).at_offset(at as u64)
                })?;
                (self.at, self.until, self.times) = (TIMES_HEADER, times, Some(times));
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn load(&mut self, path: &Path, file: &[u8], header: &Header) -> Result<(), TraceError> {
        let packed = unpack::packed(path, file, self.block, header)?;
        let from = self.block + HEADER;
        self.stored = (header.codec == codec::STORED).then_some((from, from + packed.len()));
        if self.stored.is_none() {
            unpack::into(&mut self.buffer, path, packed, self.block, header)?;
        }
        Ok(())
    }

    /// Frees the content of the block until [`reload_block`](Self::reload_block).
    pub fn unload_block(&mut self) {
        (self.buffer, self.is_unloaded) = (Vec::new(), true);
    }

    #[inline]
    pub fn reload_block(&mut self, path: &Path, file: &[u8]) -> Result<(), TraceError> {
        if !self.is_unloaded {
            return Ok(());
        }
        self.is_unloaded = false;
        match next(file, self.block) {
            NextBlock::Block(header) => self.load(path, file, &header),
            _ => Ok(()),
        }
    }

    pub fn position(&self) -> usize {
        if self.is_unloaded { 0 } else { self.next_block }
    }

    #[inline]
    pub fn offset(&self) -> u64 {
        self.stored.map_or(self.block, |(from, _)| from + self.at) as u64
    }

    /// Entry time of the first call in the next block, and the latest return time in the block.
    pub fn span(mut self, path: &Path, file: &[u8], facts: &Facts) -> Option<(u64, u64)> {
        self.next_block(path, file, facts.good).ok().filter(|is_present| *is_present)?;
        let mut span: Option<(u64, u64)> = None;
        while let Some((next_call, plan)) = self.entry(file, &facts.plans).ok()? {
            self.skip_fields(file, plan).ok()?;
            let (enter, leave) = span.unwrap_or((next_call.enter, next_call.leave));
            span = Some((enter, leave.max(next_call.leave)));
        }
        span
    }
}
