//! Division of a batch into pieces, and choice of a matching method for each piece.

use super::block::{BlockMatcher, RunningBlock};
use super::delivery::{BATCH, Delivery, Outcomes, Panicked, Piece};
use super::ordered::{self, Balance};
use super::partitions::{self, PartitionTable};
use super::workers::{Job, WorkerPool};
use super::{BatchHistory, MessageCounts, Method, OptimisticParallel, ParallelState, Parameters, Strategy};
use crate::engine::{Deliver, Engine, Message, RecvId, Refused};
use crate::engines::optimistic::{Stream, Tally};

impl<T: Tally + Sync> OptimisticParallel<T> {
    pub(super) fn new(parameters: Parameters) -> Self {
        OptimisticParallel {
            tables: parameters.tables(),
            parallel: None,
            parameters,
            counts: MessageCounts::default(),
        }
    }

    #[inline]
    pub(super) fn match_batch(
        &mut self,
        messages: &[Message],
        out: &mut Outcomes,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        if let [message] = *messages {
            let found = self.tables.arrive(message.id, message.envelope.pair(), message.envelope.tag)?;
            out.push(found);
            if let (Some(receive), Some(deliver)) = (found, deliver) {
                deliver(0, receive);
            }
            return Ok(());
        }
        self.match_pieces(messages, out, deliver)
    }

    /// A separate function, so that a batch of one message needs no large stack frame.
    #[inline(never)]
    fn match_pieces(
        &mut self,
        messages: &[Message],
        out: &mut Outcomes,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        let panicked = Panicked::default();
        let delivery = Delivery::new(deliver, &panicked);
        let mut matched = Ok(());
        let mut first = 0;
        while first < messages.len() && matched.is_ok() {
            let messages = self.joint_prefix(&messages[first..]);
            matched = self.match_piece(Piece { messages, first, delivery }, out);
            first += messages.len();
        }
        panicked.end();
        matched
    }

    fn joint_prefix<'a>(&self, messages: &'a [Message]) -> &'a [Message] {
        let messages = &messages[..messages.len().min(BATCH)];
        if self.parameters.strategy == Strategy::Blocks {
            return messages;
        }
        let context = messages[0].envelope.context;
        // No branch per message: usually all messages have one context.
        let others = |messages: &[Message]| {
            messages.iter().fold(0, |others, message| others | (message.envelope.context.0 ^ context.0)) != 0
        };
        let same = messages.chunks(16).position(others).map_or(messages.len(), |chunk| {
            let is_other = |message: &&Message| message.envelope.context != context;
            16 * chunk + messages[16 * chunk..].iter().take_while(|message| !is_other(message)).count()
        });
        &messages[..same]
    }

    fn match_piece(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        if piece.messages.len() == 1 || self.posted_len() == 0 || self.start_workers().is_err() {
            return self.match_one_by_one(piece, out);
        }
        let cannot_fail = self.cannot_be_refused(piece.messages);
        let in_blocks = match self.parameters.strategy {
            Strategy::Blocks => true,
            Strategy::Partitions => T::COUNTS_EACH_MESSAGE || !cannot_fail,
            Strategy::Fastest | Strategy::Pipeline => false,
        };
        if in_blocks && (cannot_fail || !piece.delivery.is_requested()) {
            // A delivery cannot be undone.
            return self.match_in_blocks(piece, out);
        }
        if T::COUNTS_EACH_MESSAGE || !cannot_fail {
            return self.match_one_by_one(piece, out);
        }
        self.match_with_best_method(piece, out)
    }

    fn start_workers(&mut self) -> Result<(), Refused> {
        if self.parallel.is_none() {
            // `Box::new` would abort without memory.
            Vec::<u8>::new().try_reserve_exact(size_of::<ParallelState<T>>()).map_err(|_| Refused::Memory)?;
            let workers = WorkerPool::start(self.parameters.threads)?;
            let table = PartitionTable::new(workers.threads())?;
            let block_matcher = BlockMatcher::new(self.parameters.tables(), workers.threads());
            let (exact, wild) = Default::default();
            self.parallel = Some(Box::new(ParallelState { workers, block_matcher, table, exact, wild }));
        }
        Ok(())
    }

    /// Reserves memory. Returns true if all messages can be queued.
    fn cannot_be_refused(&mut self, messages: &[Message]) -> bool {
        let tables = &mut self.tables;
        let mut in_context = |context| tables.reserve_unexpected(context, messages.len()).is_ok();
        if self.parameters.strategy != Strategy::Blocks {
            return in_context(messages[0].envelope.context);
        }
        let mut last = None;
        messages.iter().map(|message| message.envelope.context).all(|context| {
            let is_known = last.replace(context) == Some(context);
            is_known || in_context(context)
        })
    }

    /// For messages of one communicator that cannot be refused.
    fn match_with_best_method(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        let Piece { messages, delivery, .. } = piece;
        let is_exact = self.tables.is_exact(messages[0].envelope.context);
        let Some(parallel) = self.parallel.as_deref_mut() else { return self.match_one_by_one(piece, out) };
        let methods: &[Method] = match (parallel.workers.threads(), delivery.is_requested()) {
            (1, _) => &[Method::SingleThread],
            (_, true) => &[Method::Pipelined, Method::AllThreads, Method::SingleThread],
            (_, false) => &[Method::AllThreads, Method::SingleThread],
        };
        let BatchHistory { policy, ratio } = parallel.history(is_exact, &piece);
        let choice = policy.start(methods.len());
        let balance = Balance { ratio: *ratio, is_timed: choice.is_timed() };
        let method = match self.parameters.strategy {
            Strategy::Fastest => methods[choice.method],
            Strategy::Pipeline if methods.contains(&Method::Pipelined) => Method::Pipelined,
            Strategy::Partitions if methods.len() > 1 => Method::AllThreads,
            _ => Method::SingleThread,
        };
        let threads = parallel.workers.threads();
        let is_settled = match method {
            // Polling workers take power and cache from a thread that matches alone.
            Method::SingleThread => choice.is_timed() && parallel.workers.is_asleep(),
            _ => parallel.workers.wake_workers() == threads,
        };
        let mut learned = None;
        match method {
            Method::SingleThread => self.match_single_threaded(piece, out),
            Method::AllThreads if !is_exact => self.match_in_blocks(piece, out)?,
            Method::AllThreads if self.match_partitioned(piece, out, threads) => {}
            _ if delivery.is_requested() => learned = self.match_pipelined(piece, out, (threads, balance)),
            _ => self.match_single_threaded(piece, out),
        }
        if let Some(parallel) = self.parallel.as_deref_mut() {
            let BatchHistory { policy, ratio } = parallel.history(is_exact, &piece);
            *ratio += (learned.unwrap_or(*ratio) - *ratio) / 4.0;
            policy.stop(&choice, methods.len(), messages.len(), is_settled);
        }
        Ok(())
    }

    /// Returns false if the partitions are uneven.
    fn match_partitioned(&mut self, piece: Piece<'_>, out: &mut Outcomes, threads: usize) -> bool {
        let (begin, messages) = (out.len(), piece.messages);
        let context = messages[0].envelope.context;
        // At least four messages per thread on average.
        let threads = threads.min(messages.len().div_ceil(4));
        let (Some(parallel), Some(exact)) = (&mut self.parallel, self.tables.share(context)) else {
            return false;
        };
        let ParallelState { workers, table, .. } = &mut **parallel;
        let Some(unmatched) = partitions::run((workers, table), exact, piece, out, threads) else {
            return false;
        };
        self.counts.shared += messages.len() as u64;
        table.taken(threads).for_each(|taken| self.tables.reclaim(context, &taken));
        if unmatched > 0 {
            self.insert_unmatched(messages, &out[begin..]);
        }
        true
    }

    /// Returns the ratio of [`Balance`], if measured.
    fn match_pipelined<'a>(
        &mut self,
        piece: Piece<'a>,
        out: &mut Outcomes,
        (threads, balance): (usize, Balance),
    ) -> Option<f64> {
        let (begin, messages) = (out.len(), piece.messages);
        let Some(parallel) = &mut self.parallel else {
            self.match_single_threaded(piece, out);
            return None;
        };
        let workers = &mut parallel.workers;
        let ratio = match self.tables.stream(&messages[0].envelope) {
            Some(Stream::Exact(mut stream)) => {
                let matched = |message: &'a Message| stream.take(&message.envelope);
                ordered::run(workers, piece, out, (threads, balance), matched)
            }
            Some(Stream::Wildcard(mut stream)) => {
                let matched = |message: &'a Message| stream.take(&message.envelope);
                ordered::run(workers, piece, out, (threads, balance), matched)
            }
            None => ordered::run(workers, piece, out, (threads, balance), |_| None),
        };
        self.counts.ordered += messages.len() as u64;
        self.insert_unmatched(messages, &out[begin..]);
        ratio
    }

    /// The processor overlaps the next match with the last delivery.
    fn match_single_threaded(&mut self, piece: Piece<'_>, out: &mut Outcomes) {
        let (begin, messages) = (out.len(), piece.messages);
        out.resize(begin + messages.len(), None);
        let outcomes = &mut out[begin..];
        match self.tables.stream(&messages[0].envelope) {
            Some(Stream::Exact(mut stream)) => {
                piece.match_in_turn(outcomes, |message| stream.take(&message.envelope))
            }
            Some(Stream::Wildcard(mut stream)) => {
                piece.match_in_turn(outcomes, |message| stream.take(&message.envelope))
            }
            None => {}
        }
        self.insert_unmatched(messages, outcomes);
    }

    fn insert_unmatched(&mut self, messages: &[Message], outcomes: &[Option<RecvId>]) {
        // No branch per message: usually all messages match.
        let unmatched = outcomes.iter().filter(|found| found.is_none()).count();
        if unmatched == 0 {
            return;
        }
        for (&message, _) in messages.iter().zip(outcomes).filter(|(_, found)| found.is_none()) {
            let kept = self.tables.insert_unexpected(message);
            debug_assert_eq!(kept, Ok(()), "memory is reserved");
        }
    }

    fn match_in_blocks(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, messages) in piece.messages.chunks(self.parameters.block).enumerate() {
            let block = Piece { messages, first: piece.first + number * self.parameters.block, ..piece };
            let Some(parallel) = &mut self.parallel else { return self.match_one_by_one(block, out) };
            let ParallelState { workers, block_matcher, .. } = &mut **parallel;
            workers.wake_workers();
            let parts = workers.threads();
            if messages.len() == 1 || block_matcher.begin(&mut self.tables, messages, parts).is_err() {
                self.match_one_by_one(block, out)?;
                continue;
            }
            let running = RunningBlock { block_matcher, first: block.first, delivery: piece.delivery };
            workers.run(&running, |assignments| {
                (1..parts).for_each(|part| assignments.assign(&(part..part + 1)));
                running.run_parts(0..1);
            });
            block_matcher.commit(&mut self.tables, out)?;
        }
        Ok(())
    }

    fn match_one_by_one(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, &message) in (piece.first..).zip(piece.messages) {
            let found = self.tables.arrive(message.id, message.envelope.pair(), message.envelope.tag)?;
            out.push(found);
            if let Some(receive) = found {
                piece.delivery.deliver_one(number, receive);
            }
        }
        Ok(())
    }
}
