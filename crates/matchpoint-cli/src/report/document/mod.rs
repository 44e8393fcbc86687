//! A report, described once: its blocks in their order, for a terminal and for an HTML page that needs nothing else.

pub(super) mod html;
mod terminal;

use std::mem;

use anstyle::{AnsiColor, Style};

use crate::verdict::Answer;

/// Columns of a terminal, unless more are known: what every terminal has.
pub const WIDTH: usize = 80;

/// What a block is shown on.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Medium {
    #[default]
    Both,
    Terminal,
    Page,
}

enum Block {
    Lead(String, Style),
    Paragraph(String),
    Fact(String, String),
    Section(String),
    Table(Table),
    Note(String),
    Item(String, String),
    Bullet(String),
    Html(String),
    Gap,
}

/// Words at the left, figures at the right; the first cell of a row is its name. Further lines of a cell are for pages.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Cells that begin with `*` or `≈` are the best of their row.
    is_marked: bool,
}

/// A report: blocks in their order.
#[derive(Default)]
pub struct Document {
    subject: String,
    heading: String,
    blocks: Vec<(Medium, Block)>,
    /// Of the next block.
    medium: Medium,
}

impl Document {
    /// One that may become a page, with this subject and this heading.
    pub fn new(subject: impl Into<String>, heading: impl Into<String>) -> Self {
        Document { subject: subject.into(), heading: heading.into(), ..Document::default() }
    }

    /// Text for a terminal of so many columns.
    pub fn text(&self, width: usize) -> String {
        terminal::render(self.blocks_on(Medium::Terminal), width)
    }

    /// A whole HTML file.
    pub fn page(&self) -> String {
        html::render(&self.subject, &self.heading, self.blocks_on(Medium::Page))
    }

    fn blocks_on(&self, medium: Medium) -> impl Iterator<Item = &Block> {
        let blocks = self.blocks.iter().filter(move |(of, _)| *of == Medium::Both || *of == medium);
        blocks.map(|(_, block)| block)
    }

    fn push(&mut self, block: Block) {
        self.blocks.push((mem::take(&mut self.medium), block));
    }

    /// The next block is for terminals only.
    pub fn on_terminal(&mut self) -> &mut Self {
        self.medium = Medium::Terminal;
        self
    }

    /// The next block is for pages only.
    pub fn on_page(&mut self) -> &mut Self {
        self.medium = Medium::Page;
        self
    }

    /// The answer.
    pub fn lead(&mut self, text: impl Into<String>, style: Style) {
        self.push(Block::Lead(text.into(), style));
    }

    /// Running text.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.push(Block::Paragraph(text.into()));
    }

    /// Text with a label at its left.
    pub fn fact(&mut self, label: &str, text: impl Into<String>) {
        self.push(Block::Fact(label.to_owned(), text.into()));
    }

    /// The heading of what follows.
    pub fn section(&mut self, title: impl Into<String>) {
        self.push(Block::Section(title.into()));
    }

    /// A table. On a terminal without room for all columns it is cut into several.
    pub fn table(&mut self, header: &[impl AsRef<str>], rows: Vec<Vec<String>>) {
        let header = header.iter().map(|cell| cell.as_ref().to_owned()).collect();
        self.push(Block::Table(Table { header, rows, is_marked: false }));
    }

    /// A table in which the best of each row begin with `*`, or with `≈` if there are several.
    pub fn marked_table(&mut self, header: &[impl AsRef<str>], rows: Vec<Vec<String>>) {
        let header = header.iter().map(|cell| cell.as_ref().to_owned()).collect();
        self.push(Block::Table(Table { header, rows, is_marked: true }));
    }

    /// An explanation of the table above.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push(Block::Note(text.into()));
    }

    /// A titled item of a list.
    pub fn item(&mut self, title: &str, text: impl Into<String>) {
        self.push(Block::Item(title.to_owned(), text.into()));
    }

    /// An item of a list.
    pub fn bullet(&mut self, text: impl Into<String>) {
        self.push(Block::Bullet(text.into()));
    }

    /// A picture, or another part of a page; terminals do without.
    pub fn html(&mut self, html: impl Into<String>) {
        self.on_page().push(Block::Html(html.into()));
    }

    /// The end of a list that another list follows.
    pub fn gap(&mut self) {
        self.push(Block::Gap);
    }
}

/// How an answer to whether matching is the problem is shown.
pub fn answer_style(answer: Answer) -> Style {
    let colour = match answer {
        Answer::Unknown => return Style::new().bold(),
        Answer::No | Answer::NoMessages => AnsiColor::Green,
        Answer::Little => AnsiColor::Yellow,
        Answer::Yes => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}
