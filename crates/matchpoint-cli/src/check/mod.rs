//! `matchpoint check`: tests engines, or the engines of a library, against the laws of matching.

mod candidate;
mod finding;
mod isolated;

use std::io::{self, IsTerminal as _};
use std::panic;
use std::path::{Path, PathBuf};

use matchpoint_conformance::{Options, Report, Violation, check_watched};
use matchpoint_replay::format::{count, counted};

use self::candidate::{Candidate, candidates};
use self::finding::{BROKEN, Finding, Findings, UNABLE};
use self::isolated::Trail;
use crate::cli::Check;
use crate::failure::Failure;
use crate::output::{OutputId, Outputs, print};
use crate::progress::{ProgressLines, bar};
use crate::report::schema;

pub fn run(arguments: &Check) -> Result<(), Failure> {
    checked(arguments).map_err(|failure| match failure {
        Failure::Message(message) => Failure::Coded(UNABLE, message),
        other => other,
    })
}

fn checked(arguments: &Check) -> Result<(), Failure> {
    if let (Some(library), None) = (&arguments.library, &arguments.trail) {
        return isolated::run(arguments, library);
    }
    let mut trail = Trail::new(arguments)?;
    let candidates = candidates(arguments)?;
    let mut outputs = Outputs::default();
    if let Some(folder) = &arguments.save {
        outputs.folder(folder)?;
    }
    let json = outputs.reserve_if(arguments.json.as_deref())?;
    let silent = json.is_some_and(OutputId::is_stdout);
    let mut findings = Findings { schema: 1, engines: Vec::new() };
    let mut broken = 0;
    let mut lines = (!io::stderr().is_terminal()).then(ProgressLines::later);
    for (number, candidate) in candidates.iter().enumerate() {
        let place =
            format!("{}, {} of {}", candidate.title, number + 1, counted(candidates.len() as u64, "engine"));
        let mut options = arguments.options(candidate.calls());
        options.deep_may_fill = candidate.fixed_table;
        let judged = judged(candidate, &place, &options, &mut trail, lines.as_mut());
        let finding = Finding::new(candidate, &judged);
        if let (Err(violation), Some(folder)) = (&judged, &arguments.save) {
            save(&mut outputs, folder, candidate, violation)?;
        }
        broken += usize::from(judged.is_err());
        if !silent {
            print(&finding.text(judged.as_ref().err().map(|violation| &**violation)))?;
        }
        trail.finish(&finding);
        findings.engines.push(finding);
    }
    if let Some(json) = json {
        outputs.fill(json, |out| schema::write(&findings, out))?;
    }
    if !silent && broken < candidates.len() {
        print(&format!("{}\n", finding::NOT_COVERED))?;
    }
    outputs.finish("")?;
    verdict(broken, candidates.len())
}

fn verdict(broken: usize, checked: usize) -> Result<(), Failure> {
    let text = match (broken, checked) {
        (0, _) => return Ok(()),
        (_, 1) => "the engine breaks a law: see the script above".to_owned(),
        _ => format!("{broken} of {checked} engines break a law: see the scripts above"),
    };
    Err(Failure::Coded(BROKEN, text))
}

fn judged(
    candidate: &Candidate,
    place: &str,
    options: &Options,
    trail: &mut Trail,
    mut lines: Option<&mut ProgressLines>,
) -> Result<Report, Box<Violation>> {
    let total = options.streams_total();
    let bar = bar("{percent:>3} %  {msg}: {pos} of {len} streams  {eta} left");
    bar.set_length(total);
    bar.set_message(place.to_owned());
    // A panic of the engine is a broken law. The default hook would print a panic for each shorter script.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let judged = check_watched(&*candidate.make, options, &mut |report, stream| {
        bar.set_position(report.streams);
        if let Some(lines) = &mut lines {
            let of = counted(total, "stream");
            lines.print(|| format!("{}: {} of {of}; next: {stream}", candidate.title, count(report.streams)));
        }
        trail.note(stream, || Finding::new(candidate, &Ok(report.clone())));
    });
    panic::set_hook(hook);
    bar.finish_and_clear();
    judged
}

fn save(
    outputs: &mut Outputs,
    folder: &Path,
    candidate: &Candidate,
    violation: &Violation,
) -> Result<(), Failure> {
    let plain = |character: char| if character.is_alphanumeric() { character } else { '_' };
    let name: String = candidate.title.chars().map(plain).collect();
    let path: PathBuf = folder.join(format!("{}.events", name.trim_matches('_')));
    let file = outputs.reserve(&path)?;
    outputs.fill(file, |out| write!(out, "{violation}"))
}
