//! The file of a machine: reading with checks, and writing.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use super::{FORMAT, GammaAt, Link, Locality, Machine, Protocol, Provenance, QueueSearch};
use crate::estimate::ParameterEstimate;
use crate::file_error::FileError;
use crate::lines::{line_of, parse_toml};

/// No machine has this many parameters.
const BYTES_MAX: u64 = 1 << 20;

const HINT: &str = "see docs/reference/machine.md";

pub(super) fn read(path: &Path) -> Result<Machine, FileError> {
    let failed = |problem: String| FileError { path: path.to_owned(), line: None, problem };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| {
        failed(format!("{error}\nhint: name a machine file, such as machines/blue-waters.toml"))
    })?;
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| failed(format!("{error}; a machine file is TOML\nhint: {HINT}")))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(failed(format!(
            "more than {BYTES_MAX} bytes, too large for a machine file\nhint: {HINT}"
        )));
    }
    parse(&text, path)
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Machine, FileError> {
    let failed = |line, problem: String| FileError {
        path: path.to_owned(),
        line,
        problem: format!("{problem}\nhint: {HINT}"),
    };
    let machine: Machine = parse_toml(text).map_err(|(line, problem)| failed(line, problem))?;
    match find_problem(&machine) {
        Some(Problem { table, key, what }) => Err(failed(line_of(text, table, key), what)),
        None => Ok(machine),
    }
}

/// A contradiction between numbers, and the key to report.
struct Problem {
    table: &'static str,
    key: &'static str,
    what: String,
}

fn find_problem(machine: &Machine) -> Option<Problem> {
    if machine.format != FORMAT {
        let what = format!("format = {}, but this version reads format {FORMAT}", machine.format);
        return Some(Problem { table: "", key: "format", what });
    }
    let counts = [
        ("node", "sockets", machine.node.sockets),
        ("node", "processes", machine.node.processes),
        ("contention", "nodes_per_router", machine.contention.nodes_per_router),
    ];
    if let Some(&(table, key, _)) = counts.iter().find(|(.., count)| *count == Some(0)) {
        return Some(Problem { table, key, what: format!("{table}.{key} is 0, where 1 is the least") });
    }
    let of_links = Locality::ALL.into_iter().find_map(|locality| sizes_problem(machine, locality));
    of_links.or_else(|| messages_problem(&machine.queue_search)).or_else(|| confidence_problem(machine))
}

fn sizes_problem(machine: &Machine, locality: Locality) -> Option<Problem> {
    let (table, link) = (locality.key(), machine.link(locality));
    let (short, eager) =
        link.short_max_bytes.zip(link.eager_max_bytes).filter(|(short, eager)| short > eager)?;
    let what = format!("{table}.short_max_bytes, {short}, exceeds {table}.eager_max_bytes, {eager}");
    Some(Problem { table, key: "short_max_bytes", what })
}

fn messages_problem(search: &QueueSearch) -> Option<Problem> {
    let (table, key) = ("queue_search", "by_messages");
    let numbers: Vec<u32> = search.by_messages.iter().map(|at| at.messages).collect();
    let is_ascending = numbers.first() != Some(&0) && numbers.windows(2).all(|two| two[0] < two[1]);
    let what = format!("{table}.{key}: its messages are {numbers:?}, and not 1 or more and ascending");
    (!is_ascending).then_some(Problem { table, key, what })
}

fn confidence_problem(machine: &Machine) -> Option<Problem> {
    let what = match machine.provenance.confidence {
        Some(confidence) if !(confidence > 0.0 && confidence < 1.0) => {
            format!("provenance.confidence is {confidence}, where 0.95 would be 95 %")
        }
        None if estimates(machine).any(|estimate| estimate.interval.is_some()) => {
            "there are intervals, but no provenance.confidence says how sure they are".to_owned()
        }
        _ => return None,
    };
    Some(Problem { table: "provenance", key: "confidence", what })
}

fn estimates(machine: &Machine) -> impl Iterator<Item = ParameterEstimate> + '_ {
    let transports = Locality::ALL.into_iter().flat_map(move |locality| {
        Protocol::ALL.into_iter().map(move |protocol| machine.link(locality).transport(protocol))
    });
    let of_links = transports.flat_map(|of| [of.alpha_s, of.rate_bytes_per_s, of.node_rate_bytes_per_s]);
    let by_messages = machine.queue_search.by_messages.iter().map(|at| Some(at.gamma_s));
    let others = [
        machine.queue_search.gamma_s,
        machine.queue_search.attempt_s,
        machine.contention.delta_s_per_byte,
        machine.logp.overhead_s,
        machine.logp.gap_s,
    ];
    of_links.chain(by_messages).chain(others).flatten()
}

impl Machine {
    /// Text that [`parse`](super::parse) can read.
    pub fn to_toml(&self) -> String {
        let mut text = format!("format = {FORMAT}\nname = {}\n", quote(&self.name));
        write_provenance(&mut text, &self.provenance);
        write_table(
            &mut text,
            "node",
            &[
                ("sockets", self.node.sockets.map(|count| count.to_string())),
                ("processes", self.node.processes.map(|count| count.to_string())),
            ],
        );
        for locality in Locality::ALL {
            write_link(&mut text, locality.key(), self.link(locality));
        }
        let search = &self.queue_search;
        write_table(
            &mut text,
            "queue_search",
            &[
                ("gamma_s", format_estimate(search.gamma_s)),
                ("attempt_s", format_estimate(search.attempt_s)),
                ("by_messages", by_messages(search)),
            ],
        );
        write_table(
            &mut text,
            "contention",
            &[
                ("delta_s_per_byte", format_estimate(self.contention.delta_s_per_byte)),
                ("nodes_per_router", self.contention.nodes_per_router.map(|count| count.to_string())),
            ],
        );
        write_table(
            &mut text,
            "logp",
            &[
                ("overhead_s", format_estimate(self.logp.overhead_s)),
                ("gap_s", format_estimate(self.logp.gap_s)),
            ],
        );
        text
    }
}

fn write_provenance(text: &mut String, of: &Provenance) {
    let notes: Vec<String> = of.notes.iter().map(|note| format!("  {},\n", quote(note))).collect();
    write_table(
        text,
        "provenance",
        &[
            ("who", Some(quote(&of.who))),
            ("when", Some(quote(&of.when))),
            ("host", Some(quote(&of.host))),
            ("mpi", Some(quote(&of.mpi))),
            ("how", Some(quote(&of.how))),
            ("confidence", of.confidence.map(|confidence| format!("{confidence:?}"))),
            ("notes", (!notes.is_empty()).then(|| format!("[\n{}]", notes.concat()))),
        ],
    );
}

fn write_link(text: &mut String, key: &str, of: &Link) {
    write_table(
        text,
        key,
        &[
            ("short_max_bytes", of.short_max_bytes.map(|bytes| bytes.to_string())),
            ("eager_max_bytes", of.eager_max_bytes.map(|bytes| bytes.to_string())),
        ],
    );
    for protocol in Protocol::ALL {
        let transport = of.transport(protocol);
        write_table(
            text,
            &format!("{key}.{}", protocol.key()),
            &[
                ("alpha_s", format_estimate(transport.alpha_s)),
                ("rate_bytes_per_s", format_estimate(transport.rate_bytes_per_s)),
                ("node_rate_bytes_per_s", format_estimate(transport.node_rate_bytes_per_s)),
            ],
        );
    }
}

/// Writes nothing without fields.
fn write_table(text: &mut String, key: &str, fields: &[(&str, Option<String>)]) {
    let mut there = fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).peekable();
    if there.peek().is_some() {
        let _ = write!(text, "\n[{key}]\n");
    }
    for (name, value) in there {
        let _ = writeln!(text, "{name} = {value}");
    }
}

fn format_estimate(estimate: Option<ParameterEstimate>) -> Option<String> {
    estimate.map(|estimate| estimate.to_string())
}

fn by_messages(search: &QueueSearch) -> Option<String> {
    let line = |at: &GammaAt| format!("  {{ messages = {}, gamma_s = {} }},\n", at.messages, at.gamma_s);
    let lines: Vec<String> = search.by_messages.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("[\n{}]", lines.concat()))
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
