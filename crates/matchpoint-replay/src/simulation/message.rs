//! Messages: send, flight, arrival and match, with times of LogGP.

use matchpoint::RecvId;
use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, Peer, ReceiveArgs, SendArgs, SendMode};

use super::Simulation;
use crate::communicators::Membership;
use crate::entries::{Flight, NIL, Owner, PostedReceive, Protocol};
use crate::in_order::InOrder;
use crate::label::Label;
use crate::requests;
use crate::status_envelope::StatusEnvelope;
use crate::step::{self, Point, Sink};

/// Completion time, if known.
pub(super) type End = Option<i64>;

/// Source and tag of a matched message; `None` if invented.
pub(super) type Got = Option<(u32, i32)>;

impl<S: Sink> Simulation<'_, S> {
    pub(super) fn send(&mut self, index: usize, now_ns: i64, args: &SendArgs, owner: Owner) -> Sent {
        let loggp = self.setting.loggp;
        let begin_ns = now_ns + loggp.overhead;
        let Peer::Rank(dest) = args.dest else {
            self.tally.totals.proc_null += 1;
            return Sent { end: Some(now_ns), message: None };
        };
        let bytes = args.bytes.unwrap_or(0);
        // One borrow: the lookup takes as long as most of the work.
        let process = &mut self.processes[index];
        let (membership, from) = (process.membership(args.comm), process.rank);
        let to = self.setting.communicators.world_rank(from, membership, dest);
        self.tally.sent(index, from, to, membership.context, args);
        if let Some(to) = to {
            self.sink.sent(step::Sent { at_ns: now_ns, from, to, bytes });
        }
        let Some(to) = to.and_then(|to| self.present.get(to as usize).copied().flatten()) else {
            self.tally.lost(index, to);
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
        let sender = if protocol == Protocol::Eager { Owner::Nobody } else { owner };
        process.waited_sends += u32::from(sender != Owner::Nobody);
        let arrival_ns = start_ns + loggp.latency + wire_ns;
        let label = Label::exact(membership.context, membership.rank, args.tag as u32);
        let newer = u32::try_from(arrival_ns - now_ns).unwrap_or(NIL);
        self.sequence += 1;
        let number = self.sequence as u32;
        let flight = Flight { bytes, from, protocol, sender, newer, ..Flight::of(label, number) };
        let place = self.launch(to as usize, arrival_ns, flight);
        Sent {
            end: (protocol == Protocol::Eager).then_some(start_ns),
            message: Some(requests::Sent { to, place, number }),
        }
    }

    /// Removes the message of a send that the traced run cancelled.
    pub(super) fn withdraw(&mut self, now_ns: i64, sent: requests::Sent) {
        let requests::Sent { to, place, number } = sent;
        let to = to as usize;
        let is_there = self.flights.get(place).is_some_and(|flight| flight.number == number);
        let place = match is_there {
            true => Some(place),
            false => self.processes[to].matcher.recall(number, &mut self.flights),
        };
        let Some(place) = place else { return };
        let flight = &mut self.flights[place];
        flight.withdrawn = true;
        let (message, label) = (flight.id(), flight.label);
        let process = &mut self.processes[to];
        if process.matcher.retract(&mut self.flights, place) {
            let at_ns = now_ns.max(process.clock_ns);
            self.forget_flight(place);
            self.sink.step(Point { at_ns, process: to }.retract(message, label));
        }
    }

    /// Adds a message in flight and returns its index.
    #[inline]
    pub(super) fn launch(&mut self, to: usize, arrival_ns: i64, flight: Flight) -> u32 {
        let (from, (_, tag), made_up) = (flight.from, flight.label.reported(), flight.made_up);
        let place = self.flights.insert(flight);
        let in_order = self.processes[to].in_order.as_mut().filter(|_| !made_up);
        if in_order.is_some_and(|in_order| in_order.keep(from, tag, place)) {
            self.launch_in_order(to);
        } else {
            self.processes[to].inbox.push(arrival_ns, place);
            self.schedule(to, arrival_ns);
        }
        place
    }

    /// Schedules recorded arrivals, up to the first unsent message.
    pub(super) fn launch_in_order(&mut self, to: usize) {
        let clocks = self.setting.clocks;
        while let Some((at_ns, place)) = self.processes[to].in_order.as_mut().and_then(InOrder::next) {
            let process = &mut self.processes[to];
            // The process's past cannot change.
            let arrival_ns = clocks.common(to, at_ns).max(process.clock_ns);
            process.inbox.push(arrival_ns, place);
            self.schedule(to, arrival_ns);
        }
    }

    #[inline]
    fn forget_flight(&mut self, place: u32) -> Flight {
        let flight = self.flights.remove(place).expect("a message that is let go is in the table");
        if flight.sender != Owner::Nobody {
            if let Some(Some(sender)) = self.present.get(flight.from as usize) {
                self.processes[*sender as usize].waited_sends -= 1;
            }
        }
        flight
    }

    /// The end is known if the message is already unexpected.
    pub(super) fn receive(
        &mut self,
        index: usize,
        now_ns: i64,
        function: Function,
        args: &ReceiveArgs,
        owner: Owner,
        expected: Option<StatusEnvelope>,
    ) -> Posted {
        let is_null = match args.source {
            Peer::Rank(_) => false,
            Peer::Null => true,
            Peer::Any => self.is_null_receive(index, args),
        };
        if is_null {
            self.tally.totals.proc_null += 1;
            return Posted { end: Some(now_ns), place: None, got: None };
        }
        self.sequence += 1;
        let number = self.sequence;
        let process = &mut self.processes[index];
        let membership = process.membership(args.comm);
        let asked = Label::asked(membership, args);
        let took = process.matcher.post(asked, &mut self.flights);
        let site = self.tally.posted(function, asked, took.is_some());
        let id = RecvId::new(process.receives.next_place(), number as u32);
        let Some(message) = took else {
            self.sink.step(Point { at_ns: now_ns, process: index }.post(id, asked, None).of_site(site));
            let mut posted =
                PostedReceive { owner, site, comm: args.comm, expected, ..PostedReceive::of(asked, number) };
            if self.some_absent {
                posted.absent = self.is_absent(index, membership, args.source, expected);
            }
            let process = &mut self.processes[index];
            let place = process.receives.insert(posted);
            process.matcher.queue_receive(&mut process.receives, place);
            return Posted { end: None, place: Some(place), got: None };
        };
        let known_by = self.flights[message].id();
        self.sink.step(Point { at_ns: now_ns, process: index }.post(id, asked, Some(known_by)).of_site(site));
        let (end_ns, got) = self.transfer(now_ns, message);
        self.tally.reproduced(asked, expected, got);
        Posted { end: Some(end_ns), place: None, got: got.filter(|_| !asked.is_exact()) }
    }

    /// Called once for each receive from any source.
    fn is_null_receive(&mut self, index: usize, args: &ReceiveArgs) -> bool {
        let process = &mut self.processes[index];
        let number = process.any_sources;
        process.any_sources = number.wrapping_add(1);
        let context = self.membership(index, args.comm).context;
        self.setting.null_receives[index].contains(number, context, args.tag)
    }

    pub(super) fn deliver_next(&mut self, index: usize) {
        if let Some((at_ns, place)) = self.processes[index].inbox.pop() {
            if at_ns > self.processes[index].open_until_ns {
                self.end_call(index);
            }
            self.arrive(index, at_ns, place);
        }
    }

    pub(super) fn arrive(&mut self, index: usize, at_ns: i64, place: u32) {
        let flight = &self.flights[place];
        if flight.withdrawn {
            self.forget_flight(place);
            return;
        }
        let (label, from, id) = (flight.label, flight.from, flight.id());
        let process = &mut self.processes[index];
        let point = Point { at_ns, process: index };
        let Some(receive) = process.matcher.arrive(label, &mut process.receives) else {
            process.matcher.queue_message(&mut self.flights, place);
            self.sink.step(point.arrive(id, label, from, None));
            return self.wake_probes(index, at_ns, label);
        };
        let posted = &process.receives[receive];
        let (asked, expected, owner) = (posted.asked, posted.expected, posted.owner);
        let step = point.arrive(id, label, from, Some((posted.id(receive), asked)));
        self.sink.step(step.of_site(posted.site));
        process.receives.remove(receive);
        let (end_ns, got) = self.transfer(at_ns, place);
        self.tally.reproduced(asked, expected, got);
        self.end(index, owner, end_ns, got.filter(|_| !asked.is_exact()));
    }

    /// Transfers a matched message and completes the send. Returns the receive's completion time, source and
    /// tag.
    pub(super) fn transfer(&mut self, matched_ns: i64, place: u32) -> (i64, Got) {
        let flight = self.forget_flight(place);
        let loggp = self.setting.loggp;
        let (latency, overhead) = (loggp.latency, loggp.overhead);
        let (receiver_ns, sender_ns) = match flight.protocol {
            Protocol::Eager => (matched_ns + overhead, None),
            Protocol::Synchronous => (matched_ns + overhead, Some(matched_ns + latency)),
            Protocol::Rendezvous => {
                let sent_ns = self.send_body(flight.from, matched_ns + latency, loggp.wire(flight.bytes));
                (sent_ns + latency + overhead, Some(sent_ns))
            }
        };
        if let (Some(at_ns), Some(Some(sender))) = (sender_ns, self.present.get(flight.from as usize)) {
            self.end(*sender as usize, flight.sender, at_ns, None);
        }
        (receiver_ns, (!flight.made_up).then_some(flight.label.reported()))
    }

    /// Sends the data of a rendezvous message from the match on, when the network interface is free. Returns
    /// the end.
    fn send_body(&mut self, from: u32, told_ns: i64, wire_ns: i64) -> i64 {
        let Some(Some(sender)) = self.present.get(from as usize) else { return told_ns + wire_ns };
        let nic_free_ns = &mut self.processes[*sender as usize].nic_free_ns;
        *nic_free_ns = told_ns.max(*nic_free_ns) + wire_ns;
        *nic_free_ns
    }

    /// An unresolved communicator is treated as `MPI_COMM_WORLD`.
    pub(super) fn membership(&mut self, index: usize, comm: CommId) -> Membership {
        self.processes[index].membership(comm)
    }

    pub(super) fn world_rank(&self, index: usize, membership: Membership, rank: u32) -> Option<u32> {
        self.setting.communicators.world_rank(self.processes[index].rank, membership, rank)
    }

    /// The sender in the status has no stream.
    pub(super) fn is_from_absent(&mut self, index: usize, place: u32, reported: StatusEnvelope) -> bool {
        let Some(comm) = self.processes[index].receives.get(place).map(|receive| receive.comm) else {
            return false;
        };
        let membership = self.membership(index, comm);
        self.is_absent(index, membership, Peer::Any, Some(reported))
    }

    /// The sender has no stream.
    pub(super) fn is_absent(
        &self,
        index: usize,
        membership: Membership,
        source: Peer,
        expected: Option<StatusEnvelope>,
    ) -> bool {
        if !self.some_absent {
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

    /// Invents a message from a process without a stream.
    pub(super) fn make_up(&mut self, index: usize, place: u32, at_ns: i64, expected: Option<StatusEnvelope>) {
        let Some(receive) = self.processes[index].receives.get(place) else { return };
        let expected = expected.or(receive.expected);
        let (label, comm) = (receive.asked.made_up(expected), receive.comm);
        let membership = self.membership(index, comm);
        let world = label.source().and_then(|source| self.world_rank(index, membership, source));
        let from = world.unwrap_or(u32::MAX);
        self.tally.made_up_messages += 1;
        let flight = Flight { from, made_up: true, ..Flight::of(label, self.next_number() as u32) };
        self.launch(index, at_ns, flight);
    }
}

pub(super) struct Sent {
    /// Known if the sender does not wait.
    pub end: End,
    pub message: Option<requests::Sent>,
}

pub(super) struct Posted {
    pub end: End,
    pub place: Option<u32>,
    pub got: Got,
}
