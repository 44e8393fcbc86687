//! What came of it, in words and as JSON.

use std::fmt::Write as _;

use matchpoint::event::script;
use matchpoint_conformance::{Report, Violation};
use serde::Serialize;

use super::Suspect;
use crate::format::{count, counted};

/// Lines of a script that are shown; `--save` keeps all.
const SHOWN: usize = 60;

/// What passing does not say, however many streams there were.
pub(super) const NOT_COVERED: &str = "not covered: calls of several threads, calls within callbacks, arguments that \
                                      are NULL or reserved, memory that runs out, what engines count of \
                                      themselves, time, queues and numbers of calls beyond those above";

/// Of one engine.
#[derive(Serialize)]
pub(super) struct Finding {
    engine: String,
    law_broken: Option<LawBroken>,
    streams: u64,
    events: u64,
    matches: u64,
    not_checked: Vec<&'static str>,
}

#[derive(Serialize)]
struct LawBroken {
    law: &'static str,
    how: String,
    stream: String,
    script: Vec<String>,
}

/// The whole: members never change their meaning.
#[derive(Serialize)]
pub(super) struct Findings {
    pub(super) schema: u32,
    pub(super) engines: Vec<Finding>,
}

impl Finding {
    pub(super) fn new(suspect: &Suspect, judged: &Result<Report, Box<Violation>>) -> Self {
        let report = judged.as_ref().cloned().unwrap_or_default();
        let law_broken = judged.as_ref().err().map(|violation| LawBroken {
            law: violation.broken.law.sentence(),
            how: violation.broken.how.clone(),
            stream: violation.stream.clone(),
            script: script::print(&violation.events).lines().map(str::to_owned).collect(),
        });
        Finding {
            engine: suspect.title.clone(),
            law_broken,
            streams: report.streams,
            events: report.events,
            matches: report.matches,
            not_checked: suspect.lacks.iter().map(|function| function.name()).collect(),
        }
    }

    /// For people.
    pub(super) fn text(&self, violation: Option<&Violation>) -> String {
        let mut text = match violation {
            Some(violation) => {
                format!("{}: BREAKS A LAW\n{}", self.engine, shortened(&violation.to_string()))
            }
            None => format!(
                "{}: {}, {}, {} matches: no law broken\n",
                self.engine,
                counted(self.streams, "stream"),
                counted(self.events, "event"),
                count(self.matches)
            ),
        };
        if violation.is_none() && !self.not_checked.is_empty() {
            let names = self.not_checked.join(", ");
            let _ = writeln!(text, "  not checked, since the library has no such function: {names}");
        }
        text
    }
}

fn shortened(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    if lines.len() <= SHOWN {
        return text.to_owned();
    }
    let more = lines.len() - SHOWN;
    format!(
        "{}\n# and {} more; --save DIR keeps the whole script\n",
        lines[..SHOWN].join("\n"),
        counted(more as u64, "line")
    )
}
