//! Send, flight, arrival and match of messages, with times of LogGP.

use matchpoint::RecvId;
use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, Peer, ReceiveArgs, SendArgs, SendMode};

use super::Simulation;
use crate::communicators::Membership;
use crate::entries::{MessageRecord, NIL, Owner, PostedReceive, Protocol};
use crate::label::Label;
use crate::recorded_arrivals::RecordedArrivals;
use crate::requests;
use crate::status_envelope::StatusEnvelope;
use crate::step::{self, Point, StepSink};

/// `None` if unknown.
pub(super) type CompletionTime = Option<i64>;

/// Source and tag; `None` for an invented message.
pub(super) type MatchedEnvelope = Option<(u32, i32)>;

impl<S: StepSink> Simulation<'_, S> {
    pub(super) fn send(&mut self, index: usize, now_ns: i64, args: &SendArgs, owner: Owner) -> Sent {
        let loggp = self.setting.loggp;
        let begin_ns = now_ns + loggp.overhead;
        let Peer::Rank(dest) = args.dest else {
            self.tally.totals.proc_null += 1;
            return Sent { end: Some(now_ns), message: None };
        };
        let bytes = args.bytes.unwrap_or(0);
        // One borrow: a lookup takes as long as most of the work here.
        let process = &mut self.processes[index];
        let (membership, from) = (process.membership(args.comm), process.rank);
        let to = self.setting.communicators.world_rank(from, membership, dest);
        self.tally.count_send(index, from, to, membership.context, args);
        if let Some(to) = to {
            self.sink.record_send(step::SendEvent { at_ns: now_ns, from, to, bytes });
        }
        let Some(to) = to.and_then(|to| self.present.get(to as usize).copied().flatten()) else {
            self.tally.count_lost(index, to);
            return Sent { end: Some(begin_ns), message: None };
        };
        let protocol = match args.mode {
            SendMode::Buffered => Protocol::Eager,
            _ if bytes > loggp.eager_bytes => Protocol::Rendezvous,
            SendMode::Synchronous => Protocol::Synchronous,
            _ => Protocol::Eager,
        };
        let wire_ns = if protocol == Protocol::Rendezvous { 0 } else { loggp.wire(bytes) };
        let start_ns = begin_ns.max(process.nic_free_ns);
        process.nic_free_ns = start_ns + loggp.gap + wire_ns;
        let sender = if protocol == Protocol::Eager { Owner::None } else { owner };
        process.waited_sends += u32::from(sender != Owner::None);
        let arrival_ns = start_ns + loggp.latency + wire_ns;
        let label = Label::exact(membership.context, membership.rank, args.tag as u32);
        let newer = u32::try_from(arrival_ns - now_ns).unwrap_or(NIL);
        self.sequence += 1;
        let number = self.sequence as u32;
        let record =
            MessageRecord { bytes, from, protocol, sender, newer, ..MessageRecord::of(label, number) };
        let slot = self.launch(to as usize, arrival_ns, record);
        Sent {
            end: (protocol == Protocol::Eager).then_some(start_ns),
            message: Some(requests::SentMessage { to, slot, number }),
        }
    }

    pub(super) fn cancel_send(&mut self, now_ns: i64, sent: requests::SentMessage) {
        let requests::SentMessage { to, slot, number } = sent;
        let to = to as usize;
        let is_present = self.records.get(slot).is_some_and(|record| record.number == number);
        let slot = match is_present {
            true => Some(slot),
            false => self.processes[to].matcher.restore_record(number, &mut self.records),
        };
        let Some(slot) = slot else { return };
        let record = &mut self.records[slot];
        record.is_cancelled = true;
        let (message, label) = (record.id(), record.label);
        let process = &mut self.processes[to];
        if process.matcher.retract(&mut self.records, slot) {
            let at_ns = now_ns.max(process.clock_ns);
            self.remove_record(slot);
            self.sink.record_step(Point { at_ns, process: to }.retract(message, label));
        }
    }

    #[inline]
    pub(super) fn launch(&mut self, to: usize, arrival_ns: i64, record: MessageRecord) -> u32 {
        let (from, (_, tag), is_invented) = (record.from, record.label.source_and_tag(), record.is_invented);
        let slot = self.records.insert(record);
        let recorded_arrivals = self.processes[to].recorded_arrivals.as_mut().filter(|_| !is_invented);
        if recorded_arrivals.is_some_and(|recorded_arrivals| recorded_arrivals.add_sent(from, tag, slot)) {
            self.launch_recorded(to);
        } else {
            self.processes[to].inbox.push(arrival_ns, slot);
            self.schedule(to, arrival_ns);
        }
        slot
    }

    pub(super) fn launch_recorded(&mut self, to: usize) {
        let clocks = self.setting.clocks;
        while let Some((at_ns, slot)) =
            self.processes[to].recorded_arrivals.as_mut().and_then(RecordedArrivals::next)
        {
            let process = &mut self.processes[to];
            // No message arrives in the past of the process.
            let arrival_ns = clocks.common(to, at_ns).max(process.clock_ns);
            process.inbox.push(arrival_ns, slot);
            self.schedule(to, arrival_ns);
        }
    }

    #[inline]
    fn remove_record(&mut self, slot: u32) -> MessageRecord {
        let record = self.records.remove(slot).expect("the message is in the table");
        if record.sender != Owner::None {
            if let Some(Some(sender)) = self.present.get(record.from as usize) {
                self.processes[*sender as usize].waited_sends -= 1;
            }
        }
        record
    }

    /// Completion time of a receive; known if the message is already unexpected.
    pub(super) fn receive(
        &mut self,
        index: usize,
        now_ns: i64,
        function: Function,
        args: &ReceiveArgs,
        owner: Owner,
        expected: Option<StatusEnvelope>,
    ) -> PostResult {
        let is_null = match args.source {
            Peer::Rank(_) => false,
            Peer::Null => true,
            Peer::Any => self.is_null_receive(index, args),
        };
        if is_null {
            self.tally.totals.proc_null += 1;
            return PostResult { end: Some(now_ns), slot: None, matched: None };
        }
        self.sequence += 1;
        let number = self.sequence;
        let process = &mut self.processes[index];
        let membership = process.membership(args.comm);
        let selector = Label::from_receive(membership, args);
        let took = process.matcher.post(selector, &mut self.records);
        let site = self.tally.count_receive(function, selector, took.is_some());
        let id = RecvId::new(process.receives.next_slot(), number as u32);
        let Some(message) = took else {
            self.sink.record_step(
                Point { at_ns: now_ns, process: index }.post(id, selector, None).with_site(site),
            );
            let mut posted = PostedReceive {
                owner,
                site,
                comm: args.comm,
                expected,
                ..PostedReceive::of(selector, number)
            };
            if self.has_missing_ranks {
                posted.is_sender_missing = self.is_sender_missing(index, membership, args.source, expected);
            }
            let process = &mut self.processes[index];
            let slot = process.receives.insert(posted);
            process.matcher.queue_receive(&mut process.receives, slot);
            return PostResult { end: None, slot: Some(slot), matched: None };
        };
        let id_of_message = self.records[message].id();
        self.sink.record_step(
            Point { at_ns: now_ns, process: index }.post(id, selector, Some(id_of_message)).with_site(site),
        );
        let (end_ns, matched) = self.transfer(now_ns, message);
        self.tally.compare_envelope(selector, expected, matched);
        PostResult { end: Some(end_ns), slot: None, matched: matched.filter(|_| !selector.is_exact()) }
    }

    fn is_null_receive(&mut self, index: usize, args: &ReceiveArgs) -> bool {
        let process = &mut self.processes[index];
        let number = process.any_sources;
        process.any_sources = number.wrapping_add(1);
        let context = self.membership(index, args.comm).context;
        self.setting.null_receives[index].contains(number, context, args.tag)
    }

    pub(super) fn deliver_next(&mut self, index: usize) {
        if let Some((at_ns, slot)) = self.processes[index].inbox.pop() {
            if at_ns > self.processes[index].open_until_ns {
                self.end_call(index);
            }
            self.arrive(index, at_ns, slot);
        }
    }

    pub(super) fn arrive(&mut self, index: usize, at_ns: i64, slot: u32) {
        let record = &self.records[slot];
        if record.is_cancelled {
            self.remove_record(slot);
            return;
        }
        let (label, from, id) = (record.label, record.from, record.id());
        let process = &mut self.processes[index];
        let point = Point { at_ns, process: index };
        let Some(receive) = process.matcher.arrive(label, &mut process.receives) else {
            process.matcher.queue_message(&mut self.records, slot);
            self.sink.record_step(point.arrive(id, label, from, None));
            return self.complete_probes(index, at_ns, label);
        };
        let posted = &process.receives[receive];
        let (selector, expected, owner) = (posted.selector, posted.expected, posted.owner);
        let step = point.arrive(id, label, from, Some((posted.id(receive), selector)));
        self.sink.record_step(step.with_site(posted.site));
        process.receives.remove(receive);
        let (end_ns, matched) = self.transfer(at_ns, slot);
        self.tally.compare_envelope(selector, expected, matched);
        self.end(index, owner, end_ns, matched.filter(|_| !selector.is_exact()));
    }

    pub(super) fn transfer(&mut self, matched_ns: i64, slot: u32) -> (i64, MatchedEnvelope) {
        let record = self.remove_record(slot);
        let loggp = self.setting.loggp;
        let (latency, overhead) = (loggp.latency, loggp.overhead);
        let (receiver_ns, sender_ns) = match record.protocol {
            Protocol::Eager => (matched_ns + overhead, None),
            Protocol::Synchronous => (matched_ns + overhead, Some(matched_ns + latency)),
            Protocol::Rendezvous => {
                let sent_ns = self.send_body(record.from, matched_ns + latency, loggp.wire(record.bytes));
                (sent_ns + latency + overhead, Some(sent_ns))
            }
        };
        if let (Some(at_ns), Some(Some(sender))) = (sender_ns, self.present.get(record.from as usize)) {
            self.end(*sender as usize, record.sender, at_ns, None);
        }
        (receiver_ns, (!record.is_invented).then_some(record.label.source_and_tag()))
    }

    /// Sends the data when the network interface is free. Returns the end of the transfer.
    fn send_body(&mut self, from: u32, notified_ns: i64, wire_ns: i64) -> i64 {
        let Some(Some(sender)) = self.present.get(from as usize) else { return notified_ns + wire_ns };
        let nic_free_ns = &mut self.processes[*sender as usize].nic_free_ns;
        *nic_free_ns = notified_ns.max(*nic_free_ns) + wire_ns;
        *nic_free_ns
    }

    pub(super) fn membership(&mut self, index: usize, comm: CommId) -> Membership {
        self.processes[index].membership(comm)
    }

    pub(super) fn world_rank(&self, index: usize, membership: Membership, rank: u32) -> Option<u32> {
        self.setting.communicators.world_rank(self.processes[index].rank, membership, rank)
    }

    pub(super) fn is_status_from_missing(
        &mut self,
        index: usize,
        slot: u32,
        reported: StatusEnvelope,
    ) -> bool {
        let Some(comm) = self.processes[index].receives.get(slot).map(|receive| receive.comm) else {
            return false;
        };
        let membership = self.membership(index, comm);
        self.is_sender_missing(index, membership, Peer::Any, Some(reported))
    }

    pub(super) fn is_sender_missing(
        &self,
        index: usize,
        membership: Membership,
        source: Peer,
        expected: Option<StatusEnvelope>,
    ) -> bool {
        if !self.has_missing_ranks {
            return false;
        }
        let source = match (source, expected) {
            (Peer::Rank(rank), _) => rank,
            (_, Some(reported)) => match reported.source() {
                Some(rank) => rank,
                None => return false,
            },
            _ => return false,
        };
        let world = self.world_rank(index, membership, source);
        world.is_none_or(|world| self.present.get(world as usize).copied().flatten().is_none())
    }

    pub(super) fn invent_message(
        &mut self,
        index: usize,
        slot: u32,
        at_ns: i64,
        expected: Option<StatusEnvelope>,
    ) {
        let Some(receive) = self.processes[index].receives.get(slot) else { return };
        let expected = expected.or(receive.expected);
        let (label, comm) = (receive.selector.invent_envelope(expected), receive.comm);
        let membership = self.membership(index, comm);
        let world = label.source().and_then(|source| self.world_rank(index, membership, source));
        let from = world.unwrap_or(u32::MAX);
        self.tally.made_up_messages += 1;
        let record =
            MessageRecord { from, is_invented: true, ..MessageRecord::of(label, self.next_number() as u32) };
        self.launch(index, at_ns, record);
    }
}

pub(super) struct Sent {
    pub end: CompletionTime,
    pub message: Option<requests::SentMessage>,
}

pub(super) struct PostResult {
    pub end: CompletionTime,
    pub slot: Option<u32>,
    pub matched: MatchedEnvelope,
}
