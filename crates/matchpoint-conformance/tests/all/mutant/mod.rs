//! Mutant: a simple engine with one fault.

mod faults;
mod sharing;

use std::collections::{HashMap, HashSet, VecDeque};

use matchpoint::hints::HintTable;
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Footprint, Hints, Message, MsgId, Order, Pair, Queue, Rank,
    Readdressed, Receive, RecvId, Refused, Selector, Tag, TagMask, Wild,
};

pub use self::faults::{DEEP_FAULTS, FAULTS, Fault};
pub use self::sharing::Shares;

pub struct Mutant {
    fault: Option<Fault>,
    posted: VecDeque<Receive>,
    unexpected: VecDeque<Message>,
    hints: HintTable,
    order: Order,
    probes: u64,
    capacity: usize,
    memory: Memory,
}

#[derive(Default)]
struct Memory {
    masks: Vec<u64>,
    sequence: HashMap<RecvId, u16>,
    posts: u16,
    cancelled: HashSet<RecvId>,
    closed: usize,
    stale_messages: Vec<Message>,
}

/// The index of the first entry for which `condition` holds; with `last`, of the last entry.
fn find<T>(queue: &VecDeque<T>, last: bool, condition: impl Fn(&T) -> bool) -> Option<usize> {
    if last { queue.iter().rposition(condition) } else { queue.iter().position(condition) }
}

fn ignore_tag(tag: &mut Wild<Tag>, ignore: u64) {
    match tag {
        Wild::Is(value) => *tag = Wild::Masked(TagMask { value: *value, ignore }),
        Wild::Masked(mask) => mask.ignore |= ignore,
        Wild::Any => {}
    }
}

fn ignore_source(source: &mut Wild<Rank>, envelope: &Envelope, ignore: u32) {
    if let (Wild::Is(rank), Envelope { source: has, .. }) = (&mut *source, envelope) {
        if (rank.0 ^ has.0) & !ignore == 0 && *has != Rank::UNKNOWN {
            *source = Wild::Is(*has);
        }
    }
}

/// Length beyond which faults of long queues occur.
const LONG_QUEUE: usize = 1 << 16;

impl Mutant {
    pub fn new(fault: Option<Fault>) -> Self {
        let per_source =
            [Fault::OvertakesWithinSource, Fault::ProbeChangesNextMatch, Fault::UnknownSourcesOvertake];
        let relaxed = fault.is_some_and(|fault| per_source.contains(&fault));
        Mutant::with_order(if relaxed { Order::PerSource } else { Order::Total }, fault)
    }

    pub fn with_order(order: Order, fault: Option<Fault>) -> Self {
        let (posted, unexpected) = (VecDeque::new(), VecDeque::new());
        let (hints, memory) = (HintTable::default(), Memory::default());
        Mutant { fault, posted, unexpected, hints, order, probes: 0, capacity: usize::MAX, memory }
    }

    /// A mutant with at most `capacity` entries per queue.
    pub fn with_capacity(capacity: usize) -> Self {
        Mutant { capacity, ..Mutant::new(None) }
    }

    fn has_fault(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn matches(&self, selector: &Selector, envelope: &Envelope) -> bool {
        let mut context = selector.context();
        let mut envelope = *envelope;
        let (mut source, mut tag) = (selector.source(), selector.tag());
        if let (Wild::Masked(mut mask), Some(fault)) = (tag, self.fault) {
            mask.ignore |= if fault == Fault::MaskIgnoresSignBit { 1 << 63 } else { 0 };
            tag = if fault == Fault::MaskMatchesAnyTag { Wild::Any } else { Wild::Masked(mask) };
        }
        if self.has_fault(Fault::AnyTagIgnoresContext) && tag == Wild::Any {
            context = envelope.context;
        }
        if self.has_fault(Fault::DirectedTakesUnknownSource) && envelope.source == Rank::UNKNOWN {
            source = Wild::Any;
        }
        if let (true, Wild::Is(wanted)) = (self.has_fault(Fault::TagsIn32Bits), &mut tag) {
            wanted.0 &= 0xFFFF_FFFF;
            envelope.tag.0 &= 0xFFFF_FFFF;
        }
        let (same, other) = (selector.context().0, envelope.context.0);
        match self.fault {
            Some(Fault::ContextsIn8Bits) if same as u8 == other as u8 => context = envelope.context,
            Some(Fault::TagBit20Ignored) => ignore_tag(&mut tag, 1 << 20),
            Some(Fault::SourceBit31Ignored) => ignore_source(&mut source, &envelope, 1 << 31),
            Some(Fault::SourcesIn16Bits) => ignore_source(&mut source, &envelope, !0 << 16),
            Some(Fault::AnyTagMissesNegative) if tag == Wild::Any && (envelope.tag.0 as i64) < 0 => {
                return false;
            }
            _ => {}
        }
        Selector::new(context, source, tag).matches(&envelope)
    }

    /// The id that the mutant stores. Some faults store only some bits.
    fn kept(&self, id: u64) -> u64 {
        match self.fault {
            Some(Fault::IdsIn16Bits) => id & 0xFFFF,
            Some(Fault::IdsIn32Bits) => id & 0xFFFF_FFFF,
            _ => id,
        }
    }

    fn find_posted(&self, envelope: &Envelope) -> Option<usize> {
        let matches = |receive: &Receive| self.matches(&receive.selector, envelope);
        let first = || find(&self.posted, false, matches);
        let exact = || find(&self.posted, false, |r| r.selector.exact().is_some() && matches(r));
        let open = || find(&self.posted, false, |r| r.selector.exact().is_none() && matches(r));
        match self.fault {
            Some(Fault::LaterDirectedBeforeAnySource | Fault::WildcardsBeforeExact) => {}
            Some(Fault::OrderLostBeyond65536) => {
                return find(&self.posted, self.posted.len() > LONG_QUEUE, matches);
            }
            Some(Fault::ExactBeforeDistantOlderWildcard) => {
                return match (exact(), open()) {
                    (Some(exact), Some(open)) if exact > open + 64 => Some(exact),
                    _ => first(),
                };
            }
            Some(Fault::SequenceIn16Bits) => {
                let sequence = |&at: &usize| self.memory.sequence[&self.posted[at].id];
                return exact().into_iter().chain(open()).min_by_key(sequence);
            }
            other => return find(&self.posted, other == Some(Fault::PostedYoungestFirst), matches),
        }
        let preferred = |receive: &Receive| match self.fault {
            Some(Fault::LaterDirectedBeforeAnySource) => receive.selector.source() != Wild::Any,
            Some(Fault::WildcardsBeforeExact) => receive.selector.exact().is_none(),
            _ => false,
        };
        find(&self.posted, false, |receive| preferred(receive) && matches(receive)).or_else(first)
    }

    fn find_unexpected(&self, selector: &Selector) -> Option<usize> {
        let last =
            self.has_fault(Fault::UnexpectedYoungestFirst) || self.has_fault(Fault::OvertakesWithinSource);
        let matches = |message: &Message| self.matches(selector, &message.envelope);
        match self.fault {
            Some(Fault::ProbeChangesNextMatch) => {}
            Some(Fault::UnexpectedSearches65536) => {
                return find(&self.unexpected, false, matches).filter(|&at| at < LONG_QUEUE);
            }
            Some(Fault::UnknownSourcesOvertake) => {
                let has_unknown_source = |message: &Message| message.envelope.source == Rank::UNKNOWN;
                let last = find(&self.unexpected, true, |m| has_unknown_source(m) && matches(m));
                return last.or_else(|| find(&self.unexpected, false, matches));
            }
            _ => return find(&self.unexpected, last, matches),
        }
        // The search after a probe starts at another source, as in Open MPI's ob1.
        let sources = self.unexpected.iter().filter(|message| matches(message));
        let sources = sources.map(|message| message.envelope.source);
        let source = if self.probes % 2 == 0 { sources.min() } else { sources.max() };
        find(&self.unexpected, false, |message| matches(message) && Some(message.envelope.source) == source)
    }

    /// A matched message that wildcard receives still find (`MatchedStaysInWildcardIndex`).
    fn stale_message(&self, selector: &Selector) -> Option<MsgId> {
        let found =
            self.memory.stale_messages.iter().find(|stale_message| selector.matches(&stale_message.envelope));
        found.filter(|_| selector.exact().is_none()).map(|stale_message| stale_message.id)
    }

    fn record_post(&mut self, receive: &mut Receive) {
        self.memory.posts = self.memory.posts.wrapping_add(1);
        match (self.fault, receive.selector.tag()) {
            (Some(Fault::SequenceIn16Bits), _) => {
                self.memory.sequence.insert(receive.id, self.memory.posts);
            }
            (Some(Fault::MasksBeyond64EqualFirst), Wild::Masked(TagMask { value, ignore })) => {
                let masks = &mut self.memory.masks;
                if masks.contains(&ignore) {
                    return;
                }
                masks.push(ignore);
                let ignore = if masks.len() > 64 { masks[0] } else { ignore };
                let tag = Wild::Masked(TagMask { value, ignore });
                receive.selector = Selector::new(receive.selector.context(), receive.selector.source(), tag);
            }
            _ => {}
        }
    }

    fn take_posted(&mut self, at: usize) -> RecvId {
        let last = at + 1 == self.posted.len();
        let id = self.posted.remove(at).expect("the search found the entry").id;
        if self.has_fault(Fault::TailRemovalRemovesNeighbour) && last {
            self.posted.pop_back();
        }
        id
    }
}

impl Engine for Mutant {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let mut receive = Receive::new(id, *selector);
        receive.id.0 = self.kept(receive.id.0);
        if let Err(refused) = self.hints.admit(&receive.selector) {
            if self.has_fault(Fault::RefusedPostIsQueued) {
                self.posted.push_back(receive);
            }
            return Err(refused);
        }
        if let Some(stale_message) = self.stale_message(&receive.selector) {
            return Ok(Some(stale_message));
        }
        if let Some(at) = self.find_unexpected(&receive.selector) {
            let taken = self.unexpected.remove(at).expect("the search found the entry");
            if self.has_fault(Fault::MatchedStaysInWildcardIndex) && receive.selector.exact().is_some() {
                self.memory.stale_messages.push(taken);
            }
            return Ok(Some(taken.id));
        }
        if self.posted.len() >= self.capacity {
            return Err(Refused::Full);
        }
        self.record_post(&mut receive);
        self.posted.push_back(receive);
        if !self.has_fault(Fault::PanicsOnThirdDuplicate) {
            return Ok(None);
        }
        let equal = self.posted.iter().filter(|other| other.selector == receive.selector).count();
        if equal == 3 {
            // Panics without output, because the test causes thousands of panics.
            std::panic::resume_unwind(Box::new("the third"));
        }
        Ok(None)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let mut message = Message::new(id, Envelope::of(pair, tag));
        message.id.0 = self.kept(message.id.0);
        if let Some(at) = self.find_posted(&message.envelope) {
            return Ok(Some(self.take_posted(at)));
        }
        if !self.has_fault(Fault::NoUnexpectedIsIgnored) {
            self.hints.admit_unexpected(message.envelope.context)?;
        }
        if self.unexpected.len() >= self.capacity {
            return Err(Refused::Full);
        }
        self.unexpected.push_back(message);
        Ok(None)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        if self.has_fault(Fault::ProbeFindsYoungest) {
            let at = find(&self.unexpected, true, |message| selector.matches(&message.envelope));
            return at.map(|at| self.unexpected[at].id);
        }
        let at = self.find_unexpected(selector)?;
        self.probes += 1;
        let id = self.unexpected[at].id;
        if self.has_fault(Fault::ProbeRemovesMessage) {
            self.unexpected.remove(at);
        }
        Some(id)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let at = self.find_unexpected(selector)?;
        let id = self.unexpected[at].id;
        if !self.has_fault(Fault::MatchedProbeKeepsMessage) {
            self.unexpected.remove(at);
        }
        Some(id)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        let (receive, given) = (RecvId(self.kept(receive.id.0)), receive.selector);
        let Some(mut at) = self.posted.iter().position(|posted| posted.id == receive) else {
            return self.has_fault(Fault::CancelOfStaleIdIsTrue);
        };
        assert!(
            self.fault.is_some() || self.posted[at].selector == given,
            "the caller passes the posted selector"
        );
        match self.fault {
            Some(Fault::CancelSearches65536) if at >= LONG_QUEUE => return false,
            Some(Fault::ReusedIdIsStale) if !self.memory.cancelled.insert(receive) => return false,
            Some(Fault::CancelRemovesFirstDuplicate) => {
                let selector = self.posted[at].selector;
                at = self.posted.iter().position(|posted| posted.selector == selector).unwrap_or(at);
            }
            Some(Fault::CancelKeepsReceive) => return true,
            _ => {}
        }
        self.take_posted(at);
        true
    }

    fn retract(&mut self, message: &Message) -> bool {
        let (message, given) = (MsgId(self.kept(message.id.0)), message.envelope);
        let Some(mut at) = self.unexpected.iter().position(|waiting| waiting.id == message) else {
            return self.has_fault(Fault::RetractOfMatchedIdIsTrue);
        };
        assert!(
            self.fault.is_some() || self.unexpected[at].envelope == given,
            "the caller passes the queued envelope"
        );
        if self.has_fault(Fault::RetractRemovesYoungest) {
            at = self.unexpected.len() - 1;
        }
        if self.has_fault(Fault::RetractRemovesFirstDuplicate) {
            let envelope = self.unexpected[at].envelope;
            at = self.unexpected.iter().position(|waiting| waiting.envelope == envelope).unwrap_or(at);
        }
        self.unexpected.remove(at);
        true
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        let (message, given) = (MsgId(self.kept(message.id.0)), message.envelope);
        let Some(at) = self.unexpected.iter().position(|waiting| waiting.id == message) else {
            return Ok(Readdressed::Unchanged);
        };
        let old = self.unexpected[at].envelope;
        assert!(self.fault.is_some() || old == given, "the caller passes the queued envelope");
        let with_source = Envelope { source, ..old };
        let has_unknown_source =
            old.source == Rank::UNKNOWN || self.has_fault(Fault::ReaddressChangesKnownSource);
        if !has_unknown_source || source == Rank::UNKNOWN {
            return Ok(Readdressed::Unchanged);
        }
        let accepts = |receive: &Receive| receive.selector.matches(&with_source);
        let accepted = match self.fault {
            Some(Fault::ReaddressSkipsPostedQueue) => None,
            Some(Fault::ReaddressTakesYoungest) => self.posted.iter().rposition(accepts),
            _ => self.posted.iter().position(accepts),
        };
        if let Some(receive) = accepted {
            if self.has_fault(Fault::ReaddressIgnoresMatch) {
                return Ok(Readdressed::Unchanged);
            }
            if !self.has_fault(Fault::ReaddressKeepsMessage) {
                self.unexpected.remove(at);
            }
            if self.has_fault(Fault::ReaddressKeepsReceive) {
                return Ok(Readdressed::Matched(self.posted[receive].id));
            }
            return Ok(Readdressed::Matched(self.take_posted(receive)));
        }
        self.unexpected[at].envelope = with_source;
        if self.has_fault(Fault::ReaddressMovesToTail) {
            self.unexpected.make_contiguous()[at..].rotate_left(1);
        }
        Ok(Readdressed::SourceSet)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut receives = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let broken = receives.any(|receive| hints.admit(&receive.selector).is_err());
        let waits = self.unexpected.iter().any(|message| message.envelope.context == context);
        if (broken || hints.no_unexpected && waits) && !self.has_fault(Fault::HintsIgnoreQueuedEntries) {
            return Err(Refused::Hint);
        }
        self.hints.set(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        if self.has_fault(Fault::CloseClearsDrainedList) {
            *drained = Drained::default();
        }
        let all = self.has_fault(Fault::CloseRemovesOtherContexts);
        let receives = self.posted.remove_where(|receive| all || receive.selector.context() == context);
        self.memory.closed += receives.len();
        drained.receives.extend(receives.iter().map(|receive| receive.id));
        if self.has_fault(Fault::CloseDrainsYoungestFirst) {
            drained.receives.reverse();
        }
        if !self.has_fault(Fault::CloseKeepsMessages) {
            let messages = self.unexpected.remove_where(|message| message.envelope.context == context);
            drained.messages.extend(messages.iter().map(|message| message.id));
        }
        if !self.has_fault(Fault::CloseKeepsHints) {
            self.hints.forget(context);
        }
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        let everywhere = self.has_fault(Fault::FailSourceInAllContexts);
        let with_source = self.posted.remove_where(|receive| {
            (everywhere || receive.selector.context() == context)
                && receive.selector.source() == Wild::Is(source)
        });
        drained.receives.extend(with_source.iter().map(|receive| receive.id));
        let is_pending = |receive: &Receive| {
            receive.selector.context() == context && receive.selector.source() == Wild::Any
        };
        drained
            .pending
            .extend(self.posted.iter().filter(|receive| is_pending(receive)).map(|receive| receive.id));
        if self.has_fault(Fault::FailSourceDropsAnySource) {
            let dropped = self.posted.remove_where(is_pending);
            drained.receives.extend(dropped.iter().map(|receive| receive.id));
        }
        if self.has_fault(Fault::FailSourceDropsMessages) {
            let lost = self.unexpected.remove_where(|message| {
                message.envelope.context == context && message.envelope.source == source
            });
            drained.messages.extend(lost.iter().map(|message| message.id));
        }
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        let mut entries: Vec<_> = match queue {
            Queue::Posted => self.posted.iter().copied().map(Entry::Receive).collect(),
            Queue::Unexpected => self.unexpected.iter().copied().map(Entry::Message).collect(),
        };
        if self.has_fault(Fault::VisitYoungestFirst) {
            entries.reverse();
        }
        entries.into_iter().for_each(each);
    }

    fn posted_len(&self) -> usize {
        let more = if self.has_fault(Fault::LengthsCountClosedReceives) { self.memory.closed } else { 0 };
        self.posted.len() + more
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        if self.has_fault(Fault::BatchInReverse) {
            let mut reversed = Vec::new();
            let result = messages.iter().rev().try_for_each(|&message| {
                reversed.push((self as &mut dyn Engine).arrive_message(message)?);
                Ok(())
            });
            out.extend(reversed.into_iter().rev());
            return result;
        }
        for (at, &message) in messages.iter().enumerate() {
            let result = (self as &mut dyn Engine).arrive_message(message);
            if result.is_err() && self.has_fault(Fault::BatchContinuesAfterRefusal) {
                let rest = messages[at + 1..].iter();
                rest.filter_map(|&message| (self as &mut dyn Engine).arrive_message(message).ok())
                    .for_each(|_| ());
            }
            out.push(result?);
        }
        Ok(())
    }

    fn order(&self) -> Order {
        self.order
    }

    fn footprint(&self) -> Footprint {
        if self.has_fault(Fault::FootprintIsZero) {
            return Footprint::default();
        }
        let bytes = 64 * (self.posted.len() + self.unexpected.len()) as u64;
        let peak_bytes = if self.has_fault(Fault::PeakIsZero) { 0 } else { bytes };
        Footprint { entries_bytes: bytes, peak_bytes, ..Footprint::default() }
    }
}

/// Removal of the elements that a predicate selects, in order.
trait RemoveWhere<T> {
    fn remove_where(&mut self, selects: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T: Copy> RemoveWhere<T> for VecDeque<T> {
    fn remove_where(&mut self, selects: impl Fn(&T) -> bool) -> Vec<T> {
        let picked = self.iter().copied().filter(|item| selects(item)).collect();
        self.retain(|item| !selects(item));
        picked
    }
}
