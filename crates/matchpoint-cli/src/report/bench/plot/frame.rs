//! What charts have around their lines, and how they lie side by side.

use std::fmt::Write;

use crate::report::escape::escape;

/// Charts side by side.
const COLUMNS: usize = 3;

/// Pixels from a chart's corner to the left, right, upper and lower end of what is drawn in.
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// Levels across the chart, and what each is called: `(y, name)`.
    pub fn levels(&self, svg: &mut String, levels: impl IntoIterator<Item = (f64, String)>) {
        for (y, name) in levels {
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{} {y:.1}H{}\"/><text class=\"tick y\" x=\"{}\" y=\"{:.1}\">{name}</text>",
                self.left,
                self.right,
                self.left - 6.0,
                y + 3.5,
            );
        }
    }

    /// Marks below the chart, from the left: `(x, name)`. Where they lie closer than `apart`, not all are named.
    pub fn marks(&self, svg: &mut String, apart: f64, marks: impl IntoIterator<Item = (f64, String)>) {
        let mut last = f64::MIN;
        for (x, name) in marks {
            let _ = write!(svg, "<path class=\"grid\" d=\"M{x:.1} {}v4\"/>", self.bottom);
            if x - last >= apart {
                last = x;
                let y = self.bottom + 17.0;
                let _ = write!(svg, "<text class=\"tick x\" x=\"{x:.1}\" y=\"{y}\">{name}</text>");
            }
        }
    }
}

/// A picture of all charts, each of that width and height, and what it shows. Without any it says `nothing`.
pub(super) fn grid(charts: &[String], (width, height): (usize, usize), label: &str, nothing: &str) -> String {
    let columns = COLUMNS.min(charts.len().max(1));
    let rows = charts.len().div_ceil(COLUMNS).max(1);
    // Few charts are not drawn larger than many.
    let across = width * columns;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {across} {}\" style=\"max-width:{across}px\" role=\"img\" aria-label=\"{}\">",
        height * rows,
        escape(label)
    );
    if charts.is_empty() {
        let _ = write!(svg, "<text x=\"12\" y=\"24\">{}</text>", escape(nothing));
    }
    for (at, chart) in charts.iter().enumerate() {
        let (x, y) = (at % COLUMNS * width, at / COLUMNS * height);
        let _ = write!(svg, "<g transform=\"translate({x} {y})\">{chart}</g>");
    }
    svg + "</svg>\n"
}
