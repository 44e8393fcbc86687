//! An engine that can be wrong in one way at a time.

use matchpoint::hints::HintTable;
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Footprint, Hints, Message, MsgId, Order, Queue, Rank,
    Receive, RecvId, Refused, Selector, Wild,
};
use matchpoint_conformance::Law;

/// One mistake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    AnySourceLosesToLaterDirected,
    WildcardsBeforeExactWhateverTheAge,
    UnexpectedTakenLastInFirstOut,
    PostedTakenLastInFirstOut,
    MasksTakenForAnyTag,
    MaskLosesTheSignBit,
    AnyTagForgetsTheContext,
    DirectedTakesUnknownSource,
    TagsCompareIn32Bits,
    ProbeRemoves,
    ProbeSeesTheYoungest,
    MatchedProbeLeaves,
    CancelLeaves,
    CancelOfAStaleIdIsTrue,
    RetractOfAMatchedIdIsTrue,
    RetractTakesTheLast,
    ReaddressMovesToTheTail,
    ReaddressIgnoresPosted,
    ReaddressRenamesTheNamed,
    RefusedPostIsQueued,
    NoUnexpectedIsIgnored,
    HintsIgnoreWhatIsQueued,
    CloseForgetsUnexpected,
    CloseKeepsHints,
    CloseTakesOtherContexts,
    CloseReplacesWhatWasDrained,
    CloseDrainsYoungestFirst,
    FailSourceDropsAnySource,
    FailSourceDropsMessages,
    FailSourceTakesOtherContexts,
    BatchInReverse,
    BatchGoesOnAfterARefusal,
    LastRemovedTakesItsNeighbour,
    PanicsOnTheThirdEqual,
    PeakForgotten,
    VisitYoungestFirst,
    OvertakesWithinASource,
    ProbeChangesWhatIsTaken,
}

const RULES: &[Law] = &[Law::Arrive, Law::Post, Law::Probe, Law::MatchedProbe];

/// Each fault, the laws any of which it may be caught by, and the most events that a script needs to show it.
pub const FAULTS: &[(Fault, &[Law], usize)] = &[
    (Fault::AnySourceLosesToLaterDirected, &[Law::Arrive], 3),
    (Fault::WildcardsBeforeExactWhateverTheAge, &[Law::Arrive], 3),
    (Fault::UnexpectedTakenLastInFirstOut, &[Law::Post], 3),
    (Fault::PostedTakenLastInFirstOut, &[Law::Arrive], 3),
    (Fault::MasksTakenForAnyTag, RULES, 2),
    (Fault::MaskLosesTheSignBit, RULES, 2),
    (Fault::AnyTagForgetsTheContext, RULES, 2),
    (Fault::DirectedTakesUnknownSource, RULES, 2),
    (Fault::TagsCompareIn32Bits, RULES, 2),
    (Fault::ProbeRemoves, &[Law::Queues], 2),
    (Fault::ProbeSeesTheYoungest, &[Law::Probe], 3),
    (Fault::MatchedProbeLeaves, &[Law::Queues], 2),
    (Fault::CancelLeaves, &[Law::Queues], 2),
    (Fault::CancelOfAStaleIdIsTrue, &[Law::Cancel], 1),
    (Fault::RetractOfAMatchedIdIsTrue, &[Law::Retract], 1),
    (Fault::RetractTakesTheLast, &[Law::Queues], 3),
    (Fault::ReaddressMovesToTheTail, &[Law::Queues], 3),
    (Fault::ReaddressIgnoresPosted, &[Law::Readdress], 3),
    (Fault::ReaddressRenamesTheNamed, &[Law::Readdress], 2),
    (Fault::RefusedPostIsQueued, &[Law::Queues], 2),
    (Fault::NoUnexpectedIsIgnored, &[Law::Refusal], 2),
    (Fault::HintsIgnoreWhatIsQueued, &[Law::Hints], 2),
    (Fault::CloseForgetsUnexpected, &[Law::Close], 1),
    (Fault::CloseKeepsHints, &[Law::Refusal, Law::Post], 4),
    (Fault::CloseTakesOtherContexts, &[Law::Close], 2),
    (Fault::CloseReplacesWhatWasDrained, &[Law::Close], 1),
    (Fault::CloseDrainsYoungestFirst, &[Law::Close], 2),
    (Fault::FailSourceDropsAnySource, &[Law::FailSource], 2),
    (Fault::FailSourceDropsMessages, &[Law::FailSource], 2),
    (Fault::FailSourceTakesOtherContexts, &[Law::FailSource], 2),
    (Fault::BatchInReverse, &[Law::Batch], 3),
    (Fault::BatchGoesOnAfterARefusal, &[Law::Queues], 3),
    (Fault::LastRemovedTakesItsNeighbour, &[Law::Queues], 3),
    (Fault::PanicsOnTheThirdEqual, &[Law::Panic], 3),
    (Fault::PeakForgotten, &[Law::Footprint], 1),
    (Fault::VisitYoungestFirst, &[Law::Queues], 2),
    (Fault::OvertakesWithinASource, RULES, 3),
    (Fault::ProbeChangesWhatIsTaken, &[Law::Probe], 4),
];

/// `list`, in vectors, with a fault.
pub struct Mutant {
    fault: Option<Fault>,
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
    hints: HintTable,
    order: Order,
    probes: u64,
    room: usize,
}

/// The first or, if `last`, the last for which `is` holds.
fn find<T>(of: &[T], last: bool, is: impl Fn(&T) -> bool) -> Option<usize> {
    if last { of.iter().rposition(is) } else { of.iter().position(is) }
}

impl Mutant {
    pub fn new(fault: Option<Fault>) -> Self {
        let per_source = [Fault::OvertakesWithinASource, Fault::ProbeChangesWhatIsTaken];
        let relaxed = fault.is_some_and(|fault| per_source.contains(&fault));
        Mutant::promising(if relaxed { Order::PerSource } else { Order::Total }, fault)
    }

    pub fn promising(order: Order, fault: Option<Fault>) -> Self {
        let (posted, unexpected) = (Vec::new(), Vec::new());
        Mutant { fault, posted, unexpected, hints: HintTable::default(), order, probes: 0, room: usize::MAX }
    }

    /// One whose queues hold no more than `room` entries each.
    pub fn with_room(room: usize) -> Self {
        Mutant { room, ..Mutant::new(None) }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn matches(&self, selector: &Selector, envelope: &Envelope) -> bool {
        let mut context = selector.context();
        let mut envelope = *envelope;
        let (mut source, mut tag) = (selector.source(), selector.tag());
        if let (Wild::Masked(mut mask), Some(fault)) = (tag, self.fault) {
            mask.ignore |= if fault == Fault::MaskLosesTheSignBit { 1 << 63 } else { 0 };
            tag = if fault == Fault::MasksTakenForAnyTag { Wild::Any } else { Wild::Masked(mask) };
        }
        if self.has(Fault::AnyTagForgetsTheContext) && tag == Wild::Any {
            context = envelope.context;
        }
        if self.has(Fault::DirectedTakesUnknownSource) && envelope.source == Rank::UNKNOWN {
            source = Wild::Any;
        }
        if let (true, Wild::Is(wanted)) = (self.has(Fault::TagsCompareIn32Bits), &mut tag) {
            wanted.0 &= 0xFFFF_FFFF;
            envelope.tag.0 &= 0xFFFF_FFFF;
        }
        Selector::new(context, source, tag).matches(&envelope)
    }

    fn find_posted(&self, envelope: &Envelope) -> Option<usize> {
        let matches = |receive: &Receive| self.matches(&receive.selector, envelope);
        let preferred = |receive: &Receive| match self.fault {
            Some(Fault::AnySourceLosesToLaterDirected) => receive.selector.source() != Wild::Any,
            Some(Fault::WildcardsBeforeExactWhateverTheAge) => receive.selector.exact().is_none(),
            _ => false,
        };
        let first = find(&self.posted, false, |receive| preferred(receive) && matches(receive));
        first.or_else(|| find(&self.posted, self.has(Fault::PostedTakenLastInFirstOut), matches))
    }

    fn find_unexpected(&self, selector: &Selector) -> Option<usize> {
        let last = self.has(Fault::UnexpectedTakenLastInFirstOut) || self.has(Fault::OvertakesWithinASource);
        let matches = |message: &Message| self.matches(selector, &message.envelope);
        if !self.has(Fault::ProbeChangesWhatIsTaken) {
            return find(&self.unexpected, last, matches);
        }
        // As ob1's ring of sources: each search that a probe makes starts the next one elsewhere.
        let sources = self.unexpected.iter().filter(|message| matches(message));
        let sources = sources.map(|message| message.envelope.source);
        let source = if self.probes % 2 == 0 { sources.min() } else { sources.max() };
        find(&self.unexpected, false, |message| matches(message) && Some(message.envelope.source) == source)
    }

    fn take_posted(&mut self, at: usize) -> RecvId {
        let last = at + 1 == self.posted.len();
        let id = self.posted.remove(at).id;
        if self.has(Fault::LastRemovedTakesItsNeighbour) && last {
            self.posted.pop();
        }
        id
    }
}

impl Engine for Mutant {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        if let Err(refused) = self.hints.admit(&receive.selector) {
            if self.has(Fault::RefusedPostIsQueued) {
                self.posted.push(receive);
            }
            return Err(refused);
        }
        if let Some(at) = self.find_unexpected(&receive.selector) {
            return Ok(Some(self.unexpected.remove(at).id));
        }
        if self.posted.len() >= self.room {
            return Err(Refused::Full);
        }
        self.posted.push(receive);
        let equal = self.posted.iter().filter(|other| other.selector == receive.selector).count();
        if self.has(Fault::PanicsOnTheThirdEqual) && equal == 3 {
            // A panic that says nothing on the terminal: the test makes thousands.
            std::panic::resume_unwind(Box::new("the third"));
        }
        Ok(None)
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if let Some(at) = self.find_posted(&message.envelope) {
            return Ok(Some(self.take_posted(at)));
        }
        if !self.has(Fault::NoUnexpectedIsIgnored) {
            self.hints.admit_unexpected(message.envelope.context)?;
        }
        if self.unexpected.len() >= self.room {
            return Err(Refused::Full);
        }
        self.unexpected.push(message);
        Ok(None)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        if self.has(Fault::ProbeSeesTheYoungest) {
            let at = find(&self.unexpected, true, |message| selector.matches(&message.envelope));
            return at.map(|at| self.unexpected[at].id);
        }
        let at = self.find_unexpected(selector)?;
        self.probes += 1;
        let id = self.unexpected[at].id;
        if self.has(Fault::ProbeRemoves) {
            self.unexpected.remove(at);
        }
        Some(id)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let at = self.find_unexpected(selector)?;
        let id = self.unexpected[at].id;
        if !self.has(Fault::MatchedProbeLeaves) {
            self.unexpected.remove(at);
        }
        Some(id)
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        let Some(at) = self.posted.iter().position(|posted| posted.id == receive) else {
            return self.has(Fault::CancelOfAStaleIdIsTrue);
        };
        if !self.has(Fault::CancelLeaves) {
            self.take_posted(at);
        }
        true
    }

    fn retract(&mut self, message: MsgId) -> bool {
        let Some(at) = self.unexpected.iter().position(|waiting| waiting.id == message) else {
            return self.has(Fault::RetractOfAMatchedIdIsTrue);
        };
        let last = self.unexpected.len() - 1;
        self.unexpected.remove(if self.has(Fault::RetractTakesTheLast) { last } else { at });
        true
    }

    fn readdress(&mut self, message: MsgId, source: Rank) -> bool {
        let Some(at) = self.unexpected.iter().position(|waiting| waiting.id == message) else {
            return false;
        };
        let old = self.unexpected[at].envelope;
        let named = Envelope { source, ..old };
        let nameless = old.source == Rank::UNKNOWN || self.has(Fault::ReaddressRenamesTheNamed);
        let accepted = self.posted.iter().any(|receive| receive.selector.matches(&named))
            && !self.has(Fault::ReaddressIgnoresPosted);
        if !nameless || source == Rank::UNKNOWN || accepted {
            return false;
        }
        self.unexpected[at].envelope = named;
        if self.has(Fault::ReaddressMovesToTheTail) {
            self.unexpected[at..].rotate_left(1);
        }
        true
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut here = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let broken = here.any(|receive| hints.admit(&receive.selector).is_err());
        let waits = self.unexpected.iter().any(|message| message.envelope.context == context);
        if (broken || hints.no_unexpected && waits) && !self.has(Fault::HintsIgnoreWhatIsQueued) {
            return Err(Refused::Hint);
        }
        self.hints.set(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        if self.has(Fault::CloseReplacesWhatWasDrained) {
            *drained = Drained::default();
        }
        let all = self.has(Fault::CloseTakesOtherContexts);
        let receives = self.posted.extract(|receive| all || receive.selector.context() == context);
        drained.receives.extend(receives.iter().map(|receive| receive.id));
        if self.has(Fault::CloseDrainsYoungestFirst) {
            drained.receives.reverse();
        }
        if !self.has(Fault::CloseForgetsUnexpected) {
            let messages = self.unexpected.extract(|message| message.envelope.context == context);
            drained.messages.extend(messages.iter().map(|message| message.id));
        }
        if !self.has(Fault::CloseKeepsHints) {
            self.hints.forget(context);
        }
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        let everywhere = self.has(Fault::FailSourceTakesOtherContexts);
        let named = self.posted.extract(|receive| {
            (everywhere || receive.selector.context() == context)
                && receive.selector.source() == Wild::Is(source)
        });
        drained.receives.extend(named.iter().map(|receive| receive.id));
        let here = |receive: &Receive| {
            receive.selector.context() == context && receive.selector.source() == Wild::Any
        };
        drained.pending.extend(self.posted.iter().filter(|receive| here(receive)).map(|receive| receive.id));
        if self.has(Fault::FailSourceDropsAnySource) {
            let dropped = self.posted.extract(here);
            drained.receives.extend(dropped.iter().map(|receive| receive.id));
        }
        if self.has(Fault::FailSourceDropsMessages) {
            let lost = self
                .unexpected
                .extract(|message| message.envelope.context == context && message.envelope.source == source);
            drained.messages.extend(lost.iter().map(|message| message.id));
        }
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        let mut entries: Vec<_> = match queue {
            Queue::Posted => self.posted.iter().copied().map(Entry::Receive).collect(),
            Queue::Unexpected => self.unexpected.iter().copied().map(Entry::Message).collect(),
        };
        if self.has(Fault::VisitYoungestFirst) {
            entries.reverse();
        }
        entries.into_iter().for_each(each);
    }

    fn posted_len(&self) -> usize {
        self.posted.len()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        if self.has(Fault::BatchInReverse) {
            let mut reversed = Vec::new();
            let result = messages.iter().rev().try_for_each(|&message| {
                reversed.push(self.arrive(message)?);
                Ok(())
            });
            out.extend(reversed.into_iter().rev());
            return result;
        }
        for (at, &message) in messages.iter().enumerate() {
            let result = self.arrive(message);
            if result.is_err() && self.has(Fault::BatchGoesOnAfterARefusal) {
                let rest = messages[at + 1..].iter();
                rest.filter_map(|&message| self.arrive(message).ok()).for_each(|_| ());
            }
            out.push(result?);
        }
        Ok(())
    }

    fn order(&self) -> Order {
        self.order
    }

    fn footprint(&self) -> Footprint {
        let bytes = (self.posted.len() + self.unexpected.len()) as u64;
        let peak_bytes = if self.has(Fault::PeakForgotten) { 0 } else { bytes };
        Footprint { entries_bytes: bytes, peak_bytes, ..Footprint::default() }
    }
}

/// Takes out, in order, what a predicate picks.
trait Extract<T> {
    fn extract(&mut self, picks: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T: Copy> Extract<T> for Vec<T> {
    fn extract(&mut self, picks: impl Fn(&T) -> bool) -> Vec<T> {
        let picked = self.iter().copied().filter(|item| picks(item)).collect();
        self.retain(|item| !picks(item));
        picked
    }
}
