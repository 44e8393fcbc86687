//! Tests of the stand-ins for MPI libraries: the matches and the compared entries of each call.
//!
//! A model lists the entries that the library compares, in order, according to the library's source code. The
//! model shares no code with the engine.

use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, Wild, engines,
};

/// Model of a library: positions of the entries that a search miss compares, in order.
struct Library {
    engine: &'static str,
    posted: fn(&[Receive], &Envelope) -> Vec<usize>,
    /// `None` if the engine, unlike the library, keeps the order of arrivals.
    unexpected: fn(&[Message], &Selector) -> Option<Vec<usize>>,
    /// Matches equal those of `list`.
    has_total_order: bool,
}

/// Positions of entries for which `condition` holds, oldest first.
fn positions<T>(queue: &[T], condition: impl Fn(&T) -> bool) -> Vec<usize> {
    (0..queue.len()).filter(|&at| condition(&queue[at])).collect()
}

/// One queue of each kind (`mpidig_recvq.h`).
const MPICH: Library = Library {
    engine: "list",
    posted: |queue, _| positions(queue, |_| true),
    unexpected: |queue, _| Some(positions(queue, |_| true)),
    has_total_order: true,
};

/// Receives from the sender and any-source receives, merged by sequence number (`match_incoming`).
fn ob1_posted(queue: &[Receive], envelope: &Envelope) -> Vec<usize> {
    positions(queue, |receive| {
        let is_of_sender = receive.selector.source() == Wild::Is(envelope.source);
        receive.selector.context() == envelope.context
            && (is_of_sender || receive.selector.source() == Wild::Any)
    })
}

/// The queue of the source, or the queues of all ranks in turn (`recv_req_match_wild`).
fn ob1_unexpected(queue: &[Message], selector: &Selector) -> Vec<usize> {
    let mut positions = positions(queue, |message| {
        let is_of_source = selector.source() == Wild::Is(message.envelope.source);
        message.envelope.context == selector.context() && (is_of_source || selector.source() == Wild::Any)
    });
    positions.sort_by_key(|&at| queue[at].envelope.source);
    positions
}

const OB1: Library = Library {
    engine: "rank_array:order=per_source",
    posted: ob1_posted,
    unexpected: |queue, selector| Some(ob1_unexpected(queue, selector)),
    has_total_order: false,
};

/// The stand-in of `analyze`: any-source receives keep the order of arrivals.
const OB1_IN_ORDER: Library = Library {
    engine: "rank_array",
    posted: ob1_posted,
    unexpected: |queue, selector| (selector.source() != Wild::Any).then(|| ob1_unexpected(queue, selector)),
    has_total_order: true,
};

/// `ucp_tag_match_calc_hash`
fn ucx_hash(tag: u64) -> u64 {
    ((tag & 0xFFFF_FFFF) % 1021) ^ ((tag >> 32) % 1021)
}

/// `PML_UCX_MAKE_SEND_TAG`: 24 bits of tag, 20 of source, 20 of context.
fn open_mpi_tag(envelope: &Envelope) -> u64 {
    envelope.tag.0 << 40 | u64::from(envelope.source.0) << 20 | u64::from(envelope.context.0)
}

/// `MPIDI_UCX_init_tag`: 16 bits of context, 16 of source, 32 of tag.
fn mpich_tag(envelope: &Envelope) -> u64 {
    u64::from(envelope.context.0) << 48 | u64::from(envelope.source.0) << 32 | envelope.tag.0
}

/// The bucket of the tag and the wildcards, merged by sequence number (`ucp_tag_exp_search_all`).
fn ucx_posted(queue: &[Receive], envelope: &Envelope, tag_of: fn(&Envelope) -> u64) -> Vec<usize> {
    let bucket = ucx_hash(tag_of(envelope));
    positions(queue, |receive| {
        receive.selector.exact().is_none_or(|envelope| ucx_hash(tag_of(&envelope)) == bucket)
    })
}

/// The bucket of a full mask, or the list of all messages (`ucp_tag_unexp_search`).
fn ucx_unexpected(queue: &[Message], selector: &Selector, tag_of: fn(&Envelope) -> u64) -> Vec<usize> {
    let bucket = selector.exact().map(|envelope| ucx_hash(tag_of(&envelope)));
    positions(queue, |message| bucket.is_none_or(|bucket| ucx_hash(tag_of(&message.envelope)) == bucket))
}

const UCX_UNDER_OPEN_MPI: Library = Library {
    engine: "ucx",
    posted: |queue, envelope| ucx_posted(queue, envelope, open_mpi_tag),
    unexpected: |queue, selector| Some(ucx_unexpected(queue, selector, open_mpi_tag)),
    has_total_order: true,
};

const UCX_UNDER_MPICH: Library = Library {
    engine: "ucx:tags=mpich",
    posted: |queue, envelope| ucx_posted(queue, envelope, mpich_tag),
    unexpected: |queue, selector| Some(ucx_unexpected(queue, selector, mpich_tag)),
    has_total_order: true,
};

/// Both queues of a process, with the engine and `list` for comparison.
struct Process<'a> {
    library: &'a Library,
    engine: Box<dyn Engine>,
    list: Box<dyn Engine>,
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
    matches: u64,
    compared: u64,
}

impl<'a> Process<'a> {
    fn new(library: &'a Library) -> Self {
        let engine = engines::create_counting(library.engine).unwrap();
        let list = engines::create("list").unwrap();
        Process { library, engine, list, posted: vec![], unexpected: vec![], matches: 0, compared: 0 }
    }

    /// Makes a call, and returns its result and the number of entries that the engine compared.
    fn count<T>(&mut self, call: impl FnOnce(&mut dyn Engine) -> T) -> (T, u64) {
        let sum = |engine: &dyn Engine| engine.attempts().posted + engine.attempts().unexpected;
        let before = sum(&*self.engine);
        let outcome = call(&mut *self.engine);
        (outcome, sum(&*self.engine) - before)
    }

    fn arrive(&mut self, message: Message) {
        let order = (self.library.posted)(&self.posted, &message.envelope);
        let position_in_order =
            order.iter().position(|&at| self.posted[at].selector.matches(&message.envelope));
        let (found, compared) = self.count(|engine| engine.arrive_message(message).unwrap());
        let expected = match position_in_order {
            Some(position_in_order) => Some(self.posted.remove(order[position_in_order]).id),
            None => {
                self.unexpected.push(message);
                None
            }
        };
        let name = self.library.engine;
        assert_eq!(found, expected, "{name}: {}", message.envelope);
        // An arrival takes the oldest receive under every order.
        assert_eq!(found, self.list_arrive(message, found), "{name}: {}", message.envelope);
        assert_eq!(
            compared,
            position_in_order.map_or(order.len(), |position_in_order| position_in_order + 1) as u64,
            "{name}: {}",
            message.envelope
        );
        self.matches += u64::from(found.is_some());
        self.compared += compared;
    }

    /// Arrival at `list`, if `list` has the same queues.
    fn list_arrive(&mut self, message: Message, found: Option<RecvId>) -> Option<RecvId> {
        if self.library.has_total_order { self.list.arrive_message(message).unwrap() } else { found }
    }

    fn post(&mut self, receive: Receive) {
        let selector = receive.selector;
        let order = (self.library.unexpected)(&self.unexpected, &selector);
        let matches = |at: &usize| selector.matches(&self.unexpected[*at].envelope);
        let position_in_order = order.as_ref().map(|order| order.iter().position(&matches));
        let oldest = (0..self.unexpected.len()).find(|at| matches(at));
        let at = match (&order, position_in_order) {
            (Some(order), Some(position_in_order)) => {
                position_in_order.map(|position_in_order| order[position_in_order])
            }
            _ => oldest,
        };
        let (probed, compared_by_probe) = self.count(|engine| engine.probe(&selector));
        let (found, compared) = self.count(|engine| engine.post(receive).unwrap());
        let name = self.library.engine;
        assert_eq!(found, at.map(|at| self.unexpected[at].id), "{name}: {selector}");
        assert_eq!((probed, compared_by_probe), (found, compared), "{name}: {selector}");
        if self.library.has_total_order {
            assert_eq!(found, self.list.post(receive).unwrap(), "{name}: {selector}");
        }
        if let (Some(order), Some(position_in_order)) = (&order, position_in_order) {
            assert_eq!(
                compared,
                position_in_order.map_or(order.len(), |position_in_order| position_in_order + 1) as u64,
                "{name}: {selector}"
            );
        }
        match at {
            Some(at) => drop(self.unexpected.remove(at)),
            None => self.posted.push(receive),
        }
        self.matches += u64::from(found.is_some());
        self.compared += compared;
    }
}

/// Random posts and arrivals. Tags that differ by multiples of 1021 share a bucket of UCX. Returns the
/// numbers of matches and compared entries.
fn play(library: &Library, seed: u64) -> (u64, u64) {
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut process = Process::new(library);
    for id in 0..4000 {
        let context = ContextId(draw(3) as u32);
        let (source, tag) = (Rank(draw(5) as u32), Tag(draw(6) + 1021 * draw(3)));
        // Both queues become long.
        if draw(100) < if id / 500 % 2 == 0 { 60 } else { 40 } {
            let source = if draw(5) == 0 { Wild::Any } else { Wild::Is(source) };
            let tag = if draw(8) == 0 { Wild::Any } else { Wild::Is(tag) };
            process.post(Receive::new(RecvId(id), Selector::new(context, source, tag)));
        } else {
            process.arrive(Message::new(MsgId(id), Envelope::new(context, source, tag)));
        }
    }
    (process.matches, process.compared)
}

#[test]
fn stand_in_compares_documented_entries() {
    for library in [&MPICH, &OB1, &OB1_IN_ORDER, &UCX_UNDER_OPEN_MPI, &UCX_UNDER_MPICH] {
        for seed in 1..=20 {
            let (matches, compared) = play(library, seed);
            assert!(matches > 1000 && compared > matches, "{}: {matches}, {compared}", library.engine);
        }
    }
}

/// MPICH before 4.3 masks two bits of every receive. UCX then has two lists, as `list` has.
#[test]
fn masked_receives_cost_ucx_list_searches() {
    let attempts = |name: &str| {
        let mut engine = engines::create_counting(name).unwrap();
        let ignored = |tag| matchpoint::TagMask { value: Tag(tag), ignore: 0x6000_0000 };
        let receive = |id: u64, tag| {
            let selector = Selector::new(ContextId(0), Wild::Is(Rank(0)), Wild::Masked(ignored(tag)));
            Receive::new(RecvId(id), selector)
        };
        let message = |id: u64| Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(0), Tag(id)));
        (0..500).for_each(|id| assert_eq!(engine.post(receive(id, id)), Ok(None)));
        (0..500).rev().for_each(|id| assert_eq!(engine.arrive_message(message(id)), Ok(Some(RecvId(id)))));
        (0..500).for_each(|id| assert_eq!(engine.arrive_message(message(id)), Ok(None)));
        (0..500).rev().for_each(|id| assert_eq!(engine.post(receive(id, id)), Ok(Some(MsgId(id)))));
        engine.attempts()
    };
    assert_eq!(attempts("ucx:tags=mpich"), attempts("list"));
}
