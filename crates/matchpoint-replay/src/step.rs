//! Steps: the events of one rank with the results of the replay's matcher.

use matchpoint::{Message, MsgId, Receive, RecvId, Selector};

use crate::label::{Label, WildcardClass};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub at_ns: i64,
    pub kind: Kind,
    /// Index + 1 of the receive's call site in the tally, or 0.
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
    Retract {
        message: Message,
    },
}

/// A step in half the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactStep {
    at_ns: i64,
    /// Index of the process among the ranks with a stream.
    pub process: u32,
    kind: CompactKind,
    /// `other` is the matched entry.
    is_match: bool,
    matched_class: WildcardClass,
    label: Label,
    from: u32,
    site: u32,
    id: u64,
    other: u64,
}

#[derive(Clone, Copy, Debug)]
enum CompactKind {
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
    fn compact(self, kind: CompactKind, label: Label, id: u64, other: Option<u64>) -> CompactStep {
        CompactStep {
            at_ns: self.at_ns,
            process: self.process as u32,
            kind,
            is_match: other.is_some(),
            matched_class: label.wildcards(),
            label,
            from: u32::MAX,
            site: 0,
            id,
            other: other.unwrap_or(0),
        }
    }

    #[inline]
    pub fn post(self, receive: RecvId, selector: Label, took: Option<MsgId>) -> CompactStep {
        self.compact(CompactKind::Post, selector, receive.0, took.map(|message| message.0))
    }

    #[inline]
    pub fn arrive(
        self,
        message: MsgId,
        label: Label,
        from: u32,
        took: Option<(RecvId, Label)>,
    ) -> CompactStep {
        let matched_class = took.map_or(label.wildcards(), |(_, selector)| selector.wildcards());
        let compact = self.compact(CompactKind::Arrive, label, message.0, took.map(|(receive, _)| receive.0));
        CompactStep { from, matched_class, ..compact }
    }

    pub fn probe(self, selector: Label, found: Option<MsgId>) -> CompactStep {
        self.compact(CompactKind::Probe, selector, 0, found.map(|message| message.0))
    }

    pub fn matched_probe(self, selector: Label, took: Option<MsgId>) -> CompactStep {
        self.compact(CompactKind::MatchedProbe, selector, 0, took.map(|message| message.0))
    }

    pub fn cancel(self, receive: RecvId, selector: Label, was_posted: bool) -> CompactStep {
        self.compact(CompactKind::Cancel, selector, receive.0, was_posted.then_some(0))
    }

    pub fn retract(self, message: MsgId, label: Label) -> CompactStep {
        self.compact(CompactKind::Retract, label, message.0, None)
    }
}

impl CompactStep {
    #[inline]
    pub fn with_site(self, site: u32) -> CompactStep {
        CompactStep { site, ..self }
    }

    #[inline]
    pub fn unexpected_change(&self) -> i32 {
        match self.kind {
            CompactKind::Arrive => i32::from(!self.is_match),
            CompactKind::Post | CompactKind::MatchedProbe => -i32::from(self.is_match),
            CompactKind::Retract => -1,
            CompactKind::Probe | CompactKind::Cancel => 0,
        }
    }

    #[inline]
    pub fn expand(&self) -> Step {
        let CompactStep { label, .. } = *self;
        let receive = || Receive::new(RecvId(self.id), label.to_selector());
        let message = || Message::new(MsgId(self.id), label.to_envelope());
        let other = self.is_match.then_some(MsgId(self.other));
        let kind = match self.kind {
            CompactKind::Post => Kind::Post { receive: receive(), took: other },
            CompactKind::Arrive => {
                let taken =
                    || Receive::new(RecvId(self.other), label.with_class(self.matched_class).to_selector());
                Kind::Arrive { message: message(), from: self.from, took: self.is_match.then(taken) }
            }
            CompactKind::Probe => Kind::Probe { selector: label.to_selector(), found: other },
            CompactKind::MatchedProbe => Kind::MatchedProbe { selector: label.to_selector(), took: other },
            CompactKind::Cancel => Kind::Cancel { receive: receive(), was_posted: self.is_match },
            CompactKind::Retract => Kind::Retract { message: message() },
        };
        Step { at_ns: self.at_ns, kind, site: self.site }
    }
}

/// The steps of each rank are in order.
pub(crate) trait StepSink {
    fn record_step(&mut self, step: CompactStep);

    #[inline(always)]
    fn record_send(&mut self, _sent: SendEvent) {}

    /// The call made all steps of its process since the previous end.
    #[inline(always)]
    fn end_call(&mut self, _end: CallEnd) {}
}

/// Recorded only for processes with one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallEnd {
    pub process: u32,
    /// Recorded duration, at most the type's maximum.
    pub took_ns: u32,
    /// The call completed a receive: all messages that had arrived were matched.
    pub completes_receive: bool,
    /// Time until which the call waited for messages. [`CallEnd::NO_WAIT`] if the call did not wait, or if
    /// times are not recorded.
    pub waited_until_ns: i64,
}

impl CallEnd {
    pub const NO_WAIT: i64 = i64::MIN;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SendEvent {
    pub at_ns: i64,
    pub from: u32,
    pub to: u32,
    /// 0 if the trace has no size.
    pub bytes: u64,
}
