//! Result of a conversion.

use std::io;

use matchpoint_replay::Progress;
use matchpoint_trace::TraceError;

use crate::failure::Failure;

pub(super) struct Written {
    pub calls: u64,
    pub notes: Vec<String>,
}

pub(super) fn failed(
    progress: &Progress,
    error: &io::Error,
    writing: impl Fn(&io::Error) -> Failure,
) -> Failure {
    let of_trace = error.get_ref().is_some_and(|error| error.is::<TraceError>());
    match error.kind() {
        _ if progress.stopped() => Failure::Interrupted,
        _ if of_trace => Failure::Message(error.to_string()),
        _ => writing(error),
    }
}
