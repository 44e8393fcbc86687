//! A snapshot as lines of text.

use anstyle::{AnsiColor, Style};
use matchpoint_record::watch::snapshot::{JobState, ProcessState, QueueLength, Row, Snapshot};
use matchpoint_replay::format;

const WIDTH: usize = 80;

/// Maximum number of lines, not counting the lines of ranks.
pub const FIXED_LINES: usize = 8;

/// Maximum number of lines, not counting the lines of ranks and of the legend.
const BRIEF_LINES: usize = 4;

/// With fewer ranks, the legend is omitted.
const FEW: usize = 3;

const WIDE: usize = 70;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// Lines for a terminal, with at most `most` ranks. `…` marks truncated text.
pub fn page(snapshot: &Snapshot, width: usize, height: usize, most: usize) -> Vec<String> {
    let explained = height >= FIXED_LINES + FEW;
    let around = if explained { FIXED_LINES } else { BRIEF_LINES };
    let narrow = width < WIDE;
    let head = vec![fitting(&titles(snapshot), width), fitting(&totals_by_length(snapshot), width)];
    let mut lines = table(snapshot, head, narrow, height.saturating_sub(around).min(most), explained);
    lines.truncate(height);
    lines.iter().map(|(style, line)| styled(*style, &cut(line, width))).collect()
}

pub fn lines(snapshot: &Snapshot, rows: usize) -> Vec<String> {
    let mut head = vec![titles(snapshot)[0].clone()];
    head.extend(broken(&totals_in_parts(snapshot), WIDTH));
    let lines = table(snapshot, head, false, rows, true);
    lines.iter().map(|(style, line)| styled(*style, line)).collect()
}

fn table(
    snapshot: &Snapshot,
    head: Vec<String>,
    narrow: bool,
    rows: usize,
    explained: bool,
) -> Vec<(Style, String)> {
    let plain = |text: &str| (Style::new(), text.to_owned());
    let mut head = head.into_iter();
    let mut lines = vec![(BOLD, head.next().unwrap_or_default())];
    if snapshot.rows.is_empty() {
        lines.push(plain("no process has called MPI_Init yet"));
        return lines;
    }
    lines.extend(head.map(|line| plain(&line)));
    if explained {
        lines.push(plain(""));
    }
    lines.push((BOLD, (if narrow { NARROW_HEADER } else { HEADER }).to_owned()));
    let worst = snapshot.worst_first();
    for row in worst.iter().take(rows) {
        let style =
            if matches!(row.life, ProcessState::Died | ProcessState::Aborted | ProcessState::Unreadable(_)) {
                RED
            } else {
                Style::new()
            };
        lines.push((style, if narrow { narrow_line(row) } else { line(row) }));
    }
    let rest = &worst[rows.min(worst.len())..];
    lines.push((DIM, more(rest, snapshot.elsewhere)));
    if explained {
        let legend = if narrow { NARROW_LEGEND } else { LEGEND };
        lines.extend(legend.iter().map(|text| (DIM, (*text).to_owned())));
    }
    lines
}

const HEADER: &str = " rank      PRQ      UMQ   calls/s       calls last call    data  state";
const NARROW_HEADER: &str = " rank      PRQ      UMQ  state";

/// Each line has at most [`WIDE`] columns.
const LEGEND: &[&str] = &[
    "= counted by the MPI library (MPI_T)   ~ estimated from calls:",
    "PRQ: pending receives; UMQ: messages sent and not received yet,",
    "including messages in transit",
];

const NARROW_LEGEND: &[&str] = &["= counted by the MPI library", "~ estimated from calls"];

/// Titles, longest first.
fn titles(snapshot: &Snapshot) -> Vec<String> {
    let name = snapshot.folder.file_name().unwrap_or(snapshot.folder.as_os_str()).to_string_lossy();
    let state = match snapshot.state {
        JobState::Waiting => "waiting",
        JobState::Running if snapshot.behind => "running; still reading",
        JobState::Running => "running",
        JobState::Finished => match snapshot.exit_status {
            None if snapshot.rows.iter().any(|row| row.life == ProcessState::Died) => "died: last state",
            None | Some(0) => "finished: last state",
            Some(_) => "failed: last state",
        },
    };
    let library = snapshot.library.split(',').next().unwrap_or_default();
    let library: String = library.chars().take(28).collect();
    let brief = format!("{name}: {state}");
    if snapshot.ranks == 0 {
        return vec![brief];
    }
    let begun = match (snapshot.ranks as usize).saturating_sub(snapshot.rows.len()) {
        0 => String::new(),
        missing => format!(", {} not started", format::count(missing as u64)),
    };
    let ranks = format!("{}{begun}", format::counted(snapshot.ranks.into(), "rank"));
    vec![format!("{brief}  ({ranks}, {})", library.trim()), format!("{brief}  ({ranks})"), brief]
}

pub fn totals(snapshot: &Snapshot) -> String {
    totals_in_parts(snapshot).join("  ")
}

fn totals_in_parts(snapshot: &Snapshot) -> [String; 3] {
    let most = |name: &str, length: fn(&Row) -> QueueLength| {
        let longest =
            snapshot.rows.iter().max_by_key(|row| (length(row).entries, std::cmp::Reverse(row.rank)));
        let at = longest.filter(|row| length(row).entries > 0);
        let at =
            at.map_or(String::new(), |row| format!(" (most {} at rank {})", shown(length(row)), row.rank));
        format!("{name} {}{at}", shown(snapshot.total(length)))
    };
    [most("PRQ", |row| row.posted), most("UMQ", |row| row.unexpected), calls(snapshot)]
}

/// Totals, longest first.
fn totals_by_length(snapshot: &Snapshot) -> [String; 3] {
    let of = |length: fn(&Row) -> QueueLength| shown(snapshot.total(length));
    let few = format!("PRQ {}  UMQ {}", of(|row| row.posted), of(|row| row.unexpected));
    [totals(snapshot), format!("{few}  {}", calls(snapshot)), few]
}

fn calls(snapshot: &Snapshot) -> String {
    let calls: u64 = snapshot.rows.iter().map(|row| row.calls).sum();
    let per_s: f64 = snapshot.rows.iter().map(|row| row.calls_per_s).sum();
    format!("{} calls, {}/s", format::count(calls), format::count(per_s.round() as u64))
}

fn narrow_line(row: &Row) -> String {
    format!("{:>5} {:>8} {:>8}  {}", row.rank, shown(row.posted), shown(row.unexpected), state(row))
}

/// The state of a rank, such as `running`, `in Recv` or `died in Recv`.
fn state(row: &Row) -> String {
    let within = row.within.as_ref().map(|function| function.trim_start_matches("MPI_"));
    match (&row.life, within) {
        (ProcessState::Unreadable(why), _) => why.clone(),
        (ProcessState::Running, Some(function)) => format!("in {function}"),
        (ProcessState::Died, Some(function)) => format!("died in {function}"),
        (life, _) => life.word().to_owned(),
    }
}

fn line(row: &Row) -> String {
    format!(
        "{:>5} {:>8} {:>8} {:>9} {:>11} {:>9} {:>7}  {}",
        row.rank,
        shown(row.posted),
        shown(row.unexpected),
        format::count(row.calls_per_s.round() as u64),
        format::count(row.calls),
        row.last_call_s.map_or("-".to_owned(), ago),
        ago(row.age_s),
        state(row),
    )
}

fn more(rest: &[&Row], elsewhere: u64) -> String {
    let mut parts = Vec::new();
    if !rest.is_empty() {
        let longest = rest.iter().map(|row| row.posted.entries + row.unexpected.entries).max().unwrap_or(0);
        parts.push(format!(
            "{} more with at most {}",
            format::counted(rest.len() as u64, "rank"),
            format::count(longest)
        ));
    }
    if elsewhere > 0 {
        parts.push(format!("{} of other worlds are not in ~", format::counted(elsewhere, "message")));
    }
    if parts.is_empty() { String::new() } else { format!("  {}", parts.join("; ")) }
}

fn shown(length: QueueLength) -> String {
    format!("{}{}", if length.measured { '=' } else { '~' }, format::count(length.entries))
}

/// A time in at most eight columns, such as `0.4 s` or `5 min`.
fn ago(seconds: f64) -> String {
    match seconds {
        below if below < 9.95 => format!("{below:.1} s"),
        below if below < 120.0 => format!("{below:.0} s"),
        below if below < 7200.0 => format!("{:.0} min", below / 60.0),
        below if below < 48.0 * 3600.0 => format!("{:.0} h", below / 3600.0),
        above => format!("{:.0} d", above / 86400.0),
    }
}

/// The first form that fits, or the last.
fn fitting(forms: &[String], width: usize) -> String {
    let fits = forms.iter().find(|form| form.chars().count() <= width);
    fits.or(forms.last()).cloned().unwrap_or_default()
}

fn broken(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= width => {
                line.push_str("  ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn styled(style: Style, text: &str) -> String {
    if style == Style::new() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;

    fn row(rank: u32) -> Row {
        Row {
            rank,
            host: "here".to_owned(),
            pid: 1,
            posted: QueueLength { entries: u64::from(rank) * 1000, measured: rank % 2 == 0 },
            unexpected: QueueLength { entries: 3, measured: true },
            calls: 123_456_789_012,
            calls_per_s: 1_234_567.4,
            age_s: 0.51,
            last_call_s: (rank > 0).then_some(86400.0 * 3.0),
            within: (rank == 6).then(|| "MPI_Recv".to_owned()),
            life: if rank == 7 {
                ProcessState::Unreadable("its file is gone".to_owned())
            } else {
                ProcessState::Running
            },
        }
    }

    fn snapshot(ranks: u32) -> Snapshot {
        Snapshot {
            at: SystemTime::UNIX_EPOCH,
            folder: PathBuf::from("/scratch/halo27.trace"),
            command: vec![],
            library: "Open MPI v5.0.11, package: Open MPI somebody@somewhere".to_owned(),
            state: JobState::Running,
            exit_status: None,
            ranks,
            elsewhere: 0,
            behind: false,
            rows: (0..ranks).map(row).collect(),
        }
    }

    fn stripped(lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    fn plain(snapshot: &Snapshot, rows: usize) -> Vec<String> {
        stripped(&lines(snapshot, rows))
    }

    #[test]
    fn worst_of_many_ranks_are_shown() {
        let lines = stripped(&page(&snapshot(1024), WIDTH, 24, usize::MAX));
        assert_eq!(lines.len(), 24);
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH), "{lines:#?}");
        assert!(lines[0].contains("halo27.trace: running  (1,024 ranks, Open MPI v5.0.11)"), "{}", lines[0]);
        assert!(
            lines[1].starts_with("PRQ ~523,776,000") || lines[1].starts_with("PRQ ~524 M"),
            "{}",
            lines[1]
        );
        let ranks: Vec<u32> = lines[4..20].iter().map(|line| line[..5].trim().parse().unwrap()).collect();
        assert_eq!(ranks, (1008..1024).rev().collect::<Vec<u32>>());
        assert!(lines[4].contains("~1,023,000") && lines[4].contains("=3 "), "{}", lines[4]);
        assert!(lines[20].contains("1,008 ranks more with at most 1,007,003"), "{}", lines[20]);
    }

    #[test]
    fn small_terminal_shows_worst_ranks() {
        let shown = |width: usize, height: usize| stripped(&page(&snapshot(8), width, height, usize::MAX));
        for (width, height) in [(40, 6), (20, 3), (80, 9), (200, 1), (1, 50)] {
            let page = shown(width, height);
            assert!(page.len() <= height, "{page:#?}");
            assert!(page.iter().all(|line| line.chars().count() <= width), "{page:#?}");
        }
        let page = shown(40, 6);
        let expected = [
            "halo27.trace: running  (8 ranks)",
            "PRQ ~28,000  UMQ =24",
            " rank      PRQ      UMQ  state",
            "    7   ~7,000       =3  its file is go…",
            "    6   =6,000       =3  in Recv",
            "  6 ranks more with at most 5,003",
        ];
        assert_eq!(page, expected);
        assert!(shown(80, 24).join("\n").contains("MPI_T"));
    }

    #[test]
    fn totals_are_not_cut_within_number() {
        let shown = plain(&snapshot(8), 20).join("\n");
        assert!(shown.contains("\n988 G calls, 9,876,539/s\n"), "{shown}");
        let of_width = |width| stripped(&page(&snapshot(8), width, 24, usize::MAX))[1].clone();
        assert_eq!(of_width(100), totals(&snapshot(8)));
        assert_eq!(of_width(80), "PRQ ~28,000  UMQ =24  988 G calls, 9,876,539/s");
        assert_eq!(of_width(40), "PRQ ~28,000  UMQ =24");
        assert_eq!(of_width(12), "PRQ ~28,000…");
    }

    #[test]
    fn function_of_died_rank_fits() {
        let died = Row {
            calls: 123_456_789,
            life: ProcessState::Died,
            within: Some("MPI_Waitall".to_owned()),
            ..row(0)
        };
        let line = cut(&line(&died), WIDTH);
        assert!(line.ends_with("  died in Waitall"), "{line}");
    }

    #[test]
    fn lost_process_is_shown_as_died() {
        let dead = Row { life: ProcessState::Died, ..row(0) };
        let over = Snapshot { state: JobState::Finished, rows: vec![dead], ..snapshot(1) };
        assert!(plain(&over, 9)[0].contains("died: last state"));
    }

    #[test]
    fn failed_job_is_not_called_finished() {
        let ended = |exit_status| Snapshot { state: JobState::Finished, exit_status, ..snapshot(2) };
        assert!(plain(&ended(Some(0)), 9)[0].contains("finished"));
        assert!(plain(&ended(Some(3)), 9)[0].contains("failed"));
    }

    #[test]
    fn notes_on_estimates_are_not_cut() {
        let text = plain(&snapshot(8), 20).join("\n");
        assert!(text.contains("= counted by the MPI library (MPI_T)   ~ estimated from calls:\n"));
        assert!(text.contains("including messages in transit"));
        assert!(text.contains("its file is gone") && text.contains(" - "), "{text}");
        assert!(text.contains("PRQ ~28,000") && text.contains("UMQ =24"), "{text}");
    }

    #[test]
    fn waiting_job_and_ranks_are_shown() {
        let waiting = Snapshot { state: JobState::Waiting, ..snapshot(0) };
        assert_eq!(plain(&waiting, 9), ["halo27.trace: waiting", "no process has called MPI_Init yet"]);
        let half = Snapshot { ranks: 64, elsewhere: 9, ..snapshot(8) };
        let text = plain(&half, 20).join("\n");
        assert!(text.contains("56 not started"), "{text}");
        assert!(text.contains("9 messages of other worlds are not in ~"), "{text}");
    }

    #[test]
    fn ages_are_short() {
        for (seconds, text) in
            [(0.04, "0.0 s"), (9.96, "10 s"), (600.0, "10 min"), (1e4, "3 h"), (1e7, "116 d")]
        {
            assert_eq!(ago(seconds), text);
        }
    }
}
