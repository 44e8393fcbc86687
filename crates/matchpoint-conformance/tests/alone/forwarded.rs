//! Calls that a wrapper forwards to its field 0.

macro_rules! forwarded {
    () => {
        fn probe(&mut self, selector: &matchpoint::Selector) -> Option<matchpoint::MsgId> {
            self.0.probe(selector)
        }

        fn matched_probe(&mut self, selector: &matchpoint::Selector) -> Option<matchpoint::MsgId> {
            self.0.matched_probe(selector)
        }

        fn cancel(&mut self, receive: &matchpoint::Receive) -> bool {
            self.0.cancel(receive)
        }

        fn retract(&mut self, message: &matchpoint::Message) -> bool {
            self.0.retract(message)
        }

        fn readdress(
            &mut self,
            message: &matchpoint::Message,
            source: matchpoint::Rank,
        ) -> Result<matchpoint::Readdressed, matchpoint::Refused> {
            self.0.readdress(message, source)
        }

        fn set_hints(
            &mut self,
            context: matchpoint::ContextId,
            hints: matchpoint::Hints,
        ) -> Result<(), matchpoint::Refused> {
            self.0.set_hints(context, hints)
        }

        fn close(&mut self, context: matchpoint::ContextId, drained: &mut matchpoint::Drained) {
            self.0.close(context, drained);
        }

        fn fail_source(
            &mut self,
            context: matchpoint::ContextId,
            source: matchpoint::Rank,
            drained: &mut matchpoint::Drained,
        ) {
            self.0.fail_source(context, source, drained);
        }

        fn visit(&self, queue: matchpoint::Queue, each: &mut dyn FnMut(matchpoint::Entry)) {
            self.0.visit(queue, each);
        }

        fn posted_len(&self) -> usize {
            self.0.posted_len()
        }

        fn unexpected_len(&self) -> usize {
            self.0.unexpected_len()
        }

        fn footprint(&self) -> matchpoint::Footprint {
            self.0.footprint()
        }
    };
}

pub(crate) use forwarded;
