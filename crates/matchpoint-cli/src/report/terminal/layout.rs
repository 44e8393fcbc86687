//! Lines that fit: labels, wrapped paragraphs, aligned tables.

use std::fmt::Write;

use anstyle::Style;

use crate::wrap::wrap;

/// Columns of a page, unless it is told how many there are: what every terminal has.
const WIDTH: usize = 80;

/// Columns of the labels on the left.
const LABEL: usize = 15;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Text under construction.
pub struct Page {
    text: String,
    width: usize,
}

impl Default for Page {
    fn default() -> Self {
        Page { text: String::new(), width: WIDTH }
    }
}

impl Page {
    /// A page of so many columns, within which its text is wrapped and [wide tables](Page::wide_table) are cut.
    pub fn of_width(width: usize) -> Self {
        Page { text: String::new(), width }
    }

    /// The finished text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Wrapped text from the left edge.
    pub fn paragraph(&mut self, text: &str, style: Style) {
        for line in wrap(text, self.width) {
            let _ = writeln!(self.text, "{style}{line}{style:#}");
        }
    }

    /// What explains the table above.
    pub fn footnote(&mut self, text: &str) {
        for line in wrap(text, WIDTH) {
            let _ = writeln!(self.text, "{DIM}{line}{DIM:#}");
        }
        self.blank();
    }

    /// A title line.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.text, "{BOLD}{text}{BOLD:#}");
    }

    /// A title line, with an empty line before it unless it is the first.
    pub fn section(&mut self, text: &str) {
        self.gap();
        self.heading(text);
    }

    /// An empty line behind what stands there, if none is.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.blank();
        }
    }

    /// A label, and wrapped text beside it.
    pub fn labelled(&mut self, label: &str, text: &str) {
        let mut label = label;
        for line in wrap(text, self.width - LABEL) {
            let _ = writeln!(self.text, "{DIM}{label:<LABEL$}{DIM:#}{line}");
            label = "";
        }
    }

    /// A titled, wrapped list item.
    pub fn item(&mut self, title: &str, text: &str) {
        let mut lines = wrap(&format!("{title}: {text}"), self.width - 2).into_iter();
        let first = lines.next().unwrap_or_default();
        let rest = first.strip_prefix(title).unwrap_or(&first);
        let bold = if first.starts_with(title) { title } else { "" };
        let _ = writeln!(self.text, "- {BOLD}{bold}{BOLD:#}{rest}");
        for line in lines {
            let _ = writeln!(self.text, "  {line}");
        }
    }

    /// A wrapped list item.
    pub fn bullet(&mut self, text: &str) {
        for (index, line) in wrap(text, self.width - 2).into_iter().enumerate() {
            let _ = writeln!(self.text, "{}{line}", if index == 0 { "- " } else { "  " });
        }
    }

    /// A table: the first column to the left, the others to the right.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let widths = widths(header, rows, self.width);
        let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
        let _ = writeln!(self.text, "{BOLD}{}{BOLD:#}", aligned(&header, &widths));
        for row in rows {
            // A name that is too long has a line of its own.
            if row[0].chars().count() > widths[0].max(LABEL - 2) {
                let name = if row[0].chars().count() > self.width {
                    wrap(&row[0], self.width)
                } else {
                    vec![row[0].clone()]
                };
                name.iter().for_each(|line| self.text += &format!("{line}\n"));
                let unnamed: Vec<String> =
                    [String::new()].into_iter().chain(row[1..].iter().cloned()).collect();
                let _ = writeln!(self.text, "{}", aligned(&unnamed, &widths));
            } else {
                let _ = writeln!(self.text, "{}", aligned(row, &widths));
            }
        }
    }
}

impl Page {
    /// A table whose columns, the first apart, are cut into as many tables as it takes to stay within the page: the
    /// first column begins each of them.
    pub fn wide_table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let widths = widths(header, rows, self.width);
        let first = widths.first().map_or(0, |&width| width.max(LABEL - 2));
        let mut from = 1;
        while from < header.len() {
            let mut used = first;
            let fits = widths[from..].iter().take_while(|&&width| {
                used += 2 + width;
                used <= self.width
            });
            let to = from + fits.count().max(1);
            let header: Vec<&str> = [header[0]].into_iter().chain(header[from..to].iter().copied()).collect();
            let cut = |row: &Vec<String>| {
                let cells = row.get(from..to.min(row.len())).unwrap_or_default();
                row.first().into_iter().chain(cells).cloned().collect()
            };
            self.table(&header, &rows.iter().map(cut).collect::<Vec<_>>());
            from = to;
        }
    }
}

fn widths(header: &[&str], rows: &[Vec<String>], page: usize) -> Vec<usize> {
    let of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..header.len()).map(of).collect();
    let others: usize = widths[1..].iter().map(|width| width + 2).sum();
    let shortest = header[0].chars().count().max(LABEL - 2);
    widths[0] = widths[0].min(page.saturating_sub(others).max(shortest));
    widths
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, &width)) in row.iter().zip(widths).enumerate() {
        let _ = match index {
            0 => write!(line, "{cell:<width$}", width = width.max(LABEL - 2)),
            _ => write!(line, "  {cell:>width$}"),
        };
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_beyond_the_page_is_cut_behind_commas() {
        let name = "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32,threads=1,full=software";
        let mut page = Page::of_width(60);
        page.wide_table(&["", "calls"], &[vec![name.to_owned(), "7".to_owned()]]);
        let text = page.into_text();
        assert!(
            text.lines().all(|line| anstream::adapter::strip_str(line).to_string().chars().count() <= 60)
        );
        assert_eq!(text.lines().skip(1).take(2).collect::<String>(), name);
    }
}
