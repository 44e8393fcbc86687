//! Messages: sent, under way, arrived, matched. Times after LogGP.

use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, Selector, Tag, Wild};
use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, Peer, ReceiveArgs, SendArgs, SendMode, TagArg};

use super::Simulation;
use crate::process::{Owner, PostedReceive, Seat};
use crate::reported::Reported;
use crate::step::{Kind, Sink};

/// A message on its way, or unexpected.
pub(super) struct Flight {
    pub message: Message,
    /// World rank of the sender.
    pub from: u32,
    pub bytes: u64,
    pub protocol: Protocol,
    /// Who waits at the sending process for its end, unless it was eager.
    pub sender: Owner,
    /// The sender has no stream: this is what its receiver recorded.
    pub made_up: bool,
    /// The sender withdrew it before it arrived.
    pub withdrawn: bool,
}

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Protocol {
    /// All at once; the sender does not wait.
    Eager,
    /// All at once; the sender waits for the match (`MPI_Ssend`).
    Synchronous,
    /// A request to send, and the rest after the match.
    Rendezvous,
}

/// When a send or receive is complete, if that is known already.
pub(super) type End = Option<i64>;

/// Source and tag of the message that a receive got, if that came from the trace.
pub(super) type Got = Option<(u32, i32)>;

/// MPI's tag as the engines see it.
pub(super) fn tag(tag: i32) -> Tag {
    Tag(u64::from(tag as u32))
}

impl<S: Sink> Simulation<'_, S> {
    /// Starts a message at `now_ns`.
    pub(super) fn send(&mut self, index: usize, now_ns: i64, args: &SendArgs, owner: Owner) -> Sent {
        let loggp = self.setting.loggp;
        let begin_ns = now_ns + loggp.overhead;
        let Peer::Rank(dest) = args.dest else {
            self.tally.totals.proc_null += 1;
            return Sent { end: Some(now_ns), message: None };
        };
        let bytes = args.bytes.unwrap_or(0);
        let seat = self.seat(index, args.comm);
        let from = self.processes[index].rank;
        let to = self.world_rank(index, seat, dest);
        self.tally.sent(index, from, to, seat.context, args);
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
        let process = &mut self.processes[index];
        let start_ns = begin_ns.max(process.nic_free_ns);
        process.nic_free_ns = start_ns + loggp.gap + wire_ns;
        let envelope = Envelope::new(ContextId(seat.context), Rank(seat.rank.into()), tag(args.tag));
        let sender = if protocol == Protocol::Eager { Owner::Nobody } else { owner };
        let arrival_ns = start_ns + loggp.latency + wire_ns;
        let flight = Flight {
            message: nameless(envelope),
            from,
            bytes,
            protocol,
            sender,
            made_up: false,
            withdrawn: false,
        };
        let message = self.launch(to as usize, arrival_ns, flight);
        Sent { end: (protocol == Protocol::Eager).then_some(start_ns), message: Some((to, message)) }
    }

    /// A send was cancelled in the traced run: its message has not been received, and will not be.
    pub(super) fn withdraw(&mut self, now_ns: i64, (to, message): (u32, MsgId)) {
        let Some(flight) =
            self.flights.get_mut(message.index()).filter(|flight| flight.message.id == message)
        else {
            return;
        };
        flight.withdrawn = true;
        let process = &mut self.processes[to as usize];
        if process.matcher.retract(message) {
            let at_ns = now_ns.max(process.clock_ns);
            self.flights.remove(message.index());
            self.step(to as usize, at_ns, Kind::Retract { message });
        }
    }

    /// Puts a message on its way.
    pub(super) fn launch(&mut self, to: usize, arrival_ns: i64, flight: Flight) -> MsgId {
        let id = self.next_msg_id(self.flights.next_place());
        let message = Message::new(id, flight.message.envelope);
        let place = self.flights.insert(Flight { message, ..flight });
        self.processes[to].inbox.push(arrival_ns, place);
        self.schedule(to, arrival_ns);
        id
    }

    /// Posts a receive at `now_ns`. Its end is known if its message waits already.
    pub(super) fn receive(
        &mut self,
        index: usize,
        now_ns: i64,
        function: Function,
        args: &ReceiveArgs,
        owner: Owner,
        expected: Option<Reported>,
    ) -> Posted {
        if args.source == Peer::Null || self.is_null_receive(index, args, owner) {
            self.tally.totals.proc_null += 1;
            return Posted { end: Some(now_ns), place: None, got: None };
        }
        let seat = self.seat(index, args.comm);
        let selector = selector(seat, args);
        let absent = self.is_absent(index, seat, args.source, expected);
        let id = self.next_recv_id(self.processes[index].receives.next_place());
        let receive = Receive::new(id, selector);
        let process = &mut self.processes[index];
        let took = process.matcher.post(receive);
        self.tally.posted(function, &selector, took.is_some());
        self.step(index, now_ns, Kind::Post { receive, took });
        let Some(message) = took else {
            let posted = PostedReceive { owner, id, selector, comm: args.comm, expected, absent, made_up: 0 };
            let place = self.processes[index].receives.insert(posted);
            return Posted { end: None, place: Some(place), got: None };
        };
        let (end_ns, got) = self.transfer(now_ns, message);
        self.tally.reproduced(&selector, expected, got);
        Posted { end: Some(end_ns), place: None, got: got.filter(|_| selector.exact().is_none()) }
    }

    /// Whether a receive shown as from any source was from `MPI_PROC_NULL`. Called once for each receive.
    fn is_null_receive(&mut self, index: usize, args: &ReceiveArgs, owner: Owner) -> bool {
        if args.source != Peer::Any || !matches!(owner, Owner::Request(_)) {
            return false;
        }
        let process = &mut self.processes[index];
        let number = process.any_sources;
        process.any_sources = number.wrapping_add(1);
        let context = self.seat(index, args.comm).context;
        self.setting.null_receives[index].contains(number, context, args.tag)
    }

    /// The next message under way to a process arrives.
    pub(super) fn deliver_next(&mut self, index: usize) {
        let Some((at_ns, place)) = self.processes[index].inbox.pop() else { return };
        let flight = self.flights.get(place).expect("a message under way is in the table");
        if flight.withdrawn {
            self.flights.remove(place);
            return;
        }
        let (message, from) = (flight.message, flight.from);
        let took = self.processes[index].matcher.arrive(message);
        let receives = &self.processes[index].receives;
        let receive =
            took.and_then(|id| receives.get(id.index()).map(|posted| Receive::new(id, posted.selector)));
        self.step(index, at_ns, Kind::Arrive { message, from, took: receive });
        match took {
            Some(receive) => self.matched(index, at_ns, receive.index(), message.id),
            None => self.wake_probes(index, at_ns, &message),
        }
    }

    /// A message that arrives at `at_ns` found its receive.
    fn matched(&mut self, index: usize, at_ns: i64, place: u32, message: MsgId) {
        let (end_ns, got) = self.transfer(at_ns, message);
        let receive = self.processes[index].receives.remove(place).expect("a posted receive is in the table");
        self.tally.reproduced(&receive.selector, receive.expected, got);
        self.end(index, receive.owner, end_ns, got.filter(|_| receive.selector.exact().is_none()));
    }

    /// Brings a matched message over: when the receive is complete, and the source and tag it reports. Lets the
    /// sender know.
    pub(super) fn transfer(&mut self, matched_ns: i64, message: MsgId) -> (i64, Got) {
        let flight = self.flights.remove(message.index()).expect("a matched message is in the table");
        let loggp = self.setting.loggp;
        let (latency, overhead, wire) = (loggp.latency, loggp.overhead, loggp.wire(flight.bytes));
        let (receiver_ns, sender_ns) = match flight.protocol {
            Protocol::Eager => (matched_ns + overhead, None),
            Protocol::Synchronous => (matched_ns + overhead, Some(matched_ns + latency)),
            Protocol::Rendezvous => {
                let sent_ns = self.send_body(flight.from, matched_ns + latency, wire);
                (sent_ns + latency + overhead, Some(sent_ns))
            }
        };
        if let (Some(at_ns), Some(Some(sender))) = (sender_ns, self.present.get(flight.from as usize)) {
            self.end(*sender as usize, flight.sender, at_ns, None);
        }
        let Envelope { source, tag, .. } = flight.message.envelope;
        let got = (source.0 as u32, tag.0 as u32 as i32);
        (receiver_ns, (!flight.made_up).then_some(got))
    }

    /// The body of a rendezvous message leaves once its sender was told, and has its network interface: when the
    /// last of it does.
    fn send_body(&mut self, from: u32, told_ns: i64, wire_ns: i64) -> i64 {
        let Some(Some(sender)) = self.present.get(from as usize) else { return told_ns + wire_ns };
        let nic_free_ns = &mut self.processes[*sender as usize].nic_free_ns;
        *nic_free_ns = told_ns.max(*nic_free_ns) + wire_ns;
        *nic_free_ns
    }

    /// The process's place in a communicator. One that the trace does not explain is taken for the world.
    pub(super) fn seat(&mut self, index: usize, comm: CommId) -> Seat {
        self.processes[index].seat(comm)
    }

    /// World rank of the process that the other side knows by `rank`.
    pub(super) fn world_rank(&self, index: usize, seat: Seat, rank: u32) -> Option<u32> {
        self.setting.communicators.world_rank(self.processes[index].rank, seat, rank)
    }

    /// Whether the message that a receive reported came from a process without a stream.
    pub(super) fn is_from_absent(&mut self, index: usize, place: u32, reported: Reported) -> bool {
        let Some(comm) = self.processes[index].receives.get(place).map(|receive| receive.comm) else {
            return false;
        };
        let seat = self.seat(index, comm);
        self.is_absent(index, seat, Peer::Any, Some(reported))
    }

    /// Whether what a receive waits for was sent by a process without a stream.
    pub(super) fn is_absent(
        &self,
        index: usize,
        seat: Seat,
        source: Peer,
        expected: Option<Reported>,
    ) -> bool {
        if self.processes.len() == self.present.len() {
            return false;
        }
        let source = match (source, expected) {
            (Peer::Rank(rank), _) => rank,
            (_, Some(Reported { source: Some(rank), .. })) => rank,
            _ => return false,
        };
        let world = self.world_rank(index, seat, source);
        world.is_none_or(|world| self.present.get(world as usize).copied().flatten().is_none())
    }

    /// Makes up the message that a receive got from a process without a stream.
    pub(super) fn make_up(&mut self, index: usize, place: u32, at_ns: i64, expected: Option<Reported>) {
        let Some(receive) = self.processes[index].receives.get(place) else { return };
        let expected = expected.or(receive.expected);
        let (selector, comm) = (receive.selector, receive.comm);
        let seat = self.seat(index, comm);
        let (source, tag) = made_up(&selector, expected);
        let world = u32::try_from(source.0).ok().and_then(|source| self.world_rank(index, seat, source));
        let from = world.unwrap_or(u32::MAX);
        let message = nameless(Envelope::new(selector.context(), source, tag));
        self.tally.made_up_messages += 1;
        let (protocol, sender) = (Protocol::Eager, Owner::Nobody);
        let flight = Flight { message, from, bytes: 0, protocol, sender, made_up: true, withdrawn: false };
        self.launch(index, at_ns, flight);
    }
}

/// What starting a message came to.
pub(super) struct Sent {
    /// Known if nothing has to be waited for.
    pub end: End,
    /// Index of the receiving process, and the message's name.
    pub message: Option<(u32, MsgId)>,
}

/// What posting a receive came to.
pub(super) struct Posted {
    pub end: End,
    /// Its place among the process's receives, while it is posted.
    pub place: Option<u32>,
    /// Source and tag of the message it got.
    pub got: Got,
}

/// A message whose name is given when it is put into the table.
fn nameless(envelope: Envelope) -> Message {
    Message::new(MsgId(0), envelope)
}

/// What a receive's arguments ask the engine for.
pub(crate) fn selector(seat: Seat, args: &ReceiveArgs) -> Selector {
    let source = match args.source {
        Peer::Rank(rank) => Wild::Is(Rank(rank.into())),
        _ => Wild::Any,
    };
    let tag = match args.tag {
        TagArg::Is(value) => Wild::Is(self::tag(value)),
        TagArg::Any => Wild::Any,
    };
    Selector::new(ContextId(seat.context), source, tag)
}

/// Source and tag of a message that a receive with `selector` got: what it asked for, else what it reported, else
/// something that only a receive as open as this one accepts.
pub(crate) fn made_up(selector: &Selector, expected: Option<Reported>) -> (Rank, Tag) {
    let source = match (selector.source(), expected.and_then(|expected| expected.source)) {
        (Wild::Is(rank), _) => rank,
        (_, Some(rank)) => Rank(rank.into()),
        _ => Rank::UNKNOWN,
    };
    let tag = match (selector.tag(), expected.and_then(|expected| expected.tag)) {
        (Wild::Is(tag), _) => tag,
        (_, Some(value)) => self::tag(value),
        _ => Tag(u64::MAX),
    };
    (source, tag)
}
