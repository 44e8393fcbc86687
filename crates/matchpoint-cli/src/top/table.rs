//! A snapshot as lines of text.

use anstyle::{AnsiColor, Style};

use super::snapshot::{Length, Life, Row, Snapshot, State};
use crate::format;

/// Columns where there is no terminal.
pub const WIDTH: usize = 80;

/// Lines around those of the ranks.
pub const FIXED_LINES: usize = 7;

/// The same without what explains them.
const BRIEF_LINES: usize = 4;

/// Where there is no room for more ranks than this, nothing is explained.
const FEW: usize = 3;

/// Columns that a line of a rank takes, up to its state.
const WIDE: usize = 70;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// As much as a terminal has room for, and at most so many ranks.
pub fn page(snapshot: &Snapshot, width: usize, height: usize, most: usize) -> Vec<String> {
    // Ranks matter more than what explains them.
    let around = if height < FIXED_LINES + FEW { BRIEF_LINES } else { FIXED_LINES };
    let mut lines = table(snapshot, width, height.saturating_sub(around).min(most), around == FIXED_LINES);
    lines.truncate(height);
    lines
}

/// At most `rows` ranks, the longest queues first; no line is wider than `width`.
pub fn lines(snapshot: &Snapshot, width: usize, rows: usize) -> Vec<String> {
    table(snapshot, width, rows, true)
}

fn table(snapshot: &Snapshot, width: usize, rows: usize, explained: bool) -> Vec<String> {
    let mut lines = vec![styled(BOLD, &cut(&title(snapshot), width))];
    if snapshot.rows.is_empty() {
        lines.push(cut("no process has called MPI_Init yet", width));
        return lines;
    }
    let narrow = width < WIDE;
    lines.push(cut(&if narrow { few_totals(snapshot) } else { totals(snapshot) }, width));
    if explained {
        lines.push(String::new());
    }
    lines.push(styled(BOLD, &cut(if narrow { NARROW_HEADER } else { HEADER }, width)));
    let worst = snapshot.worst_first();
    for row in worst.iter().take(rows) {
        let style =
            if matches!(row.life, Life::Died | Life::Aborted | Life::Lost(_)) { RED } else { Style::new() };
        lines.push(styled(style, &cut(&if narrow { narrow_line(row) } else { line(row) }, width)));
    }
    let rest = &worst[rows.min(worst.len())..];
    lines.push(styled(DIM, &cut(&more(rest, snapshot.elsewhere), width)));
    if explained {
        let legend = if narrow { NARROW_LEGEND } else { LEGEND };
        lines.extend(legend.iter().map(|text| styled(DIM, &cut(text, width))));
    }
    lines
}

const HEADER: &str = "  rank       PRQ       UMQ    calls/s       calls last call    data  state";
const NARROW_HEADER: &str = "  rank       PRQ       UMQ  state";

/// Within 80 columns.
const LEGEND: [&str; 2] = [
    "= the MPI library's own count (MPI_T)   ~ estimated from calls: PRQ, receives",
    "not seen complete; UMQ, messages sent and not received, those on their way too",
];

const NARROW_LEGEND: [&str; 2] = ["= counted by the MPI library", "~ estimated from calls"];

fn title(snapshot: &Snapshot) -> String {
    let name = snapshot.folder.file_name().unwrap_or(snapshot.folder.as_os_str()).to_string_lossy();
    let state = match snapshot.state {
        State::Waiting => "waiting",
        State::Running if snapshot.behind => "running; still reading",
        State::Running => "running",
        State::Finished => match snapshot.exit_status {
            None | Some(0) => "finished: this is its last state",
            Some(_) => "failed: this is its last state",
        },
    };
    let library = snapshot.library.split(',').next().unwrap_or_default();
    let library: String = library.chars().take(28).collect();
    match snapshot.ranks {
        0 => format!("{name}: {state}"),
        ranks => {
            let begun = match (ranks as usize).saturating_sub(snapshot.rows.len()) {
                0 => String::new(),
                missing => format!(", {} not there yet", format::count(missing as u64)),
            };
            let ranks = format::counted(ranks.into(), "rank");
            format!("{name}: {state}  ({ranks}{begun}, {})", library.trim())
        }
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
    format!(
        "{}  {}  {} calls, {}/s",
        most("PRQ", |row| row.posted),
        most("UMQ", |row| row.unexpected),
        format::count(calls),
        format::count(per_s.round() as u64),
    )
}

/// What a narrow terminal has room for.
fn few_totals(snapshot: &Snapshot) -> String {
    let of = |length: fn(&Row) -> Length| shown(snapshot.total(length));
    format!("PRQ {}  UMQ {}", of(|row| row.posted), of(|row| row.unexpected))
}

fn narrow_line(row: &Row) -> String {
    format!("{:>6} {:>9} {:>9}  {}", row.rank, shown(row.posted), shown(row.unexpected), state(row))
}

/// `running`, `in Recv`, `died in Recv`.
fn state(row: &Row) -> String {
    let within = row.within.as_ref().map(|function| function.trim_start_matches("MPI_"));
    match (&row.life, within) {
        (Life::Lost(why), _) => why.clone(),
        (Life::Running, Some(function)) => format!("in {function}"),
        (Life::Died, Some(function)) => format!("died in {function}"),
        (life, _) => life.word().to_owned(),
    }
}

fn line(row: &Row) -> String {
    format!(
        "{:>6} {:>9} {:>9} {:>10} {:>11} {:>9} {:>7}  {}",
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

/// What the rows do not show.
fn more(rest: &[&Row], elsewhere: u64) -> String {
    let mut parts = Vec::new();
    if !rest.is_empty() {
        let longest = rest.iter().map(|row| row.posted.entries + row.unexpected.entries).max().unwrap_or(0);
        parts.push(format!(
            "and {} more, none with over {}",
            format::counted(rest.len() as u64, "rank"),
            format::count(longest)
        ));
    }
    if elsewhere > 0 {
        parts.push(format!("{} of other worlds are not in ~", format::counted(elsewhere, "message")));
    }
    if parts.is_empty() { String::new() } else { format!("  {}", parts.join("; ")) }
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
            posted: Length { entries: u64::from(rank) * 1000, measured: rank % 2 == 0 },
            unexpected: Length { entries: 3, measured: true },
            calls: 123_456_789_012,
            calls_per_s: 1_234_567.4,
            age_s: 0.51,
            last_call_s: (rank > 0).then_some(86400.0 * 3.0),
            within: (rank == 6).then(|| "MPI_Recv".to_owned()),
            life: if rank == 7 { Life::Lost("its file is gone".to_owned()) } else { Life::Running },
        }
    }

    fn snapshot(ranks: u32) -> Snapshot {
        Snapshot {
            at: SystemTime::UNIX_EPOCH,
            folder: PathBuf::from("/scratch/halo27.trace"),
            command: vec![],
            library: "Open MPI v5.0.11, package: Open MPI somebody@somewhere".to_owned(),
            state: State::Running,
            exit_status: None,
            ranks,
            elsewhere: 0,
            behind: false,
            rows: (0..ranks).map(row).collect(),
        }
    }

    fn plain(snapshot: &Snapshot, rows: usize) -> Vec<String> {
        let lines = lines(snapshot, WIDTH, rows);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn many_ranks_fit_and_the_worst_are_shown() {
        let lines = plain(&snapshot(1024), 24 - FIXED_LINES);
        assert_eq!(lines.len(), 24);
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH), "{lines:#?}");
        assert!(lines[0].contains("halo27.trace: running  (1,024 ranks, Open MPI v5.0.11)"), "{}", lines[0]);
        assert!(
            lines[1].starts_with("PRQ ~523,776,000") || lines[1].starts_with("PRQ ~524 M"),
            "{}",
            lines[1]
        );
        let ranks: Vec<u32> = lines[4..21].iter().map(|line| line[..6].trim().parse().unwrap()).collect();
        assert_eq!(ranks, (1007..1024).rev().collect::<Vec<u32>>());
        assert!(lines[4].contains("~1,023,000") && lines[4].contains("=3 "), "{}", lines[4]);
        assert!(lines[21].contains("1,007 ranks more, none with over 1,006,003"), "{}", lines[21]);
    }

    #[test]
    fn small_terminals_have_the_worst_ranks_as_well() {
        let shown = |width: usize, height: usize| {
            let page = page(&snapshot(8), width, height, usize::MAX);
            page.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect::<Vec<_>>()
        };
        for (width, height) in [(40, 6), (20, 3), (80, 9), (200, 1), (1, 50)] {
            let page = shown(width, height);
            assert!(page.len() <= height, "{page:#?}");
            assert!(page.iter().all(|line| line.chars().count() <= width), "{page:#?}");
        }
        let page = shown(40, 6);
        let expected = [
            "halo27.trace: running  (8 ranks, Open MP",
            "PRQ ~28,000  UMQ =24",
            "  rank       PRQ       UMQ  state",
            "     7    ~7,000        =3  its file is ",
            "     6    =6,000        =3  in Recv",
            "  and 6 ranks more, none with over 5,003",
        ];
        assert_eq!(page, expected);
        assert!(shown(80, 24).join("\n").contains("MPI_T"));
    }

    #[test]
    fn a_job_that_failed_has_not_just_finished() {
        let ended = |exit_status| Snapshot { state: State::Finished, exit_status, ..snapshot(2) };
        assert!(plain(&ended(Some(0)), 9)[0].contains("finished"));
        assert!(plain(&ended(Some(3)), 9)[0].contains("failed"));
    }

    #[test]
    fn nothing_is_cut_that_says_how_a_number_is_known() {
        let text = plain(&snapshot(8), 20).join("\n");
        assert!(
            text.contains("= the MPI library's own count (MPI_T)   ~ estimated from calls: PRQ, receives\n")
        );
        assert!(text.contains("those on their way too"));
        assert!(text.contains("its file") && text.contains(" - "), "{text}");
        // A total is measured only if all of it is.
        assert!(text.contains("PRQ ~28,000") && text.contains("UMQ =24"), "{text}");
    }

    #[test]
    fn what_has_not_begun_says_so() {
        let waiting = Snapshot { state: State::Waiting, ..snapshot(0) };
        assert_eq!(plain(&waiting, 9), ["halo27.trace: waiting", "no process has called MPI_Init yet"]);
        let half = Snapshot { ranks: 64, elsewhere: 9, ..snapshot(8) };
        let text = plain(&half, 20).join("\n");
        assert!(text.contains("56 not there yet"), "{text}");
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
