//! A document as an HTML file, without network or server.

use std::fmt::Write;

use super::{Block, Table};
use crate::report::escape::{escape, prose};

const STYLE: &str = include_str!("page.css");

/// The style of pictures, also for separate SVG files.
pub(in crate::report) const PICTURE: &str = include_str!("picture.css");

/// A complete HTML file. `about` is next to the product name, and `script` runs in a closure. `about` and `main` are
/// HTML.
pub(in crate::report) fn file(title: &str, about: &str, main: &str, script: &str) -> String {
    let (scripts, script) = match script {
        "" => ("", String::new()),
        script => {
            ("; script-src 'unsafe-inline'", format!("<script>\n(() => {{\n{script}}})();\n</script>\n"))
        }
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{scripts}\">\n\
         <title>Matchpoint: {}</title>\n<style>\n{STYLE}{PICTURE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the answer</a>\n<header class=\"top\">\n<p class=\"brand\">Matchpoint</p>\n\
         <p class=\"trace\">{about}</p>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n{main}</main>\n{script}</body>\n\
         </html>\n",
        escape(title)
    )
}

pub(super) fn render<'a>(subject: &str, heading: &str, of: impl Iterator<Item = &'a Block>) -> String {
    let main = format!("<h1>{}</h1>\n{}", prose(heading), blocks(of));
    file(subject, &format!("<b>{}</b>", escape(subject)), &main, "")
}

pub(super) fn blocks<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let (mut main, mut open) = (String::new(), "");
    for block in blocks {
        let list = match block {
            Block::Fact(..) => "dl",
            Block::Item(..) | Block::Bullet(_) => "ul",
            _ => "",
        };
        if list != open {
            main += &tag("/", open);
            main += &tag("", list);
            open = list;
        }
        main += &html(block);
        main.push('\n');
    }
    main + &tag("/", open)
}

fn tag(slash: &str, list: &str) -> String {
    let class = match (slash, list) {
        (_, "") => return String::new(),
        ("", "dl") => " class=\"list\"",
        ("", _) => " class=\"notes\"",
        _ => "",
    };
    format!("<{slash}{list}{class}>\n")
}

fn html(block: &Block) -> String {
    match block {
        Block::Lead(text, _) => format!("<p class=\"lead\">{}</p>", prose(text)),
        Block::Paragraph(text) => format!("<p>{}</p>", prose(text)),
        Block::Fact(label, text) => fact(label, text),
        Block::Section(title) => format!("<h2>{}</h2>", prose(title)),
        Block::Table(Table { header, rows, is_marked }) => grid(header, rows, *is_marked),
        Block::Note(text) => format!("<p class=\"about\">{}</p>", prose(text)),
        Block::Item(title, text) => format!("<li><b>{}</b>: {}</li>", prose(title), prose(text)),
        Block::Bullet(text) => format!("<li>{}</li>", prose(text)),
        Block::Command(command) => format!("<li><code>{}</code></li>", escape(command)),
        Block::Html(html) => html.clone(),
        Block::Gap => String::new(),
    }
}

fn fact(label: &str, text: &str) -> String {
    format!("<div><dt>{}</dt><dd>{}</dd></div>", escape(label), prose(text))
}

pub(in crate::report) fn facts(class: &str, facts: &[(&str, String)]) -> String {
    let all: String = facts.iter().map(|(label, text)| fact(label, text)).collect();
    format!("<dl class=\"{class}\">{all}</dl>")
}

fn grid(header: &[String], rows: &[Vec<String>], is_marked: bool) -> String {
    let class = |column: usize| if !is_marked && is_of_words(rows, column) { "words" } else { "" };
    let classes: Vec<&str> = (0..header.len()).map(class).collect();
    let mut html =
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"grid\"><thead><tr>"
            .to_owned();
    for (cell, class) in header.iter().zip(&classes) {
        html += &element("th", " scope=\"col\"", class, cell);
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (at, (cell, class)) in row.iter().zip(&classes).enumerate() {
            html += &match at {
                0 => element("th", " scope=\"row\"", class, cell),
                _ if is_marked && cell.starts_with(['*', '≈']) => element("td", "", "best", cell),
                _ => element("td", "", class, cell),
            };
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div>"
}

/// A table cell. Lines after the first have a small font.
fn element(name: &str, attributes: &str, class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let mut lines = text.split('\n');
    let mut html = format!("<{name}{attributes}{class}>{}", prose(lines.next().unwrap_or_default()));
    lines.for_each(|line| _ = write!(html, "<small>{}</small>", prose(line)));
    html + &format!("</{name}>")
}

fn is_of_words(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column)?.chars().next());
    let (words, figures): (Vec<char>, Vec<char>) = cells.partition(|first| first.is_alphabetic());
    words.len() > figures.len()
}

#[cfg(test)]
mod tests {
    use super::grid;

    #[test]
    fn column_of_words_is_left_aligned() {
        let rows = [["list", "a<b", "1.5", "1.4"], ["bins", "c", "≈ 7", "6"], ["four_d", "d", "full", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let html = grid(&["engine", "what", "rate", "p25"].map(str::to_owned), &rows, false);
        for cell in [
            "<th scope=\"col\" class=\"words\">what</th><th scope=\"col\">rate</th>",
            "<th scope=\"row\" class=\"words\">four_d</th><td class=\"words\">d</td><td>full</td><td></td>",
            "<td class=\"words\">a&lt;b</td><td>1.5</td>",
        ] {
            assert!(html.contains(cell), "{html}");
        }
    }
}
