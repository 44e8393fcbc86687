//! Macro for methods of `Engine` and `Concurrent` that forward a call.

/// Implements the named methods of an `impl Engine` or `impl Concurrent`:
///
/// | first word | a method calls |
/// |---|---|
/// | `inside` | the engine that `self.call`, or `self.read` without changes, passes to its closure |
/// | `concurrent` | the engine that `self.call` passes to its closure, from `&self` |
/// | `functions [PATH]` | the function with the method's name in the module `PATH` |
/// | `through [PLACE]` | the engine at `self.PLACE`, such as `[engine]`, `[0]` or `[engine_mut()]` |
#[macro_export]
macro_rules! forwarded {
    (inside: $($method:ident)*) => { $($crate::forwarded!(@ inside read $method);)* };
    (concurrent: $($method:ident)*) => { $($crate::forwarded!(@ concurrent concurrent $method);)* };
    (functions $path:tt: $($method:ident)*) => {
        $($crate::forwarded!(@ (change $path) (read $path) $method);)*
    };
    (through $place:tt: $($method:ident)*) => {
        $($crate::forwarded!(@ (through_change $place) (through_read $place) $method);)*
    };

    (@ $change:tt $read:tt post_selector) => {
        $crate::forwarded!($change post_selector(
            id: $crate::RecvId,
            selector: &$crate::Selector
        ) -> Result<Option<$crate::MsgId>, $crate::Refused>);
    };
    (@ $change:tt $read:tt arrive) => {
        $crate::forwarded!($change arrive(
            id: $crate::MsgId,
            pair: $crate::Pair,
            tag: $crate::Tag
        ) -> Result<Option<$crate::RecvId>, $crate::Refused>);
    };
    (@ $change:tt $read:tt arrive_batch) => {
        $crate::forwarded!($change arrive_batch(
            messages: &[$crate::Message],
            out: &mut Vec<Option<$crate::RecvId>>
        ) -> Result<(), $crate::Refused>);
    };
    (@ $change:tt $read:tt deliver_batch) => {
        $crate::forwarded!($change deliver_batch(
            messages: &[$crate::Message],
            out: &mut Vec<Option<$crate::RecvId>>,
            deliver: &$crate::Deliver<'_>
        ) -> Result<(), $crate::Refused>);
    };
    (@ $change:tt $read:tt probe) => {
        $crate::forwarded!($change probe(selector: &$crate::Selector) -> Option<$crate::MsgId>);
    };
    (@ $change:tt $read:tt matched_probe) => {
        $crate::forwarded!($change matched_probe(
            selector: &$crate::Selector
        ) -> Option<$crate::MsgId>);
    };
    (@ $change:tt $read:tt cancel) => {
        $crate::forwarded!($change cancel(receive: &$crate::Receive) -> bool);
    };
    (@ $change:tt $read:tt retract) => {
        $crate::forwarded!($change retract(message: &$crate::Message) -> bool);
    };
    (@ $change:tt $read:tt readdress) => {
        $crate::forwarded!($change readdress(
            message: &$crate::Message,
            source: $crate::Rank
        ) -> Result<$crate::Readdressed, $crate::Refused>);
    };
    (@ $change:tt $read:tt set_hints) => {
        $crate::forwarded!($change set_hints(
            context: $crate::ContextId,
            hints: $crate::Hints
        ) -> Result<(), $crate::Refused>);
    };
    (@ $change:tt $read:tt close) => {
        $crate::forwarded!($change close(
            context: $crate::ContextId,
            drained: &mut $crate::Drained
        ));
    };
    (@ $change:tt $read:tt fail_source) => {
        $crate::forwarded!($change fail_source(
            context: $crate::ContextId,
            source: $crate::Rank,
            drained: &mut $crate::Drained
        ));
    };
    (@ $change:tt $read:tt visit) => {
        $crate::forwarded!($read visit(
            queue: $crate::Queue,
            each: &mut dyn FnMut($crate::Entry)
        ));
    };
    (@ $change:tt $read:tt queued_in) => {
        $crate::forwarded!($read queued_in(context: $crate::ContextId) -> (usize, usize));
    };
    (@ $change:tt $read:tt posted_len) => {
        $crate::forwarded!($read posted_len() -> usize);
    };
    (@ $change:tt $read:tt unexpected_len) => {
        $crate::forwarded!($read unexpected_len() -> usize);
    };
    (@ $change:tt $read:tt order) => {
        $crate::forwarded!($read order() -> $crate::Order);
    };
    (@ $change:tt $read:tt demands) => {
        $crate::forwarded!($read demands() -> $crate::Hints);
    };
    (@ $change:tt $read:tt footprint) => {
        $crate::forwarded!($read footprint() -> $crate::Footprint);
    };
    (@ $change:tt $read:tt attempts) => {
        $crate::forwarded!($read attempts() -> $crate::Attempts);
    };
    (@ $change:tt $read:tt statistics) => {
        $crate::forwarded!($read statistics() -> Vec<(&'static str, f64)>);
    };

    (inside $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&mut self, $($name: $type),*) $(-> $result)? {
            self.call(|engine| engine.$method($($name),*))
        }
    };
    (read $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            self.read(|engine| engine.$method($($name),*))
        }
    };
    (concurrent $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            self.call(|engine| engine.$method($($name),*))
        }
    };
    ((change [$($path:tt)+]) $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&mut self, $($name: $type),*) $(-> $result)? {
            $($path)+::$method(self, $($name),*)
        }
    };
    ((read [$($path:tt)+]) $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            $($path)+::$method(self, $($name),*)
        }
    };
    ((through_change [$($place:tt)+]) $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&mut self, $($name: $type),*) $(-> $result)? {
            self.$($place)+.$method($($name),*)
        }
    };
    ((through_read [$($place:tt)+]) $method:ident($($name:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            self.$($place)+.$method($($name),*)
        }
    };
}
