//! A snapshot as lines of text.

use anstyle::{AnsiColor, Style};

use super::snapshot::{Length, Life, Row, Snapshot, State};
use crate::format;

/// Columns where there is no terminal.
pub const WIDTH: usize = 80;

/// Lines around those of the ranks.
pub const FIXED_LINES: usize = 7;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// At most `rows` ranks, the longest queues first; no line is wider than `width`.
pub fn lines(snapshot: &Snapshot, width: usize, rows: usize) -> Vec<String> {
    let mut lines = vec![styled(BOLD, &cut(&title(snapshot), width))];
    if snapshot.rows.is_empty() {
        lines.push(cut("no process has called MPI_Init yet", width));
        return lines;
    }
    lines.push(cut(&totals(snapshot), width));
    lines.push(String::new());
    lines.push(styled(BOLD, &cut(HEADER, width)));
    let worst = snapshot.worst_first();
    for row in worst.iter().take(rows) {
        let style =
            if matches!(row.life, Life::Died | Life::Aborted | Life::Lost(_)) { RED } else { Style::new() };
        lines.push(styled(style, &cut(&line(row), width)));
    }
    let rest = &worst[rows.min(worst.len())..];
    lines.push(styled(DIM, &cut(&more(rest), width)));
    lines.extend(LEGEND.iter().map(|text| styled(DIM, &cut(text, width))));
    lines
}

const HEADER: &str = "  rank       PRQ       UMQ    calls/s        calls last call    data  state";

/// Within 80 columns.
const LEGEND: [&str; 2] = [
    "= the MPI library's own count (MPI_T)  ~ estimated from calls: PRQ, receives not",
    "  seen complete; UMQ, messages sent and not received, those on their way too",
];

fn title(snapshot: &Snapshot) -> String {
    let name = snapshot.folder.file_name().unwrap_or(snapshot.folder.as_os_str()).to_string_lossy();
    let state = match snapshot.state {
        State::Waiting => "waiting",
        State::Running if snapshot.behind => "running; still reading",
        State::Running => "running",
        State::Finished => "finished: this is its last state",
    };
    let library = snapshot.library.split(',').next().unwrap_or_default();
    let library: String = library.chars().take(28).collect();
    match snapshot.ranks {
        0 => format!("{name}: {state}"),
        ranks => format!("{name}: {state}  ({}, {})", format::counted(ranks.into(), "rank"), library.trim()),
    }
}

/// All ranks in one line.
pub fn totals(snapshot: &Snapshot) -> String {
    let calls: u64 = snapshot.rows.iter().map(|row| row.calls).sum();
    let per_s: f64 = snapshot.rows.iter().map(|row| row.calls_per_s).sum();
    let most = |name: &str, length: fn(&Row) -> Length| {
        let longest =
            snapshot.rows.iter().max_by_key(|row| (length(row).entries, std::cmp::Reverse(row.rank)));
        let at = longest.filter(|row| length(row).entries > 0);
        let at =
            at.map_or(String::new(), |row| format!(" (most {} at rank {})", shown(length(row)), row.rank));
        format!("{name} {}{at}", shown(snapshot.total(length)))
    };
    let begun = match snapshot.ranks as usize - snapshot.rows.len().min(snapshot.ranks as usize) {
        0 => String::new(),
        missing => format!("  {missing} not there yet"),
    };
    format!(
        "{}  {}  {} calls, {}/s{begun}",
        most("PRQ", |row| row.posted),
        most("UMQ", |row| row.unexpected),
        format::count(calls),
        format::count(per_s.round() as u64),
    )
}

fn line(row: &Row) -> String {
    format!(
        "{:>6} {:>9} {:>9} {:>10} {:>12} {:>9} {:>7}  {}",
        row.rank,
        shown(row.posted),
        shown(row.unexpected),
        format::count(row.calls_per_s.round() as u64),
        format::count(row.calls),
        ago(row.last_call_s),
        ago(row.age_s),
        match &row.life {
            Life::Lost(why) => why,
            life => life.word(),
        },
    )
}

fn more(rest: &[&Row]) -> String {
    if rest.is_empty() {
        return String::new();
    }
    let longest = rest.iter().map(|row| row.posted.entries + row.unexpected.entries).max().unwrap_or(0);
    format!(
        "  and {} more, none with more than {} in both",
        format::counted(rest.len() as u64, "rank"),
        format::count(longest)
    )
}

fn shown(length: Length) -> String {
    format!("{}{}", if length.measured { '=' } else { '~' }, format::count(length.entries))
}

/// `0.4 s`, `12 s`, `5 min`, `3 h`: never wider than eight columns.
fn ago(seconds: f64) -> String {
    match seconds {
        below if below < 9.95 => format!("{below:.1} s"),
        below if below < 120.0 => format!("{below:.0} s"),
        below if below < 7200.0 => format!("{:.0} min", below / 60.0),
        below if below < 48.0 * 3600.0 => format!("{:.0} h", below / 3600.0),
        above => format!("{:.0} d", above / 86400.0),
    }
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

fn styled(style: Style, text: &str) -> String {
    if style == Style::new() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}
