//! The readers of DUMPI against real traces, against what the format's own tool prints of them, and against files
//! made here for what no trace at hand contains.

mod text_agrees;
mod traces;
