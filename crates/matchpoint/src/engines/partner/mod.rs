//! `partner`: a queue of its own for each source that has most entries, and one for all others, after Ghazimirsaeed,
//! Mirsadeghi & Afsahi, "Communication-aware message matching in MPI" (2018); sections, equations and algorithms below
//! are of that paper.
//!
//! Between `list` (one queue for all sources) and `rank_array` (one for each, used or not): most processes hear from few
//! others, so few queues do what many would, in O(√processes) memory.
//!
//! * `mode=dynamic` (§4.3): all begin in one shared queue. Once its last level has more than `threshold` entries, those
//!   with more than the *edge point* (`metric`, §4.1) become partners, and a level begins (Algorithms 1 and 3). A
//!   partner's later entries have a queue of their own, found through a hash table of ⌈√processes⌉ entries with at most
//!   `c` partners each (§5.2.3, §6.3).
//! * `mode=static` (§4.2): a profile of an earlier run says how many elements each source sent to either queue; who is
//!   above the edge point of the whole run is a partner from the beginning, found through a perfect hash (Algorithm 2).
//!
//! The two queues (PRQ and UMQ) are split each by itself. [`queue`] has the picture, why levels are no queues here, and why
//! the earliest match is found whoever became a partner when. Receives from any source are in a queue of their own
//! (PRQ_ANY); an arrival compares ages (the paper's sequence numbers) and takes the older. A receive from any source
//! looks at the shared queue and those of all partners.
//!
//! With *n* entries in the shared queue (of all sources), *p* in the partner's own and *a* receives from any source, post
//! and arrive cost O(n + a) for who is no partner, O(n before it became one + p + a) for a partner (Equations 12 to 16):
//! what `list` costs at worst, `rank_array` at best. A receive from any source costs O(partners + all messages), as in
//! Equation 17, but for the partners of other contexts. Extraction is O(level × log); one that finds nobody is tried again
//! after as many further entries as the level had, so that it costs O(log) per entry. Cancel, retract and readdress
//! compare every entry. An entry takes 48 bytes in the shared queue and 64 in a partner's, a partner 32, the table
//! 4·√processes per queue; nothing of that is allocated before somebody is a partner.
//!
//! Loses where queues are short (a look-up for nothing, and one more for what has to wait), where many entries are of one
//! source (its own queue is linked, as those of `rank_array` are: behind a thousand entries a search takes three to nine
//! times what it takes `list`, whose entries lie side by side), to `rank_array` where memory is no concern, and wherever more sources matter than the
//! bound allows: most of them then share a list. What waited before its source became a partner is walked past until it
//! is gone.

mod contexts;
mod extraction;
mod log;
mod metric;
mod parameters;
mod partners;
mod perfect;
pub mod profile;
mod queue;

use contexts::Contexts;
use extraction::{Rule, Scratch};
use log::{Log, Observed};
pub(super) use parameters::SPEC;
use partners::Partners;
use queue::{Found, Queued, Split, Spot};

use crate::engine::{Drained, Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::upkeep::{self, Queues};

/// See the [module's documentation](self).
pub struct Partner<E: Observed = ()> {
    posted: Split<Receive>,
    unexpected: Split<Message>,
    contexts: Contexts,
    /// The age of the next entry, of either queue.
    clock: u64,
    rule: Rule,
    /// The paper's t, if partners are extracted at all.
    threshold: Option<usize>,
    scratch: Scratch,
    hints: HintTable,
    log: E::Log,
    effort: E,
}

/// What an engine is made of.
struct Plan {
    rule: Rule,
    /// The paper's t; nobody becomes a partner at run time if `None`.
    threshold: Option<usize>,
    posted: Partners,
    unexpected: Partners,
}

/// Asks the table of partners.
#[inline]
fn look_up(
    partners: &Partners,
    contexts: &mut Contexts,
    log: &mut impl Log,
    context: ContextId,
    source: Rank,
) -> Option<u32> {
    log.looked_up();
    partners.find(contexts.number(context)?, source)
}

impl<E: Observed> Partner<E> {
    fn new(plan: Plan) -> Self {
        Partner {
            posted: Split::new(plan.posted),
            unexpected: Split::new(plan.unexpected),
            contexts: Contexts::default(),
            clock: 0,
            rule: plan.rule,
            threshold: plan.threshold,
            scratch: Scratch::default(),
            hints: HintTable::default(),
            log: Default::default(),
            effort: E::default(),
        }
    }

    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let mut examined = 0;
        let matches = |message: &Message| selector.matches(&message.envelope);
        let context = selector.context();
        let found = match selector.source() {
            Wild::Is(source) => {
                let look_up = |partners: &Partners| {
                    look_up(partners, &mut self.contexts, &mut self.log, context, source)
                };
                self.unexpected.find(look_up, &mut examined, matches)
            }
            // Nothing of a context that has no number is queued.
            _ => self
                .contexts
                .number(context)
                .and_then(|number| self.unexpected.find_any(number, &mut examined, matches)),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    #[inline]
    fn message_id(&self, found: Found) -> MsgId {
        self.unexpected.get(found.at).id
    }

    #[inline]
    fn take_message(&mut self, found: Found) -> MsgId {
        self.unexpected.take(found.at).id
    }

    /// Takes the receive that a message with `envelope` goes to.
    fn take_accepting(&mut self, envelope: &Envelope) -> Option<RecvId> {
        if self.posted.len() == 0 {
            return None;
        }
        let mut examined = 0;
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let Envelope { context, source, .. } = *envelope;
        let look_up =
            |partners: &Partners| look_up(partners, &mut self.contexts, &mut self.log, context, source);
        let named = self.posted.find(look_up, &mut examined, matches);
        let until = named.map_or(u64::MAX, |found| found.age);
        let from_any = self.posted.find_from_any(until, &mut examined, matches);
        self.effort.examined(Queue::Posted, examined);
        from_any.or(named).map(|found| self.posted.take(found.at).id)
    }

    fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let number = self.contexts.number_or_give(receive.selector.context())?;
        let age = self.clock;
        let Some(source) = receive.source() else {
            self.posted.push_from_any(receive, age)?;
            self.clock += 1;
            return Ok(());
        };
        self.log.queued(source);
        let partner = partner_of_new(&self.posted, &mut self.log, number, source);
        self.posted.push(receive, age, partner)?;
        self.clock += 1;
        if partner.is_none() && self.is_time(&self.posted) {
            let Partner { posted, contexts, rule, scratch, .. } = self;
            let partners = scratch.extract(posted, contexts, rule, self.clock);
            self.log.extracted(partners);
        }
        Ok(())
    }

    fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        let number = self.contexts.number_or_give(message.envelope.context)?;
        let partner = message.source().and_then(|source| {
            self.log.queued(source);
            partner_of_new(&self.unexpected, &mut self.log, number, source)
        });
        self.unexpected.push(message, self.clock, partner)?;
        self.clock += 1;
        if partner.is_none() && self.is_time(&self.unexpected) {
            let Partner { unexpected, contexts, rule, scratch, .. } = self;
            let partners = scratch.extract(unexpected, contexts, rule, self.clock);
            self.log.extracted(partners);
        }
        Ok(())
    }

    /// Whether partners are to be extracted, after an entry joined the shared queue (Algorithm 3, line 30).
    #[inline]
    fn is_time<T: Queued>(&self, queue: &Split<T>) -> bool {
        self.threshold.is_some_and(|threshold| queue.last_level_len() > threshold) && queue.patience == 0
    }

    fn peers_bytes(&self) -> u64 {
        let partners = self.posted.partners.bytes() + self.unexpected.partners.bytes();
        partners + self.contexts.bytes() + self.scratch.bytes()
    }
}

/// Whose queue the youngest entry of a source goes to. No lookup while there are no partners.
#[inline]
fn partner_of_new<T: Queued>(queue: &Split<T>, log: &mut impl Log, number: u64, source: Rank) -> Option<u32> {
    if queue.partners.is_empty() {
        return None;
    }
    log.looked_up();
    queue.partners.find(number, source)
}

impl<E: Observed> Queues for Partner<E> {
    type Posted = Spot;
    type Unexpected = Spot;

    fn posted(&self) -> impl Iterator<Item = (u64, Spot)> {
        self.posted.spots()
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Spot)> {
        self.unexpected.spots()
    }

    fn receive(&self, at: Spot) -> Receive {
        self.posted.at_spot(at)
    }

    fn message(&self, at: Spot) -> Message {
        self.unexpected.at_spot(at)
    }

    fn take_posted(&mut self, at: Spot) {
        let number = self.contexts.number(self.receive(at).context());
        self.posted.take_spot(at, number);
    }

    fn take_unexpected(&mut self, at: Spot) {
        let number = self.contexts.number(self.message(at).context());
        self.unexpected.take_spot(at, number);
    }

    fn rename(&mut self, at: Spot, named: Envelope) -> Result<(), Refused> {
        let message = Message { envelope: named, ..self.message(at) };
        let number = self.contexts.number(named.context);
        self.unexpected.rename(at, number, message)
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Observed> Engine for Partner<E> {
    upkeep::provided!(post_open arrive probe matched_probe cancel retract readdress set_hints fail_source visit);
    upkeep::provided!(posted_len unexpected_len attempts);

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        upkeep::close(self, context, drained);
        let number = self.contexts.forget(context);
        // Partners of a profile stay: they cost nothing more.
        if let (Some(number), Some(_)) = (number, self.threshold) {
            self.posted.forget(number);
            self.unexpected.forget(number);
        }
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let peers_bytes = self.peers_bytes();
        let entries_bytes = self.posted.bytes() + self.unexpected.bytes();
        // Nothing is ever given back, so what is held now is the most that was.
        let peak_bytes = fixed_bytes + peers_bytes + entries_bytes;
        Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut statistics = vec![
            ("posted_levels", self.posted.levels as f64),
            ("posted_partners", self.posted.partners.len() as f64),
            ("unexpected_levels", self.unexpected.levels as f64),
            ("unexpected_partners", self.unexpected.partners.len() as f64),
            ("partners_bytes", self.peers_bytes() as f64),
        ];
        statistics.extend(self.log.statistics(self.peers_bytes(), self.contexts.len()));
        statistics
    }
}
