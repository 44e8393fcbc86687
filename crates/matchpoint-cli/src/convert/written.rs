//! What a conversion wrote, or why it failed.

use std::io;

use matchpoint_replay::Progress;
use matchpoint_trace::TraceError;

use crate::failure::Failure;

/// What was written.
pub(super) struct Written {
    pub calls: u64,
    /// What a user should know of it: full sentences.
    pub notes: Vec<String>,
}

/// What an error means to the user: what the trace has wrong says where; all else is of the output.
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
