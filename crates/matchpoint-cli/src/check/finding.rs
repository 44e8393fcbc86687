//! Findings as text and as JSON.

use std::fmt::Write as _;
use std::process::ExitStatus;

use matchpoint::event::script;
use matchpoint_conformance::{Law, Report, Violation};
use matchpoint_replay::format::{count, counted, in_place};
use serde::{Deserialize, Serialize};

use super::candidate::Candidate;

/// Exit code if a law is broken.
pub(super) const BROKEN: u8 = 1;
/// Exit code if nothing was checked.
pub(super) const UNABLE: u8 = 2;

/// Lines of a script in the output. `--save` writes all lines.
const SHOWN: usize = 60;

pub(super) const NOT_COVERED: &str = "not covered: calls from several threads, calls from callbacks, NULL or reserved \
                                      arguments, allocation failures, statistics, time, longer queues and streams";

#[derive(Serialize, Deserialize)]
pub(super) struct Finding {
    engine: String,
    substitute: Option<String>,
    /// Streams with the substitute at their end. `None`: a law is broken.
    substitute_streams: Option<u64>,
    law_broken: Option<LawBroken>,
    streams: u64,
    events: u64,
    matches: u64,
    not_checked: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct LawBroken {
    law: String,
    how: String,
    stream: String,
    script: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Findings {
    pub(super) schema: u32,
    pub(super) engines: Vec<Finding>,
}

impl Finding {
    pub(super) fn new(candidate: &Candidate, judged: &Result<Report, Box<Violation>>) -> Self {
        let report = match judged {
            Ok(report) => report,
            Err(violation) => &violation.played,
        };
        let law_broken = judged.as_ref().err().map(|violation| LawBroken {
            law: violation.broken.law.sentence().to_owned(),
            how: violation.broken.how.clone(),
            stream: violation.stream.clone(),
            script: script::print(&violation.events).lines().map(str::to_owned).collect(),
        });
        let (substitute, substitute_streams) = match judged {
            Ok(Report { substitute: Some(of), .. }) => (Some(of.name.clone()), Some(of.streams)),
            Ok(_) => (None, None),
            Err(violation) => (violation.substitute.clone(), None),
        };
        Finding {
            engine: candidate.title.clone(),
            substitute,
            substitute_streams,
            law_broken,
            streams: report.streams,
            events: report.events,
            matches: report.matches,
            not_checked: candidate.lacks.iter().map(|function| function.name().to_owned()).collect(),
        }
    }

    pub(super) fn crashed(&mut self, stream: &str, status: ExitStatus) {
        let (law, how) = (Law::Panic.sentence().to_owned(), format!("It crashed ({status})."));
        self.law_broken = Some(LawBroken { law, how, stream: stream.to_owned(), script: Vec::new() });
    }

    pub(super) fn text(&self, violation: Option<&Violation>) -> String {
        let engine = in_place(&self.engine, self.substitute.as_deref());
        let mut text = match violation {
            Some(violation) => format!("{engine}: BREAKS A LAW\n{}", shortened(&violation.to_string())),
            None => match &self.law_broken {
                Some(LawBroken { law, how, stream, .. }) => {
                    format!("{engine}: BREAKS A LAW\n# {how}\n# Law: {law}\n# First seen in: {stream}\n")
                }
                None => format!(
                    "{engine}: {}, {}, {} matches: no law broken\n",
                    counted(self.streams, "stream"),
                    counted(self.events, "event"),
                    count(self.matches)
                ),
            },
        };
        if let Some(streams) = self.substitute_streams.filter(|&streams| streams < self.streams) {
            let all = counted(self.streams, "stream");
            let _ = writeln!(text, "  the substitute matched at the end of {} of {all}", count(streams));
        }
        if self.law_broken.is_none() && !self.not_checked.is_empty() {
            let names = self.not_checked.join(", ");
            let _ = writeln!(text, "  not checked, because the library lacks these functions: {names}");
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
