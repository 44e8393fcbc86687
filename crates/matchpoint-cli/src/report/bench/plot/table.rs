//! Tables of a page: words to the left, figures to the right.

use crate::report::html::escape::escape;

/// The first row is the heading, the first column names the rows; nothing if there is no row.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let Some((heading, rows)) = rows.split_first() else { return String::new() };
    let words: Vec<bool> = (0..heading.len()).map(|column| is_of_words(rows, column)).collect();
    let line = |row: &[String], scope: &str, others: &str| -> String {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let tag = if column == 0 { "th" } else { others };
            let scope = if tag == "th" { scope } else { "" };
            let class = if words[column] { " class=\"words\"" } else { "" };
            format!("<{tag}{scope}{class}>{}</{tag}>", escape(cell))
        });
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let heading = line(heading, " scope=\"col\"", "th");
    let rows: String = rows.iter().map(|row| line(row, " scope=\"row\"", "td")).collect();
    format!("<div class=\"scroll\"><table><thead>{heading}</thead><tbody>{rows}</tbody></table></div>")
}

/// Most of what stands in this column begins with a letter: why a figure is missing does not make it one of words.
fn is_of_words(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column)?.chars().next());
    let (words, figures): (Vec<char>, Vec<char>) = cells.partition(|first| first.is_alphabetic());
    words.len() > figures.len()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn words_begin_at_the_left_whatever_figures_are_missing() {
        let rows = [
            ["engine", "what", "rate", "p25"],
            ["list", "a<b", "1.5", "1.4"],
            ["bins", "c", "≈ 7", "6"],
            ["four_d", "d", "full", ""],
        ];
        let html = table(&rows.map(|row| row.map(str::to_owned).to_vec()));
        for cell in [
            "<th scope=\"col\" class=\"words\">what</th><th scope=\"col\">rate</th>",
            "<th scope=\"row\" class=\"words\">four_d</th><td class=\"words\">d</td><td>full</td><td></td>",
            "<td class=\"words\">a&lt;b</td><td>1.5</td>",
        ] {
            assert!(html.contains(cell), "{html}");
        }
        assert_eq!(table(&[]), "");
    }
}
