//! Matching of a batch: its division into pieces, and the method for each piece.

use super::crew::{Crew, Job};
use super::delivery::{BATCH, Delivery, Outcomes, Panicked, Piece};
use super::ordered::{self, Balance};
use super::round::{Played, Round};
use super::shares::{self, Table};
use super::{By, Habit, OptimisticParallel, Several, Shape, Who, Work};
use crate::engine::{Deliver, Engine, Message, RecvId, Refused};
use crate::engines::optimistic::{Stream, Tally};

impl<T: Tally + Sync> OptimisticParallel<T> {
    pub(super) fn new(shape: Shape) -> Self {
        OptimisticParallel { tables: shape.tables(), several: None, shape, counts: Work::default() }
    }

    #[inline]
    pub(super) fn batch(
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
        self.pieces(messages, out, deliver)
    }

    /// A batch of several messages, with reserved memory in `out`. Separate, so that a single message needs
    /// no large stack frame.
    #[inline(never)]
    fn pieces(
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
            let messages = self.together(&messages[first..]);
            matched = self.piece(Piece { messages, first, delivery }, out);
            first += messages.len();
        }
        panicked.end();
        matched
    }

    /// The first messages that may be matched together.
    fn together<'a>(&self, messages: &'a [Message]) -> &'a [Message] {
        let messages = &messages[..messages.len().min(BATCH)];
        if self.shape.by == By::Optimism {
            return messages;
        }
        let context = messages[0].envelope.context;
        // All messages usually have one context: compared without a branch per message.
        let others = |messages: &[Message]| {
            messages.iter().fold(0, |others, message| others | (message.envelope.context.0 ^ context.0)) != 0
        };
        let same = messages.chunks(16).position(others).map_or(messages.len(), |chunk| {
            let is_other = |message: &&Message| message.envelope.context != context;
            16 * chunk + messages[16 * chunk..].iter().take_while(|message| !is_other(message)).count()
        });
        &messages[..same]
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        if piece.messages.len() == 1 || self.posted_len() == 0 || self.gather().is_err() {
            return self.singly(piece, out);
        }
        let is_sure = self.cannot_be_refused(piece.messages);
        let in_blocks = match self.shape.by {
            By::Optimism => true,
            By::Shares => T::COUNTS_EACH_MESSAGE || !is_sure,
            By::Pace | By::Order => false,
        };
        if in_blocks && (is_sure || !piece.delivery.is_asked()) {
            // A delivery cannot be undone if an earlier message is refused.
            return self.optimistically(piece, out);
        }
        if T::COUNTS_EACH_MESSAGE || !is_sure {
            return self.singly(piece, out);
        }
        self.surely(piece, out)
    }

    /// Starts the worker threads, if necessary.
    fn gather(&mut self) -> Result<(), Refused> {
        if self.several.is_none() {
            // A `Box` aborts without memory.
            Vec::<u8>::new().try_reserve_exact(size_of::<Several<T>>()).map_err(|_| Refused::Memory)?;
            let crew = Crew::gather(self.shape.threads)?;
            let table = Table::new(crew.threads())?;
            let round = Round::new(self.shape.tables(), crew.threads());
            let (exact, wild) = Default::default();
            self.several = Some(Box::new(Several { crew, round, table, exact, wild }));
        }
        Ok(())
    }

    /// Whether the messages can be queued: memory is reserved in each communicator, and hints allow it.
    fn cannot_be_refused(&mut self, messages: &[Message]) -> bool {
        let tables = &mut self.tables;
        let mut in_context = |context| tables.reserve_unexpected(context, messages.len()).is_ok();
        if self.shape.by != By::Optimism {
            return in_context(messages[0].envelope.context);
        }
        // One check for consecutive messages of a communicator.
        let mut last = None;
        messages.iter().map(|message| message.envelope.context).all(|context| {
            let is_known = last.replace(context) == Some(context);
            is_known || in_context(context)
        })
    }

    /// Matches messages of one communicator that cannot be refused.
    fn surely(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        let Piece { messages, delivery, .. } = piece;
        let is_exact = self.tables.is_exact(messages[0].envelope.context);
        let Some(several) = self.several.as_deref_mut() else { return self.singly(piece, out) };
        let ways: &[Who] = match (several.crew.threads(), delivery.is_asked()) {
            (1, _) => &[Who::One],
            (_, true) => &[Who::OneForAll, Who::All, Who::One],
            (_, false) => &[Who::All, Who::One],
        };
        let Habit { pace, ratio } = several.habit(is_exact, &piece);
        let choice = pace.start(ways.len());
        let balance = Balance { ratio: *ratio, is_timed: choice.is_timed() };
        let who = match self.shape.by {
            By::Pace => ways[choice.way],
            By::Order if ways.contains(&Who::OneForAll) => Who::OneForAll,
            By::Shares if ways.len() > 1 => Who::All,
            _ => Who::One,
        };
        let threads = several.crew.threads();
        let is_settled = match who {
            // Polling workers reduce the power and cache of a single thread.
            Who::One => choice.is_timed() && several.crew.is_asleep(),
            _ => several.crew.muster() == threads,
        };
        let mut learned = None;
        match who {
            Who::One => self.alone(piece, out),
            Who::All if !is_exact => self.optimistically(piece, out)?,
            Who::All if self.in_shares(piece, out, threads) => {}
            // Most messages are in few bins.
            _ if delivery.is_asked() => learned = self.in_order(piece, out, (threads, balance)),
            _ => self.alone(piece, out),
        }
        if let Some(several) = self.several.as_deref_mut() {
            let Habit { pace, ratio } = several.habit(is_exact, &piece);
            // The average limits the effect of an interrupted batch.
            *ratio += (learned.unwrap_or(*ratio) - *ratio) / 4.0;
            pace.stop(&choice, ways.len(), messages.len(), is_settled);
        }
        Ok(())
    }

    /// Matches partitioned bins with up to `threads` threads. Returns false if the partitions are uneven.
    fn in_shares(&mut self, piece: Piece<'_>, out: &mut Outcomes, threads: usize) -> bool {
        let (begin, messages) = (out.len(), piece.messages);
        let context = messages[0].envelope.context;
        // A partition has at least four messages on average.
        let threads = threads.min(messages.len().div_ceil(4));
        let (Some(several), Some(exact)) = (&mut self.several, self.tables.share(context)) else {
            return false;
        };
        let Several { crew, table, .. } = &mut **several;
        let Some(left) = shares::run((crew, table), exact, piece, out, threads) else { return false };
        self.counts.shared += messages.len() as u64;
        table.taken(threads).for_each(|taken| self.tables.reclaim(context, &taken));
        if left > 0 {
            self.file(messages, &out[begin..]);
        }
        true
    }

    /// One thread matches, `threads` threads deliver. Returns the ratio of [`Balance`], if measured.
    fn in_order<'a>(
        &mut self,
        piece: Piece<'a>,
        out: &mut Outcomes,
        (threads, balance): (usize, Balance),
    ) -> Option<f64> {
        let (begin, messages) = (out.len(), piece.messages);
        let Some(several) = &mut self.several else {
            self.alone(piece, out);
            return None;
        };
        let crew = &mut several.crew;
        let ratio = match self.tables.stream(&messages[0].envelope) {
            Some(Stream::Exact(mut stream)) => {
                let matched = |message: &'a Message| stream.take(&message.envelope);
                ordered::run(crew, piece, out, (threads, balance), matched)
            }
            Some(Stream::Wildcard(mut stream)) => {
                let matched = |message: &'a Message| stream.take(&message.envelope);
                ordered::run(crew, piece, out, (threads, balance), matched)
            }
            None => ordered::run(crew, piece, out, (threads, balance), |_| None),
        };
        self.counts.ordered += messages.len() as u64;
        self.file(messages, &out[begin..]);
        ratio
    }

    /// One thread matches and delivers in turn. The processor overlaps the next match with the last delivery.
    fn alone(&mut self, piece: Piece<'_>, out: &mut Outcomes) {
        let (begin, messages) = (out.len(), piece.messages);
        // Memory is reserved.
        out.resize(begin + messages.len(), None);
        let outcomes = &mut out[begin..];
        match self.tables.stream(&messages[0].envelope) {
            Some(Stream::Exact(mut stream)) => {
                piece.in_turn(outcomes, |message| stream.take(&message.envelope))
            }
            Some(Stream::Wildcard(mut stream)) => {
                piece.in_turn(outcomes, |message| stream.take(&message.envelope))
            }
            None => {}
        }
        self.file(messages, outcomes);
    }

    /// Queues messages without a match.
    fn file(&mut self, messages: &[Message], outcomes: &[Option<RecvId>]) {
        // Usually none: counted without a branch per message.
        let left = outcomes.iter().filter(|found| found.is_none()).count();
        if left == 0 {
            return;
        }
        for (&message, _) in messages.iter().zip(outcomes).filter(|(_, found)| found.is_none()) {
            let kept = self.tables.insert_unexpected(message);
            debug_assert_eq!(kept, Ok(()), "room was made for it");
        }
    }

    fn optimistically(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, messages) in piece.messages.chunks(self.shape.block).enumerate() {
            let block = Piece { messages, first: piece.first + number * self.shape.block, ..piece };
            let Some(several) = &mut self.several else { return self.singly(block, out) };
            let Several { crew, round, .. } = &mut **several;
            crew.muster();
            let parts = crew.threads();
            // A single thread needs no memory for bookings.
            if messages.len() == 1 || round.begin(&mut self.tables, messages, parts).is_err() {
                self.singly(block, out)?;
                continue;
            }
            let played = Played { round, first: block.first, delivery: piece.delivery };
            crew.run(&played, |hands| {
                (1..parts).for_each(|part| hands.give(&(part..part + 1)));
                played.take_parts(0..1);
            });
            round.commit(&mut self.tables, out)?;
        }
        Ok(())
    }

    fn singly(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, &message) in (piece.first..).zip(piece.messages) {
            let found = self.tables.arrive(message.id, message.envelope.pair(), message.envelope.tag)?;
            out.push(found);
            if let Some(receive) = found {
                piece.delivery.of(number, receive);
            }
        }
        Ok(())
    }
}
