//! Checks of completions.

use std::mem::zeroed;

use matchpoint_fabric::abi::*;

use super::*;

impl Stream {
    pub(super) fn record_arrivals(&mut self) {
        while let Some((at, from)) = world().arrivals.pop_front() {
            let (Some(at), Some(from)) =
                (self.endpoint_of_core_number(at), self.endpoint_of_core_number(from))
            else {
                continue;
            };
            let id = self.in_transit.get_mut(&(from, at)).and_then(VecDeque::pop_front);
            let id = id.expect("nothing arrives that was not sent");
            let tag = self.messages[id].tag;
            if let Some(receive) = self.endpoints[at].lists.arrive(Unexpected { id, from, tag }) {
                self.record_match(receive, id);
            }
        }
    }

    pub(super) fn read(&mut self, at: usize) -> usize {
        let cq = self.endpoints[at].cq;
        let bytes = [0, 8, 24, 40, 48][self.options.format as usize];
        let count = 1 + self.random.below(5);
        let (mut room, mut sources) = (vec![0_u64; 6 * count], vec![7; count]);
        // SAFETY: the queue is open, and the buffer has space for as many entries.
        let rc = unsafe {
            (*(*cq).ops).readfrom.expect("it reads")(
                cq,
                room.as_mut_ptr().cast(),
                count,
                sources.as_mut_ptr(),
            )
        };
        self.record_arrivals();
        if rc == -(errno::EAVAIL as isize) {
            return self.read_error(cq);
        }
        if rc == -(errno::EAGAIN as isize) {
            return 0;
        }
        let read = usize::try_from(rc).expect("a number of completions");
        for (which, &source) in sources.iter().enumerate().take(read) {
            let mut entry = [0_u64; 6];
            let words = bytes / 8;
            entry[..words].copy_from_slice(&room[which * words..(which + 1) * words]);
            self.check(entry, source);
        }
        read
    }

    pub(super) fn read_error(&mut self, cq: *mut FidCq) -> usize {
        // SAFETY: an all-zero entry is valid. The queue is open.
        let (rc, error) = unsafe {
            let mut error: CqErrEntry = zeroed();
            ((*(*cq).ops).readerr.expect("it reads errors")(cq, &raw mut error, 0), error)
        };
        assert_eq!(rc, 1, "{:?}: there is an error to read", self.options);
        let id = *self.by_context.get(&(error.op_context as usize)).expect("an operation of ours");
        self.end(id, error.err);
        let operation = &self.operations[id];
        if let (Kind::Receive, Some(message)) = (operation.kind, operation.message) {
            let (sent, received) = (&self.messages[message].bytes, operation.buffers.concat());
            assert_eq!(error.olen, sent.len() - received.len(), "{:?}: bytes that did not fit", self.options);
            assert!(received[..] == sent[..received.len()], "{:?}: what did fit", self.options);
            assert_eq!(error.tag, self.messages[message].tag);
        }
        1
    }

    /// Checks that an operation ends once.
    pub(super) fn end(&mut self, id: usize, with: i32) {
        let options = self.options;
        let operation = &mut self.operations[id];
        assert!(
            operation.is_reported,
            "{options:?}: {id}, {:?}, tells without being asked to",
            operation.kind
        );
        assert!(!operation.is_done, "{options:?}: {id}, {:?}, ends twice", operation.kind);
        operation.is_done = true;
        if operation.kind == Kind::Send {
            operation.buffers.iter_mut().for_each(|buffer| buffer.fill(0xAB));
        }
        let Operation { kind, message, expected, .. } = operation;
        assert_eq!(
            *expected,
            Some(with),
            "{options:?}: {id}, {kind:?}, message {message:?}, ends with {with}"
        );
    }

    pub(super) fn check(&mut self, entry: [u64; 6], source: Addr) {
        let [context, is, length, _, data, tag] = entry;
        let options = self.options;
        let id = *self.by_context.get(&(context as usize)).expect("an operation of ours");
        self.end(id, 0);
        let operation = &self.operations[id];
        let Some(message) = operation.message.filter(|_| operation.kind != Kind::Send) else { return };
        let sent = &self.messages[message];
        if operation.kind == Kind::Receive {
            let received = operation.buffers.concat();
            assert!(
                received[..sent.bytes.len()] == sent.bytes[..],
                "{options:?}: {id} is given another message"
            );
            assert!(
                received[sent.bytes.len()..].iter().all(|&byte| byte == 0xEE),
                "{options:?}: written beyond"
            );
        }
        let claimed_and_dropped =
            operation.kind == Kind::Discard && operation.buffers.is_empty() && source == ADDR_UNSPEC;
        assert!(
            claimed_and_dropped
                || source == self.core_number(sent.from)
                || operation.has_unknown_source && source == ADDR_UNSPEC,
            "{options:?}: {id} is from {source}"
        );
        if options.format >= 2 {
            assert_eq!(length, sent.bytes.len() as u64, "{options:?}: {id}, length");
            assert_eq!(is & (flags::TAGGED | flags::RECV), flags::TAGGED | flags::RECV);
        }
        if options.format >= 3 && !claimed_and_dropped {
            assert_eq!(
                is & flags::REMOTE_CQ_DATA != 0,
                sent.data.is_some(),
                "{options:?}: {id}, whether there is data"
            );
            if let Some(expected) = sent.data {
                assert_eq!(data, expected, "{options:?}: {id}, data");
            }
        }
        if options.format >= 4 {
            assert_eq!(tag, sent.tag, "{options:?}: {id}, tag");
        }
    }
}
