//! The parameters as a table.

use super::{Calibration, HEADER, contention, logp, rows, search, where_};
use crate::report::terminal::layout::Page;

/// The whole text.
pub fn render(of: &Calibration<'_>) -> String {
    let mut page = Page::default();
    let head = &of.raw.head;
    page.labelled("Machine", &format!("{}: {}, {}", of.machine.name, where_(of.raw), head.host));
    page.labelled("MPI", &head.mpi);
    page.blank();
    if !of.parameters.links.is_empty() {
        page.table(&HEADER, &rows(of.parameters));
        page.footnote(
            "A message of s bytes takes α + s ÷ R_b; where several processes of a node send at once, R_N bounds them \
             all. ±: the wider half of the interval of 95 %.",
        );
    }
    let sentences = [
        ("Queue search", search(of.parameters)),
        ("Contention", contention(of.parameters)),
        ("LogP", logp(of.parameters)),
    ];
    let mut is_any = false;
    for (label, text) in sentences {
        if let Some(text) = text {
            page.labelled(label, &text);
            is_any = true;
        }
    }
    if is_any {
        page.blank();
    }
    if !of.parameters.warnings.is_empty() {
        page.heading("What this does not tell");
        for warning in &of.parameters.warnings {
            page.bullet(warning);
        }
    }
    page.into_text()
}
