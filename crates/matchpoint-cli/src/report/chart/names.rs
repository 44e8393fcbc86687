//! Names at the ends of lines.

use std::fmt::Write;

use super::frame::Frame;
use crate::report::escape::escape;

/// In pixels.
const LINE: f64 = 11.5;

const LETTERS: usize = 29;

/// The end of a line in pixels, and its name.
pub(super) struct End<'a> {
    pub x: f64,
    pub y: f64,
    pub name: &'a str,
    /// The tooltip. Empty: the name.
    pub full: &'a str,
    pub style: usize,
}

pub(super) fn names(svg: &mut String, ends: &[End<'_>], frame: &Frame) {
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
            short(name, if full.is_empty() { name } else { full }, LETTERS)
        );
    }
}

fn short(name: &str, full: &str, letters: usize) -> String {
    let start = match name.chars().count() {
        all if all <= letters && name == full => return escape(name),
        all if all <= letters => name.to_owned(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    };
    format!("{}<title>{}</title>", escape(&start), escape(full))
}

/// Positions with minimal moves, in their order, at least `distance` apart.
fn apart(wanted: &[f64], distance: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for &at in &order {
        placed[at] = placed[at].max(least);
        least = placed[at] + distance;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(most);
        most = placed[at] - distance;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn labels_keep_order_and_distance() {
        assert_eq!(apart(&[50.0, 10.0, 52.0], 10.0, 0.0, 100.0), [50.0, 10.0, 60.0]);
        assert_eq!(apart(&[99.0, 98.0], 10.0, 0.0, 100.0), [100.0, 90.0]);
        assert_eq!(apart(&[-5.0], 10.0, 0.0, 100.0), [0.0]);
    }
}
