//! Batches from a recorded application.
//!
//! A batch of a process ends at a maximum of new messages or receives. It also ends before a call that
//! depends on earlier matches: a probe or a cancel. A batch includes all entries queued before, so batches
//! have the application's lengths, duplicates and wildcards.

use std::collections::HashSet;

use matchpoint::engines::{self, NameError};
use matchpoint::{Engine, Entry, Envelope, Event, Hints, Outcome, Queue, Selector, Wild};

use crate::batch::{Batch, Segment};
use crate::matching::Algorithm;
use crate::partition::Partition;

#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    envelopes: Vec<Envelope>,
    selectors: Vec<Selector>,
    segments: Vec<Segment>,
    /// Pairs that a CPU engine found in all batches.
    pub matches: usize,
    /// Events were omitted because of the limit.
    pub is_cut: bool,
}

struct Process {
    engine: Box<dyn Engine>,
    messages: Vec<Envelope>,
    receives: Vec<Selector>,
    waited: (usize, usize),
    matches: usize,
}

impl Process {
    fn new() -> Result<Process, NameError> {
        let engine = engines::create("hybrid")?;
        Ok(Process { engine, messages: Vec::new(), receives: Vec::new(), waited: (0, 0), matches: 0 })
    }

    fn collected(&self) -> (usize, usize) {
        (self.messages.len() - self.waited.0, self.receives.len() - self.waited.1)
    }

    /// A batch with at most `entries` new entries ends before `event`.
    fn ends_before(&self, event: &Event, entries: usize) -> bool {
        let (messages, receives) = self.collected();
        match event {
            Event::Arrive(_) => messages >= entries,
            Event::Post(_) => receives >= entries,
            _ => messages + receives > 0,
        }
    }

    fn play(&mut self, event: &Event) {
        match event {
            Event::Post(receive) => self.receives.push(receive.selector),
            Event::Arrive(message) => self.messages.push(message.envelope),
            _ => {}
        }
        let outcome = event.play(&mut *self.engine);
        let is_pair = matches!(outcome, Outcome::Posted(Ok(Some(_))) | Outcome::Arrived(Ok(Some(_))));
        self.matches += usize::from(is_pair);
    }

    fn begin(&mut self) {
        let (messages, receives) = (&mut self.messages, &mut self.receives);
        messages.clear();
        receives.clear();
        self.matches = 0;
        let mut add = |entry| match entry {
            Entry::Message(message) => messages.push(message.envelope),
            Entry::Receive(receive) => receives.push(receive.selector),
        };
        self.engine.visit(Queue::Unexpected, &mut add);
        self.engine.visit(Queue::Posted, &mut add);
        self.waited = (messages.len(), receives.len());
    }
}

impl Recorded {
    /// Collects the batches of all processes, with at most `entries` new messages or receives per batch, and
    /// at most `limit` messages and receives in total.
    pub fn of<'a>(
        processes: impl IntoIterator<Item = impl IntoIterator<Item = &'a Event>>,
        entries: usize,
        limit: usize,
    ) -> Result<Recorded, NameError> {
        let mut recorded = Recorded {
            envelopes: Vec::new(),
            selectors: Vec::new(),
            segments: Vec::new(),
            matches: 0,
            is_cut: false,
        };
        for events in processes {
            let mut process = Process::new()?;
            for event in events {
                let is_collected = matches!(event, Event::Post(_) | Event::Arrive(_));
                let ends = process.ends_before(event, entries);
                if ends && !recorded.add(&process, limit) {
                    break;
                }
                if ends && is_collected {
                    process.begin();
                }
                process.play(event);
                // A probe does not change the entries of the next batch.
                if !is_collected && (ends || !matches!(event, Event::Probe(_))) {
                    process.begin();
                }
            }
            recorded.add(&process, limit);
        }
        Ok(recorded)
    }

    /// Adds a batch of `process`, unless the batch has no new entries or an empty side. Returns false at the
    /// limit.
    fn add(&mut self, process: &Process, limit: usize) -> bool {
        if process.collected() == (0, 0) || process.messages.is_empty() || process.receives.is_empty() {
            return true;
        }
        let added = process.messages.len() + process.receives.len();
        if self.envelopes.len() + self.selectors.len() + added > limit {
            self.is_cut = true;
            return false;
        }
        let (message, receive) = (self.envelopes.len() as u32, self.selectors.len() as u32);
        self.envelopes.extend(&process.messages);
        self.selectors.extend(&process.receives);
        let (message_end, receive_end) = (self.envelopes.len() as u32, self.selectors.len() as u32);
        self.segments.push(Segment { message, message_end, receive, receive_end });
        self.matches += process.matches;
        true
    }

    pub fn batches(&self) -> usize {
        self.segments.len()
    }

    /// A message that stays queued is in several batches.
    pub fn messages(&self) -> usize {
        self.envelopes.len()
    }

    pub fn receives(&self) -> usize {
        self.selectors.len()
    }

    pub fn wildcards(&self) -> usize {
        self.selectors.iter().filter(|selector| selector.exact().is_none()).count()
    }

    pub fn distinct(&self) -> usize {
        self.envelopes.iter().collect::<HashSet<_>>().len()
    }

    pub fn mean_entries(&self) -> f64 {
        self.segments.iter().map(Segment::longer_side).sum::<usize>() as f64
            / self.segments.len().max(1) as f64
    }

    /// The receives keep the [assertions](Algorithm::demands) of an algorithm, except for order.
    pub fn suits(&self, algorithm: Algorithm) -> bool {
        let Hints { no_any_source, no_any_tag, .. } = algorithm.demands();
        let is_open = |selector: &Selector| {
            no_any_source && selector.source() == Wild::Any
                || no_any_tag && !matches!(selector.tag(), Wild::Is(_))
        };
        !self.selectors.iter().any(is_open)
    }

    /// One segment per batch, or `queues` segments per batch, by source.
    ///
    /// # Panics
    /// `queues` is not 1 and a receive uses `MPI_ANY_SOURCE`.
    pub fn stream(&self, queues: usize) -> (Batch, Vec<Segment>) {
        let whole = Batch::of(&self.envelopes, &self.selectors);
        if queues == 1 {
            return (whole, self.segments.clone());
        }
        let mut all = Batch::empty(whole.layout());
        let mut segments = Vec::with_capacity(queues * self.segments.len());
        for segment in &self.segments {
            let partition = Partition::by_source(&whole.segment(segment), queues);
            let partition = partition.expect("every receive has a source");
            segments.extend(partition.segments.iter().map(|part| Segment {
                message: segment.message + part.message,
                message_end: segment.message + part.message_end,
                receive: segment.receive + part.receive,
                receive_end: segment.receive + part.receive_end,
            }));
            all.append(&partition.batch);
        }
        (all, segments)
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::event::script;

    use super::*;

    fn recorded(text: &str, entries: usize, limit: usize) -> Recorded {
        Recorded::of([&script::parse(text).unwrap()], entries, limit).unwrap()
    }

    const TEXT: &str = "
        post r1 0/1/1
        post r2 0/1/2
        arrive m1 0/1/2
        arrive m2 0/1/3
        probe 0/1/3
        probe 0/1/3
        post r3 0/1/4
        matched_probe 0/1/3
        cancel r1 0/1/1
        arrive m3 0/1/4
        arrive m4 0/1/5
        post r4 0/*/5
    ";

    #[test]
    fn dependent_call_ends_batch() {
        let recorded = recorded(TEXT, 100, 1000);
        // Two receives and two messages; then r1, m2 and r3; then r3 and later entries.
        let lengths: Vec<(u32, u32)> = recorded
            .segments
            .iter()
            .map(|segment| (segment.message_end - segment.message, segment.receive_end - segment.receive))
            .collect();
        assert_eq!(lengths, [(2, 2), (1, 2), (2, 2)]);
        assert_eq!((recorded.matches, recorded.wildcards(), recorded.distinct()), (3, 1, 4));
        assert!(recorded.suits(Algorithm::Matrix) && !recorded.suits(Algorithm::Partitioned));
        assert!((recorded.mean_entries() - 2.0).abs() < 1e-9 && !recorded.is_cut);
    }

    #[test]
    fn batches_have_requested_number_of_entries() {
        let text: String =
            (0..100).map(|at| format!("post r{at} 0/1/{at}\narrive m{at} 0/1/{at}\n")).collect();
        let recorded = recorded(&text, 10, 10_000);
        assert_eq!((recorded.batches(), recorded.matches), (10, 100));
        assert_eq!(recorded.mean_entries(), 10.0);
        let cut = super::Recorded::of([&script::parse(&text).unwrap()], 10, 45).unwrap();
        assert_eq!((cut.batches(), cut.is_cut), (2, true));
    }

    #[test]
    fn queues_by_source_cover_batch() {
        let text: String =
            (0..60).map(|at| format!("post r{at} 0/{}/1\narrive m{at} 0/{}/1\n", at % 7, at % 7)).collect();
        let recorded = recorded(&text, 20, 10_000);
        let (batch, segments) = recorded.stream(4);
        assert_eq!(segments.len(), 4 * recorded.batches());
        assert_eq!((batch.message_count(), batch.receive_count()), (60, 60));
        for (of_batch, whole) in segments.chunks(4).zip(&recorded.segments) {
            assert_eq!((of_batch[0].message, of_batch[0].receive), (whole.message, whole.receive));
            assert_eq!(
                (of_batch[3].message_end, of_batch[3].receive_end),
                (whole.message_end, whole.receive_end)
            );
        }
    }
}
