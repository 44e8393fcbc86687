//! Steps: the events of one rank with the results of the replay's matcher.

use matchpoint::{Message, MsgId, Receive, RecvId, Selector};

use crate::label::{Label, Open};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// In the time of the replay.
    pub at_ns: i64,
    pub kind: Kind,
    /// Call site of the receive: index in the tally's sites + 1, or 0.
    pub site: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Post {
        receive: Receive,
        took: Option<MsgId>,
    },
    /// `from` is the sender's rank in `MPI_COMM_WORLD`.
    Arrive {
        message: Message,
        from: u32,
        took: Option<Receive>,
    },
    Probe {
        selector: Selector,
        found: Option<MsgId>,
    },
    MatchedProbe {
        selector: Selector,
        took: Option<MsgId>,
    },
    Cancel {
        receive: Receive,
        was_posted: bool,
    },
    /// An unexpected message.
    Retract {
        message: Message,
    },
}

/// Half the bytes of a step. The measuring thread converts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brief {
    at_ns: i64,
    /// Index of the rank among those with a stream.
    pub process: u32,
    what: What,
    /// The operation matched `other`.
    found: bool,
    /// Wildcards of the matched receive.
    taken_open: Open,
    label: Label,
    from: u32,
    site: u32,
    id: u64,
    other: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Post,
    Arrive,
    Probe,
    MatchedProbe,
    Cancel,
    Retract,
}

#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub at_ns: i64,
    pub process: usize,
}

impl Point {
    #[inline]
    fn brief(self, what: What, label: Label, id: u64, other: Option<u64>) -> Brief {
        Brief {
            at_ns: self.at_ns,
            process: self.process as u32,
            what,
            found: other.is_some(),
            taken_open: label.open(),
            label,
            from: u32::MAX,
            site: 0,
            id,
            other: other.unwrap_or(0),
        }
    }

    #[inline]
    pub fn post(self, receive: RecvId, asked: Label, took: Option<MsgId>) -> Brief {
        self.brief(What::Post, asked, receive.0, took.map(|message| message.0))
    }

    /// `from` is the sender's rank in `MPI_COMM_WORLD`.
    #[inline]
    pub fn arrive(self, message: MsgId, label: Label, from: u32, took: Option<(RecvId, Label)>) -> Brief {
        let taken_open = took.map_or(label.open(), |(_, asked)| asked.open());
        let brief = self.brief(What::Arrive, label, message.0, took.map(|(receive, _)| receive.0));
        Brief { from, taken_open, ..brief }
    }

    pub fn probe(self, asked: Label, found: Option<MsgId>) -> Brief {
        self.brief(What::Probe, asked, 0, found.map(|message| message.0))
    }

    pub fn matched_probe(self, asked: Label, took: Option<MsgId>) -> Brief {
        self.brief(What::MatchedProbe, asked, 0, took.map(|message| message.0))
    }

    pub fn cancel(self, receive: RecvId, asked: Label, was_posted: bool) -> Brief {
        self.brief(What::Cancel, asked, receive.0, was_posted.then_some(0))
    }

    pub fn retract(self, message: MsgId, label: Label) -> Brief {
        self.brief(What::Retract, label, message.0, None)
    }
}

impl Brief {
    #[inline]
    pub fn of_site(self, site: u32) -> Brief {
        Brief { site, ..self }
    }

    /// Change of the unexpected queue's length.
    #[inline]
    pub fn unexpected_change(&self) -> i32 {
        match self.what {
            What::Arrive => i32::from(!self.found),
            What::Post | What::MatchedProbe => -i32::from(self.found),
            What::Retract => -1,
            What::Probe | What::Cancel => 0,
        }
    }

    #[inline]
    pub fn step(&self) -> Step {
        let Brief { label, .. } = *self;
        let receive = || Receive::new(RecvId(self.id), label.selector());
        let message = || Message::new(MsgId(self.id), label.envelope());
        let other = self.found.then_some(MsgId(self.other));
        let kind = match self.what {
            What::Post => Kind::Post { receive: receive(), took: other },
            What::Arrive => {
                let taken = || Receive::new(RecvId(self.other), label.opened(self.taken_open).selector());
                Kind::Arrive { message: message(), from: self.from, took: self.found.then(taken) }
            }
            What::Probe => Kind::Probe { selector: label.selector(), found: other },
            What::MatchedProbe => Kind::MatchedProbe { selector: label.selector(), took: other },
            What::Cancel => Kind::Cancel { receive: receive(), was_posted: self.found },
            What::Retract => Kind::Retract { message: message() },
        };
        Step { at_ns: self.at_ns, kind, site: self.site }
    }
}

/// Consumer of all steps, in the order of each rank.
pub(crate) trait Sink {
    fn step(&mut self, step: Brief);

    /// Between ranks of `MPI_COMM_WORLD`.
    #[inline(always)]
    fn sent(&mut self, _sent: Sent) {}

    /// The call made the steps of its process since the last end.
    #[inline(always)]
    fn ended(&mut self, _end: CallEnd) {}
}

/// 24 bytes, because there are as many ends as steps. Only for processes with one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallEnd {
    /// Index of the rank among those with a stream.
    pub process: u32,
    /// Recorded duration, at most the type's maximum.
    pub took_ns: u32,
    /// All messages that had arrived were matched.
    pub completes_receive: bool,
    /// End of the call in the time of the replay, if it waited for messages and times are recorded; else
    /// [`CallEnd::NO_WAIT`].
    pub waited_until_ns: i64,
}

impl CallEnd {
    pub const NO_WAIT: i64 = i64::MIN;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub at_ns: i64,
    pub from: u32,
    pub to: u32,
    /// 0 if the trace has no size.
    pub bytes: u64,
}
