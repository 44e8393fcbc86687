//! Run times of a job with and without an engine of Matchpoint.

use matchpoint_bench::statistics::median;
use matchpoint_run::job::{Job, Position, Way};
use serde_json::{Value, json};

use crate::format;
use crate::report::document::{Document, WIDTH};

/// Run times of one variant.
pub struct Row {
    /// Variant.
    pub way: Way,
    /// Name.
    pub name: String,
    /// Time of the command in seconds, for each successful run.
    pub seconds: Vec<f64>,
    /// Reason why the comparison stopped to run this variant.
    pub left_out: Option<String>,
}

/// All variants, in the order of their turns.
pub struct Compared(pub Vec<Row>);

impl Row {
    fn median(&self) -> Option<f64> {
        (!self.seconds.is_empty()).then(|| median(&mut self.seconds.clone()))
    }

    /// Whether the ranges of run times overlap.
    fn overlaps(&self, other: &Row) -> bool {
        let least = |row: &Row| row.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |row: &Row| row.seconds.iter().copied().fold(0.0, f64::max);
        least(self) <= most(other) && least(other) <= most(self)
    }

    fn cells(&self, ours: Option<f64>) -> Vec<String> {
        let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::seconds);
        let ratio = ours.zip(self.median()).filter(|_| self.way != Way::Ours);
        vec![
            self.name.clone(),
            cell(self.median()),
            cell(self.seconds.iter().copied().reduce(f64::min)),
            cell(self.seconds.iter().copied().reduce(f64::max)),
            ratio.map_or_else(|| "–".to_owned(), |(ours, other)| format::digits(ours / other)),
        ]
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
    /// Creates the comparison of a job, without run times.
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

    /// Renders the comparison for a terminal.
    pub fn render(&self) -> String {
        let ours = self.0.iter().find(|row| row.way == Way::Ours).and_then(Row::median);
        let mut document = Document::default();
        let first = &self.0[0].name;
        for row in self.0.iter().filter(|row| row.way != Way::Ours) {
            if let Some((ours, other)) = ours.zip(row.median()) {
                let words = if self.0[0].overlaps(row) {
                    format!("no clear difference from {} (run times overlap)", row.name)
                } else {
                    in_words(ours / other, &row.name)
                };
                document.paragraph(format!("{}: {words}.", format::capital(first)));
            }
        }
        document.table(
            &["Run time", "median", "min", "max", "ratio"],
            self.0.iter().map(|row| row.cells(ours)).collect(),
        );
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

    /// The comparison as JSON.
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
        let text = anstream::adapter::strip_str(&compared.render()).to_string();
        let line = |begins: &str| {
            let line = text.lines().find(|line| line.starts_with(begins));
            line.unwrap_or_else(|| panic!("{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("with hybrid"), "with hybrid 2.00 s 1.00 s 9.00 s –");
        assert_eq!(line("unchanged "), "unchanged 4.00 s 3.00 s 5.00 s 0.500");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("With hybrid: no clear difference from unchanged"), "{text}");
        compared.0[0].seconds = vec![2.0, 1.0, 2.5];
        let words = compared.render().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("With hybrid: 2.00 times as fast as unchanged (time × 0.500)."), "{words}");
        compared.0[0].seconds = vec![2.0, 1.0, 9.0];
        assert_eq!(line("- unchanged"), "- unchanged over shm: ended after 60.0 s.");
        assert_eq!(compared.document()[0]["seconds"], json!([2.0, 1.0, 9.0]));
        assert_eq!(compared.document()[2]["way"], "core");
    }
}
