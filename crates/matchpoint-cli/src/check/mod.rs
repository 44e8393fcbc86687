//! `matchpoint check`: the laws of matching on our engines, or on those of any library with the C interface.

mod apart;
mod tell;

use std::io::{self, IsTerminal as _, Write as _};
use std::panic;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use matchpoint::{Engine, engines};
use matchpoint_abi::{Function, Library};
use matchpoint_conformance::{Calls, Options, Report, Violation, check_watched};

use self::apart::Trail;
use self::tell::{Finding, Findings};
use crate::cli::{ALL, Check, engines_meant};
use crate::delivery::is_stdout;
use crate::failure::Failure;
use crate::format::{count, counted};
use crate::lines::Lines;
use crate::output::Outputs;

const TEMPLATE: &str = "{bar:20} {percent:>3} %  {msg}: {pos} of {len} streams  {eta} left";

/// An engine to be checked: what it is called in the output, how one is made, which calls it lacks, and whether its
/// table is known to have a fixed size, which long streams may fill.
struct Suspect {
    title: String,
    make: Box<dyn Fn() -> Box<dyn Engine>>,
    lacks: Vec<Function>,
    fixed_table: bool,
}

/// Exit codes: a law is broken; nothing could be checked, as for options that are wrong. 0 says that no law is broken.
const BROKEN: u8 = 1;
const UNABLE: u8 = 2;

/// Runs the command.
///
/// # Errors
/// An engine breaks a law, there is no such engine, or the library cannot be loaded.
pub fn run(arguments: &Check) -> Result<(), Failure> {
    checked(arguments).map_err(|failure| match failure {
        Failure::Message(message) => Failure::Coded(UNABLE, message),
        other => other,
    })
}

fn checked(arguments: &Check) -> Result<(), Failure> {
    if let (Some(library), None) = (&arguments.library, &arguments.trail) {
        return apart::run(arguments, library);
    }
    let mut trail = Trail::new(arguments)?;
    let suspects = suspects(arguments)?;
    let mut outputs = Outputs::default();
    if let Some(folder) = &arguments.save {
        outputs.folder(folder)?;
    }
    let json = Json::prepare(arguments, &mut outputs)?;
    let silent = json.is_printed();
    let mut findings = Findings { schema: 1, engines: Vec::new() };
    let mut broken = 0;
    let mut lines = (!io::stderr().is_terminal()).then(Lines::later);
    for (number, suspect) in suspects.iter().enumerate() {
        let place =
            format!("{}, {} of {}", suspect.title, number + 1, counted(suspects.len() as u64, "engine"));
        let mut options = arguments.options(calls(&suspect.lacks));
        options.deep_may_fill = suspect.fixed_table;
        let judged = judged(suspect, &place, &options, &mut trail, lines.as_mut());
        let finding = Finding::new(suspect, &judged);
        if let (Err(violation), Some(folder)) = (&judged, &arguments.save) {
            save(&mut outputs, folder, suspect, violation)?;
        }
        broken += usize::from(judged.is_err());
        if !silent {
            say(&finding.text(judged.as_ref().err().map(|violation| &**violation)))?;
        }
        trail.finish(&finding);
        findings.engines.push(finding);
    }
    json.write(&findings, &mut outputs)?;
    if !silent && broken < suspects.len() {
        say(&format!("{}\n", tell::NOT_COVERED))?;
    }
    for path in outputs.commit()? {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    verdict(broken, suspects.len())
}

/// Where the JSON goes, if it is wanted.
enum Json {
    Nowhere,
    /// By its number in [`Outputs`].
    File(usize),
    Stdout,
}

impl Json {
    fn prepare(arguments: &Check, outputs: &mut Outputs) -> Result<Self, Failure> {
        Ok(match arguments.json.as_deref() {
            None => Json::Nowhere,
            Some(path) if is_stdout(path) => Json::Stdout,
            Some(path) => Json::File(outputs.reserve(path)?),
        })
    }

    /// Nothing else is on standard output then.
    fn is_printed(&self) -> bool {
        matches!(self, Json::Stdout)
    }

    fn write(&self, findings: &Findings, outputs: &mut Outputs) -> Result<(), Failure> {
        match *self {
            Json::Nowhere => Ok(()),
            Json::File(file) => outputs.fill(file, |out| Ok(serde_json::to_writer_pretty(out, findings)?)),
            Json::Stdout => {
                let text = serde_json::to_string_pretty(findings);
                say(&format!("{}\n", text.map_err(|error| Failure::Message(error.to_string()))?))
            }
        }
    }
}

fn say(text: &str) -> Result<(), Failure> {
    anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

fn verdict(broken: usize, checked: usize) -> Result<(), Failure> {
    let text = match (broken, checked) {
        (0, _) => return Ok(()),
        (_, 1) => "the engine breaks a law; the script above shows it".to_owned(),
        _ => format!("{broken} of {checked} engines break a law; the scripts above show it"),
    };
    Err(Failure::Coded(BROKEN, text))
}

fn suspects(arguments: &Check) -> Result<Vec<Suspect>, Failure> {
    match &arguments.library {
        Some(path) => of_library(path, &arguments.named()),
        None => of_registry(&arguments.named()),
    }
}

fn of_registry(named: &[String]) -> Result<Vec<Suspect>, Failure> {
    let names = if named.is_empty() { engines_meant(&[ALL.to_owned()]) } else { engines_meant(named) };
    let suspect = |name: String| {
        engines::create(&name).map_err(|error| Failure::Message(error.to_string()))?;
        let called = name.clone();
        let make = move || engines::create(&called).unwrap_or_else(|error| panic!("{error}"));
        let bare = name.split(':').next();
        let fixed_table = engines::known().any(|spec| Some(spec.name) == bare && !spec.tight.is_empty());
        Ok(Suspect { title: name, make: Box::new(make), lacks: Vec::new(), fixed_table })
    };
    names.into_iter().map(suspect).collect()
}

/// What the engines are called is up to the library; one that has a single engine need not look at the name.
fn of_library(path: &Path, named: &[String]) -> Result<Vec<Suspect>, Failure> {
    let library = Library::load(path).map_err(|error| Failure::Message(error.to_string()))?;
    let names = if named.is_empty() { vec![String::new()] } else { named.to_vec() };
    let suspect = |name: String| {
        library.create(&name).map_err(Failure::Message)?;
        let title = format!("{} {name}", path.display()).trim_end().to_owned();
        let lacks = library.lacks();
        let library = library.clone();
        let make = move || -> Box<dyn Engine> {
            Box::new(library.create(&name).unwrap_or_else(|error| panic!("{error}")))
        };
        Ok(Suspect { title, make: Box::new(make), lacks, fixed_table: false })
    };
    names.into_iter().map(suspect).collect()
}

fn calls(lacks: &[Function]) -> Calls {
    let has = |function| !lacks.contains(&function);
    Calls {
        retract: has(Function::Retract),
        readdress: has(Function::Readdress),
        set_hints: has(Function::SetHints),
        close: has(Function::Close),
        fail_source: has(Function::FailSource),
        arrive_batch: has(Function::ArriveBatch),
        visit: has(Function::Visit),
        footprint: has(Function::Footprint),
    }
}

fn judged(
    suspect: &Suspect,
    place: &str,
    options: &Options,
    trail: &mut Trail,
    mut lines: Option<&mut Lines>,
) -> Result<Report, Box<Violation>> {
    let total = options.streams_total();
    let bar = ProgressBar::new(total);
    bar.set_style(ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(place.to_owned());
    // A panic of the engine is a law broken, and told as such: not once for every step of shrinking.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let judged = check_watched(&*suspect.make, options, &mut |report, stream| {
        bar.set_position(report.streams);
        if let Some(lines) = &mut lines {
            let of = counted(total, "stream");
            lines.tell(|| format!("{}: {} of {of}; next: {stream}", suspect.title, count(report.streams)));
        }
        trail.note(stream, || Finding::new(suspect, &Ok(report.clone())));
    });
    panic::set_hook(hook);
    bar.finish_and_clear();
    judged
}

/// One script for each engine, named after it.
fn save(
    outputs: &mut Outputs,
    folder: &Path,
    suspect: &Suspect,
    violation: &Violation,
) -> Result<(), Failure> {
    let plain = |character: char| if character.is_alphanumeric() { character } else { '_' };
    let name: String = suspect.title.chars().map(plain).collect();
    let path: PathBuf = folder.join(format!("{}.events", name.trim_matches('_')));
    let file = outputs.reserve(&path)?;
    outputs.fill(file, |out| write!(out, "{violation}"))
}
