//! Tables of pages: words to the left, figures to the right.

use std::fmt::Write;

use super::escape::escape;

/// A table, its rows named by their first cells.
pub(in crate::report) fn table_of(columns: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let classes: Vec<&str> = (0..columns.len())
        .map(|column| if is_of_words(rows, column) { " class=\"words\"" } else { "" })
        .collect();
    let mut html = "<div class=\"scroll\"><table class=\"grid\"><thead><tr>".to_owned();
    for (column, class) in columns.iter().zip(&classes) {
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(column.as_ref()));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (at, (cell, class)) in row.iter().zip(&classes).enumerate() {
            let cell = escape(cell);
            let _ = match at {
                0 => write!(html, "<th scope=\"row\"{class}>{cell}</th>"),
                _ => write!(html, "<td{class}>{cell}</td>"),
            };
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div>"
}

/// Most of what stands in this column begins with a letter: why a figure is missing does not make it one of words.
fn is_of_words(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column)?.chars().next());
    let (words, figures): (Vec<char>, Vec<char>) = cells.partition(|first| first.is_alphabetic());
    words.len() > figures.len()
}

#[cfg(test)]
mod tests {
    use super::table_of;

    #[test]
    fn words_begin_at_the_left_whatever_figures_are_missing() {
        let rows = [["list", "a<b", "1.5", "1.4"], ["bins", "c", "≈ 7", "6"], ["four_d", "d", "full", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let html = table_of(&["engine", "what", "rate", "p25"], &rows);
        for cell in [
            "<th scope=\"col\" class=\"words\">what</th><th scope=\"col\">rate</th>",
            "<th scope=\"row\" class=\"words\">four_d</th><td class=\"words\">d</td><td>full</td><td></td>",
            "<td class=\"words\">a&lt;b</td><td>1.5</td>",
        ] {
            assert!(html.contains(cell), "{html}");
        }
    }
}
