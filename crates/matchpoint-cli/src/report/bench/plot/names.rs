//! Names at the ends of lines.

use std::fmt::Write;

use super::frame::Frame;
use super::place::apart;
use crate::report::escape::escape;

/// Between two of them.
const LINE: f64 = 11.5;

/// Where a line ends, in pixels, and what it is called.
pub(super) struct End<'a> {
    pub x: f64,
    pub y: f64,
    pub name: &'a str,
    /// What a pointer shows; if that is nothing, the name.
    pub full: &'a str,
    /// Of the line.
    pub style: usize,
}

/// Writes them right of the frame, as far as so many letters go, each led to by its line.
pub(super) fn names(svg: &mut String, ends: &[End<'_>], frame: &Frame, letters: usize) {
    let &Frame { right, top, bottom, .. } = frame;
    let wanted: Vec<f64> = ends.iter().map(|end| end.y).collect();
    for (End { x, y, name, full, style }, placed) in ends.iter().zip(apart(&wanted, LINE, top, bottom)) {
        let _ = write!(
            svg,
            "<path class=\"lead e{style}\" d=\"M{x:.1} {y:.1}L{:.1} {placed:.1}\"/>\
             <text class=\"name f{style}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right + 12.0,
            right + 15.0,
            placed + 3.5,
            short(name, if full.is_empty() { name } else { full }, letters)
        );
    }
}

/// A name as far as there is room; a pointer shows all of it, in full.
fn short(name: &str, full: &str, letters: usize) -> String {
    let start = match name.chars().count() {
        all if all <= letters && name == full => return escape(name),
        all if all <= letters => name.to_owned(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    };
    format!("{}<title>{}</title>", escape(&start), escape(full))
}
