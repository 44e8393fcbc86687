//! Charts: bars in a table, a stacked bar, columns per rank. Every number is also text.

use std::fmt::Write;

use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{count, share};

use crate::report::escape::escape;

/// A table row with a label, a number, and a bar of this length (0 to 1).
pub struct Bar {
    pub label: String,
    pub number: String,
    pub length: f64,
    /// The marked part of the bar (0 to 1).
    pub marked: f64,
}

pub fn bars(caption: &str, class: &str, rows: &[Bar]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut html = format!("<table class=\"bars {class}\"><caption>{}</caption><tbody>", escape(caption));
    for Bar { label, number, length, marked } in rows {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"b\">{}</td></tr>",
            escape(label),
            escape(number),
            bar(*length, *marked)
        );
    }
    html + "</tbody></table>"
}

pub fn bar(length: f64, marked: f64) -> String {
    let percent = |part: f64| (part * 100.0).clamp(0.0, 100.0);
    let mark = if marked > 0.0 {
        format!("<i class=\"mark\" style=\"width:{:.2}%\"></i>", percent(marked))
    } else {
        String::new()
    };
    format!("<span class=\"bar\"><i style=\"width:{:.2}%\"></i>{mark}</span>", percent(length))
}

/// One bar for all parts of a whole, with a legend.
pub fn stack(parts: &[(&str, u64)]) -> String {
    let whole: u64 = parts.iter().map(|(_, number)| number).sum();
    let of = |number: u64| ratio(number as f64, whole as f64);
    let mut strip = String::new();
    let mut legend = String::new();
    for (index, (label, number)) in parts.iter().enumerate() {
        let (label, percent) = (escape(label), of(*number) * 100.0);
        let _ = write!(strip, "<i class=\"k{index}\" style=\"width:{percent:.3}%\"></i>");
        let _ = write!(
            legend,
            "<li><i class=\"k{index}\"></i><span>{label}</span> <b>{}</b> <small>{}</small></li>",
            share(of(*number)),
            count(*number)
        );
    }
    format!("<div class=\"stack\" aria-hidden=\"true\">{strip}</div><ul class=\"legend\">{legend}</ul>")
}

/// One column for each rank. The script shows the numbers of `series` at the cursor.
pub struct Columns<'a> {
    pub title: &'a str,
    pub series: &'a str,
    pub back: &'a [f64],
    pub front: &'a [f64],
    /// Label of the highest value on the vertical axis.
    pub top: &'a str,
    pub first_rank: u32,
    pub last_rank: u32,
    /// Index of a marked column, and text of the mark.
    pub mark: Option<(usize, String)>,
}

/// Highest column ÷ median column, from which the scale is logarithmic.
const OUTLIER: f64 = 16.0;

pub fn columns(of: &Columns<'_>) -> String {
    if of.front.is_empty() {
        return String::new();
    }
    let scale = Scale::of(of.back, of.front);
    let number = of.front.len();
    format!(
        "<figure class=\"columns\" data-columns=\"{series}\"><figcaption>{title}{note}</figcaption>\
         <div class=\"plot\"><span class=\"top{side}\">{top}</span>{mark}\
         <div class=\"stage\" tabindex=\"0\" role=\"application\" aria-label=\"{title}, a column per rank: arrow keys \
         move\"><svg viewBox=\"0 0 {number} 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path class=\"back\" d=\"{back}\"/><path class=\"front\" d=\"{front}\"/></svg></div>\
         <span class=\"from\">rank {first}</span><span class=\"to\">{last}</span></div></figure>",
        series = of.series,
        title = escape(of.title),
        note = if scale.logarithmic { ", logarithmic" } else { "" },
        // Near the left edge, the text would cover the label of the scale.
        side = if of.mark.as_ref().is_some_and(|(at, _)| at * 3 < number) { " right" } else { "" },
        top = escape(of.top),
        mark = of.mark.as_ref().map_or(String::new(), |(at, text)| mark(*at, number, text)),
        back = path(of.back, scale),
        front = path(of.front, scale),
        first = of.first_rank,
        last = of.last_rank,
    )
}

#[derive(Clone, Copy)]
struct Scale {
    bottom: f64,
    top: f64,
    logarithmic: bool,
}

impl Scale {
    fn of(back: &[f64], front: &[f64]) -> Self {
        let top = back.iter().chain(front).copied().fold(0.0, f64::max);
        let mut used: Vec<f64> = front.iter().copied().filter(|value| *value > 0.0).collect();
        used.sort_by(f64::total_cmp);
        let ordinary = used.get(used.len() / 2).copied().unwrap_or(top);
        // The scale starts at half of the lowest value, so that the lowest column is visible.
        let bottom = used.first().map_or(1.0, |least| least / 2.0);
        Scale { bottom, top, logarithmic: top > OUTLIER * ordinary }
    }

    fn height(self, value: f64) -> f64 {
        if self.logarithmic {
            ratio((value / self.bottom).ln(), (self.top / self.bottom).ln()).max(0.0) * 100.0
        } else {
            ratio(value, self.top) * 100.0
        }
    }
}

fn mark(at: usize, number: usize, text: &str) -> String {
    let left = (at as f64 + 0.5) / number as f64 * 100.0;
    let side = if left > 50.0 { "left" } else { "right" };
    format!("<span class=\"pin {side}\" style=\"left:{left:.2}%\"><b>{}</b></span>", escape(text))
}

fn path(values: &[f64], scale: Scale) -> String {
    // Narrow columns have no gap.
    let gap = if values.len() <= 128 { 0.08 } else { 0.0 };
    let mut path = String::new();
    for (index, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let height = scale.height(*value);
        let left = index as f64 + gap;
        let _ = write!(path, "M{left} 100v-{height:.1}h{}V100z", 1.0 - 2.0 * gap);
    }
    path
}
