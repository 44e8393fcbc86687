//! The calibration as one HTML file that needs nothing else.

use std::fmt::Write;

use super::charts::groups;
use super::{Calibration, HEADER, contention, logp, rows, search, where_};
use crate::report::html::escape::escape;
use crate::report::html::table::table_of;

const STYLE: &str = include_str!("../bench/plot/style.css");

/// Beyond what charts of engines need: two side by side.
const OWN_STYLE: &str = ".charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }\n\
                         td:nth-child(2) { text-align: right; }\n";

/// The whole file.
pub fn render(of: &Calibration<'_>) -> String {
    let name = escape(&of.machine.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Matchpoint: the machine {name}</title>\n<style>{STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>The machine {name}</h1>\n<p>{}, {}. {}. Measured {}.</p>\n",
        escape(&where_(of.raw)),
        escape(&of.raw.head.host),
        escape(&of.raw.head.mpi),
        escape(&of.raw.head.started),
    );
    page += &table_of(&HEADER, &rows(of.parameters));
    for sentence in
        [search(of.parameters), contention(of.parameters), logp(of.parameters)].into_iter().flatten()
    {
        let _ = writeln!(page, "<p>{}.</p>", escape(&sentence));
    }
    if !of.parameters.warnings.is_empty() {
        page += "<h2>What this does not tell</h2>\n<ul>\n";
        for warning in &of.parameters.warnings {
            let _ = writeln!(page, "<li>{}</li>", escape(warning));
        }
        page += "</ul>\n";
    }
    for group in groups(of) {
        let _ = write!(
            page,
            "<h2>{}</h2>\n<p>{}</p>\n<div class=\"charts\">\n{}</div>\n",
            escape(group.title),
            escape(group.text),
            group.charts.concat()
        );
    }
    page + "</main>\n</body>\n</html>\n"
}
