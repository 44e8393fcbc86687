//! Names at the ends of lines.

use std::fmt::Write;

use super::frame::Frame;
use super::place::apart;
use crate::report::html::escape::escape;

/// Between two of them.
const LINE: f64 = 11.5;

/// Where a line ends, in pixels, and what it is called.
pub(super) struct End<'a> {
    pub x: f64,
    pub y: f64,
    pub name: &'a str,
    /// Of the line.
    pub style: usize,
}

/// Writes them right of the frame, as far as so many letters go, each led to by its line.
pub(super) fn names(svg: &mut String, ends: &[End<'_>], frame: &Frame, letters: usize) {
    let &Frame { right, top, bottom, .. } = frame;
    let wanted: Vec<f64> = ends.iter().map(|end| end.y).collect();
    for (End { x, y, name, style }, placed) in ends.iter().zip(apart(&wanted, LINE, top, bottom)) {
        let _ = write!(
            svg,
            "<path class=\"lead e{style}\" d=\"M{x:.1} {y:.1}L{:.1} {placed:.1}\"/>\
             <text class=\"name f{style}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right + 12.0,
            right + 15.0,
            placed + 3.5,
            short(name, letters)
        );
    }
}

/// A name as far as there is room; a pointer shows all of it.
fn short(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return escape(name);
    }
    let start: String = name.chars().take(letters - 1).collect();
    format!("{}…<title>{}</title>", escape(&start), escape(name))
}
