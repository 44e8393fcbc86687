//! Run times of a job with and without an engine of Matchpoint.

use matchpoint_bench::statistics::median;
use matchpoint_replay::format;
use matchpoint_run::job::{Job, Position, Way};
use serde_json::{Value, json};

use crate::report::document::{Document, Rows, WIDTH};

pub struct Row {
    pub way: Way,
    pub name: String,
    /// Run times of the successful runs, in seconds.
    pub seconds: Vec<f64>,
    pub left_out: Option<String>,
}

pub struct Compared(pub Vec<Row>);

impl Row {
    fn median(&self) -> Option<f64> {
        (!self.seconds.is_empty()).then(|| median(&mut self.seconds.clone()))
    }

    fn spread(&self) -> f64 {
        let least = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        self.seconds.iter().copied().fold(0.0, f64::max) / least
    }

    fn overlaps(&self, other: &Row) -> bool {
        let least = |row: &Row| row.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |row: &Row| row.seconds.iter().copied().fold(0.0, f64::max);
        least(self) <= most(other) && least(other) <= most(self)
    }
}

/// Runs of each kind, from which separate ranges of run times are evidence.
const TURNS: usize = 3;

/// Ratio of run times from which fewer runs are evidence, because unchanged runs differ by less.
const CLEAR: f64 = 1.25;

/// Longest run time ÷ shortest run time of a kind, above which the host disturbs the comparison.
const NOISY: f64 = 3.0;

fn difference(ours: &Row, other: &Row, ratio: f64, nothing_overflowed: bool) -> String {
    let (name, ratio_digits) = (&other.name, format::digits(ratio));
    let is_small = (1.0 / CLEAR..CLEAR).contains(&ratio);
    if ours.overlaps(other) {
        format!("no clear difference from {name} (run times overlap)")
    } else if let Some(row) = [ours, other].into_iter().find(|row| row.spread() > NOISY) {
        let spread = format::digits(row.spread());
        format!(
            "no clear difference from {name}: run times {} vary {spread} ×, so repeat on an idle host",
            row.name
        )
    } else if nothing_overflowed && other.way == Way::Shipped {
        format!(
            "nothing overflowed, so the difference from {name} (time × {ratio_digits}) is start-up, intercepted calls or noise"
        )
    } else if is_small && ours.seconds.len().min(other.seconds.len()) < TURNS {
        format!(
            "too few turns for a difference from {name} (time × {ratio_digits}); use --compare {TURNS} or more"
        )
    } else {
        in_words(ratio, name)
    }
}

fn in_words(ratio: f64, other: &str) -> String {
    let digits = format::digits;
    if ratio < 1.0 {
        return format!("{} times as fast as {other} (time × {})", digits(1.0 / ratio), digits(ratio));
    }
    format!("slower than {other} (time × {})", digits(ratio))
}

impl Compared {
    pub fn new(job: &Job) -> Compared {
        let rows = job.ways().iter().map(|&way| match (way, &job.position) {
            (Way::Ours, _) => (way, format!("with {}", job.engine)),
            (Way::Core, Position::Below(below)) => (way, format!("unchanged over {}", below.choice.core)),
            (Way::Shipped | Way::Core, _) => (way, "unchanged".to_owned()),
        });
        Compared::of(rows.collect())
    }

    fn of(rows: Vec<(Way, String)>) -> Compared {
        let row = |(way, name)| Row { way, name, seconds: Vec::new(), left_out: None };
        Compared(rows.into_iter().map(row).collect())
    }

    /// Renders the comparison. With `nothing_overflowed`, the MPI library matched every message of the last run with
    /// the engine.
    pub fn render(&self, nothing_overflowed: bool) -> String {
        let ours = self.0.iter().find(|row| row.way == Way::Ours).and_then(Row::median);
        let mut document = Document::default();
        let first = &self.0[0].name;
        for row in self.0.iter().filter(|row| row.way != Way::Ours) {
            if let Some((ours, other)) = ours.zip(row.median()) {
                let words = difference(&self.0[0], row, ours / other, nothing_overflowed);
                document.paragraph(format!("{}: {words}.", format::capital(first)));
            }
        }
        let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::seconds);
        let ratio = |of: &Row| Some(ours? / of.median()?).filter(|_| of.way != Way::Ours);
        let rows = Rows::of(&self.0)
            .column("Run time", |of| of.name.clone())
            .column("median", |of| cell(of.median()))
            .column("min", |of| cell(of.seconds.iter().copied().reduce(f64::min)))
            .column("max", |of| cell(of.seconds.iter().copied().reduce(f64::max)))
            .column("ratio", |of| ratio(of).map_or_else(|| "–".to_owned(), format::digits));
        document.rows(rows);
        document.note(format!(
            "Whole command, with start and end; runs alternate. ratio: median {first} ÷ this median."
        ));
        for row in &self.0 {
            if let Some(why) = &row.left_out {
                document.item(&row.name, format!("{why}."));
            }
        }
        format!("\n{}", document.text(WIDTH))
    }

    pub fn unchanged_after_failure(&self) -> String {
        let row = self.0.iter().find(|row| row.way == Way::Shipped);
        match row.map(|row| (&row.left_out, row.seconds.is_empty())) {
            Some((Some(why), _)) => format!("the unchanged job {why}"),
            Some((None, false)) => "the unchanged job succeeds".to_owned(),
            _ => "the unchanged job did not run".to_owned(),
        }
    }

    pub fn document(&self) -> Value {
        let row = |row: &Row| {
            let way = match row.way {
                Way::Ours => "ours",
                Way::Core => "core",
                Way::Shipped => "shipped",
            };
            json!({ "way": way, "seconds": row.seconds, "left_out": row.left_out })
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_runs_give_no_difference() {
        let row = |way, seconds: &[f64]| Row {
            way,
            name: "with hybrid".to_owned(),
            seconds: seconds.to_vec(),
            left_out: None,
        };
        let (ours, other) = (row(Way::Ours, &[0.4, 3.58, 0.4]), row(Way::Shipped, &[3.6, 4.3, 3.6]));
        let words = difference(&ours, &other, 0.12, false);
        assert!(words.contains("no clear difference") && words.contains("vary 8.95 ×"), "{words}");
    }

    #[test]
    fn ratio_above_one_is_slower() {
        assert_eq!(in_words(1.25, "unchanged"), "slower than unchanged (time × 1.25)");
    }

    #[test]
    fn medians_are_compared_and_failures_reported() {
        let mut compared = Compared::of(vec![
            (Way::Ours, "with hybrid".to_owned()),
            (Way::Shipped, "unchanged".to_owned()),
            (Way::Core, "unchanged over shm".to_owned()),
        ]);
        for (row, seconds) in compared.0.iter_mut().zip([&[2.0, 1.0, 9.0][..], &[3.0, 5.0], &[]]) {
            row.seconds = seconds.to_vec();
        }
        compared.0[2].left_out = Some("ended after 60.0 s".to_owned());
        let text = anstream::adapter::strip_str(&compared.render(false)).to_string();
        let line = |begins: &str| {
            let line = text.lines().find(|line| line.starts_with(begins));
            line.unwrap_or_else(|| panic!("{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("with hybrid"), "with hybrid 2.00 s 1.00 s 9.00 s –");
        assert_eq!(line("unchanged "), "unchanged 4.00 s 3.00 s 5.00 s 0.500");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("With hybrid: no clear difference from unchanged"), "{text}");
        compared.0[0].seconds = vec![2.0, 1.0, 2.5];
        let words = compared.render(false).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("With hybrid: 2.00 times as fast as unchanged (time × 0.500)."), "{words}");
        compared.0[0].seconds = vec![5.8, 5.6, 5.7];
        compared.0[1].seconds = vec![5.0, 5.1];
        let words = |compared: &Compared, nothing| {
            let text = compared.render(nothing);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            words(&compared, false)
                .contains("With hybrid: too few turns for a difference from unchanged (time × 1.13)")
        );
        assert!(
            words(&compared, true)
                .contains("With hybrid: nothing overflowed, so the difference from unchanged")
        );
        compared.0[1].seconds = vec![5.0, 5.1, 5.2];
        assert!(words(&compared, false).contains("With hybrid: slower than unchanged (time × 1.12)"));
        compared.0[1].seconds = vec![3.0, 3.1];
        assert!(words(&compared, false).contains("With hybrid: slower than unchanged (time × 1.87)"));
        compared.0[0].seconds = vec![2.0, 1.0, 9.0];
        assert_eq!(line("- unchanged"), "- unchanged over shm: ended after 60.0 s.");
        assert_eq!(compared.document()[0]["seconds"], json!([2.0, 1.0, 9.0]));
        assert_eq!(compared.document()[2]["way"], "core");
    }
}
