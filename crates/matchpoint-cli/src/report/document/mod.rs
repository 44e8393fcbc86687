//! A report as blocks for a terminal and for an HTML page.

pub(super) mod html;
mod terminal;

use std::mem;

use anstyle::{AnsiColor, Style};
use matchpoint_replay::analysis::verdict::Answer;

pub const WIDTH: usize = 80;

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
    Command(String),
    Html(String),
    Gap,
}

pub struct Rows<R> {
    rows: Vec<R>,
    columns: Vec<(Medium, String, Vec<String>)>,
    is_marked: bool,
}

impl<R> Rows<R> {
    pub fn of(rows: impl IntoIterator<Item = R>) -> Self {
        Rows { rows: rows.into_iter().collect(), columns: Vec::new(), is_marked: false }
    }

    #[must_use]
    pub fn column(self, heading: impl Into<String>, cell: impl FnMut(&R) -> String) -> Self {
        self.with(Medium::Both, heading, cell)
    }

    #[must_use]
    pub fn column_of_page(self, heading: impl Into<String>, cell: impl FnMut(&R) -> String) -> Self {
        self.with(Medium::Page, heading, cell)
    }

    /// The best cells of a row begin with `*` or `≈`.
    #[must_use]
    pub fn marked(self) -> Self {
        Rows { is_marked: true, ..self }
    }

    fn with(mut self, on: Medium, heading: impl Into<String>, cell: impl FnMut(&R) -> String) -> Self {
        self.columns.push((on, heading.into(), self.rows.iter().map(cell).collect()));
        self
    }

    fn table(&self, medium: Medium) -> Table {
        let shown = || self.columns.iter().filter(move |(on, ..)| *on == Medium::Both || *on == medium);
        Table {
            header: shown().map(|(_, heading, _)| heading.clone()).collect(),
            rows: (0..self.rows.len()).map(|at| shown().map(|of| of.2[at].clone()).collect()).collect(),
            is_marked: self.is_marked,
        }
    }
}

/// The first cell of a row is its name. Only pages show the further lines of a cell.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    is_marked: bool,
}

#[derive(Default)]
pub struct Document {
    subject: String,
    heading: String,
    blocks: Vec<(Medium, Block)>,
    medium: Medium,
}

impl Document {
    pub fn new(subject: impl Into<String>, heading: impl Into<String>) -> Self {
        Document { subject: subject.into(), heading: heading.into(), ..Document::default() }
    }

    pub fn text(&self, width: usize) -> String {
        terminal::render(self.blocks_on(Medium::Terminal), width)
    }

    pub fn page(&self) -> String {
        html::render(&self.subject, &self.heading, self.blocks_on(Medium::Page))
    }

    pub fn fragment(&self) -> String {
        html::blocks(self.blocks_on(Medium::Page))
    }

    fn blocks_on(&self, medium: Medium) -> impl Iterator<Item = &Block> {
        let blocks = self.blocks.iter().filter(move |(of, _)| *of == Medium::Both || *of == medium);
        blocks.map(|(_, block)| block)
    }

    fn push(&mut self, block: Block) {
        self.blocks.push((mem::take(&mut self.medium), block));
    }

    pub fn on_terminal(&mut self) -> &mut Self {
        self.medium = Medium::Terminal;
        self
    }

    pub fn on_page(&mut self) -> &mut Self {
        self.medium = Medium::Page;
        self
    }

    pub fn lead(&mut self, text: impl Into<String>, style: Style) {
        self.push(Block::Lead(text.into(), style));
    }

    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.push(Block::Paragraph(text.into()));
    }

    pub fn fact(&mut self, label: &str, text: impl Into<String>) {
        self.push(Block::Fact(label.to_owned(), text.into()));
    }

    pub fn section(&mut self, title: impl Into<String>) {
        self.push(Block::Section(title.into()));
    }

    pub fn rows<R>(&mut self, of: Rows<R>) {
        if of.columns.iter().all(|(on, ..)| *on == Medium::Both) {
            return self.push(Block::Table(of.table(Medium::Both)));
        }
        for medium in [Medium::Terminal, Medium::Page] {
            self.medium = medium;
            self.push(Block::Table(of.table(medium)));
        }
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.push(Block::Note(text.into()));
    }

    pub fn item(&mut self, title: &str, text: impl Into<String>) {
        self.push(Block::Item(title.to_owned(), text.into()));
    }

    pub fn bullet(&mut self, text: impl Into<String>) {
        self.push(Block::Bullet(text.into()));
    }

    pub fn command(&mut self, command: &str) {
        self.push(Block::Command(command.to_owned()));
    }

    pub fn html(&mut self, html: impl Into<String>) {
        self.on_page().push(Block::Html(html.into()));
    }

    pub fn gap(&mut self) {
        self.push(Block::Gap);
    }
}

pub fn answer_style(answer: Answer) -> Style {
    let colour = match answer {
        Answer::Unknown => return Style::new().bold(),
        Answer::No | Answer::NoMessages => AnsiColor::Green,
        Answer::Little => AnsiColor::Yellow,
        Answer::Yes => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}
