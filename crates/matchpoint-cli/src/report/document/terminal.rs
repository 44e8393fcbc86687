//! A document as text for a terminal: wrapped paragraphs, labels, aligned tables. The text contains styles, which the
//! output stream removes outside a terminal.

use std::fmt::Write;

use anstyle::Style;

use super::{Block, WIDTH};
use crate::wrap::wrap;

const LABEL: usize = 15;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

pub(super) fn render<'a>(blocks: impl Iterator<Item = &'a Block>, width: usize) -> String {
    let mut page = Page { text: String::new(), width };
    let mut last = None;
    for block in blocks {
        if last.is_some_and(|last| are_apart(last, block)) && !page.text.ends_with("\n\n") {
            page.text.push('\n');
        }
        page.block(block);
        last = Some(block);
    }
    page.text
}

fn are_apart(one: &Block, next: &Block) -> bool {
    use Block::{Bullet, Command, Fact, Item, Note, Paragraph, Section, Table};
    !matches!(
        (one, next),
        (Section(_), _)
            | (Fact(..), Fact(..))
            | (Table(_), Note(_))
            | (Paragraph(_), Paragraph(_))
            | (Item(..) | Bullet(_) | Command(_), Item(..) | Bullet(_) | Command(_))
    )
}

struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Lead(text, style) => self.lines(text, self.width, *style),
            Block::Paragraph(text) => self.lines(text, self.width, Style::new()),
            Block::Note(text) => self.lines(text, self.width.min(WIDTH), DIM),
            Block::Section(title) => self.line(&format!("{BOLD}{title}{BOLD:#}")),
            Block::Fact(label, text) => self.fact(label, text),
            Block::Item(title, text) => self.item(title, text),
            Block::Bullet(text) => self.bullet(text),
            Block::Command(command) => self.line(&format!("  {command}")),
            Block::Table(table) => self.table(&table.header, &table.rows),
            Block::Html(_) | Block::Gap => {}
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn lines(&mut self, text: &str, width: usize, style: Style) {
        for line in wrap(text, width) {
            self.line(&format!("{style}{line}{style:#}"));
        }
    }

    fn fact(&mut self, label: &str, text: &str) {
        let mut label = label;
        for line in wrap(text, self.width - LABEL) {
            self.line(&format!("{DIM}{label:<LABEL$}{DIM:#}{line}"));
            label = "";
        }
    }

    fn item(&mut self, title: &str, text: &str) {
        let mut lines = wrap(&format!("{title}: {text}"), self.width - 2).into_iter();
        let first = lines.next().unwrap_or_default();
        let rest = first.strip_prefix(title).unwrap_or(&first);
        let bold = if first.starts_with(title) { title } else { "" };
        self.line(&format!("- {BOLD}{bold}{BOLD:#}{rest}"));
        lines.for_each(|line| self.line(&format!("  {line}")));
    }

    fn bullet(&mut self, text: &str) {
        for (index, line) in wrap(text, self.width - 2).into_iter().enumerate() {
            self.line(&format!("{}{line}", if index == 0 { "- " } else { "  " }));
        }
    }

    fn table(&mut self, header: &[String], rows: &[Vec<String>]) {
        let widths = widths(header, rows, self.width);
        let first = widths.first().copied().unwrap_or_default();
        let mut from = 1;
        while from < header.len() {
            let mut used = first;
            let fits = widths[from..].iter().take_while(|&&width| {
                used += 2 + width;
                used <= self.width
            });
            let to = from + fits.count().max(1);
            let cut = |row: &Vec<String>| -> Vec<String> {
                let cells = row.get(from..to.min(row.len())).unwrap_or_default();
                row.first().into_iter().chain(cells).map(|cell| first_line(cell).to_owned()).collect()
            };
            self.narrow_table(&cut(&header.to_vec()), &rows.iter().map(cut).collect::<Vec<_>>());
            from = to;
        }
    }

    fn narrow_table(&mut self, header: &[String], rows: &[Vec<String>]) {
        let widths = widths(header, rows, self.width);
        self.line(&format!("{BOLD}{}{BOLD:#}", aligned(header, &widths)));
        for row in rows {
            if row[0].chars().count() > widths[0] {
                wrap(&row[0], self.width).iter().for_each(|line| self.line(line));
                let unnamed: Vec<String> =
                    [String::new()].into_iter().chain(row[1..].iter().cloned()).collect();
                self.line(&aligned(&unnamed, &widths));
            } else {
                self.line(&aligned(row, &widths));
            }
        }
    }
}

fn first_line(cell: &str) -> &str {
    cell.split('\n').next().unwrap_or_default()
}

fn widths(header: &[String], rows: &[Vec<String>], page: usize) -> Vec<usize> {
    let of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain([&header[column]]);
        cells.map(|cell| first_line(cell).chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..header.len()).map(of).collect();
    // The first column is as wide as the labels if possible.
    let others: usize = widths[1..].iter().map(|width| width + 2).sum();
    let room = page.saturating_sub(others).max(widths[0].min(LABEL - 2));
    widths[0] = widths[0].max(LABEL - 2).min(room).max(header[0].chars().count());
    widths
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, &width)) in row.iter().zip(widths).enumerate() {
        let _ = match index {
            0 => write!(line, "{cell:<width$}"),
            _ => write!(line, "  {cell:>width$}"),
        };
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::report::document::{Document, Rows};

    #[test]
    fn long_name_is_cut_behind_commas() {
        let name = "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32,threads=1,full=software";
        let mut document = Document::default();
        document
            .rows(Rows::of([name]).column("", |name| (*name).to_owned()).column("calls", |_| "7".to_owned()));
        let text = document.text(60);
        assert!(
            text.lines().all(|line| anstream::adapter::strip_str(line).to_string().chars().count() <= 60)
        );
        assert_eq!(text.lines().skip(1).take(2).collect::<String>(), name);
    }

    /// `matchpoint run --stats` has nine columns.
    #[test]
    fn nine_columns_fit_eighty() {
        let header =
            ["Rank", "receives", "overflowed", "given back", "messages", "PRQ", "UMQ", "matching", "share"];
        let mut document = Document::default();
        let line =
            header.iter().fold(Rows::of([()]), |line, name| line.column(*name, |()| (*name).to_owned()));
        document.rows(line);
        let text = document.text(80);
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
