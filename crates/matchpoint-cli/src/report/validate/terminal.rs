//! The validation on a terminal: the answer, errors, times, searches.

use anstyle::Style;

use super::table;
use crate::predict::Validated;
use crate::report::terminal::layout::Page;

/// The whole text.
pub fn render(validated: &Validated) -> String {
    let mut page = Page::default();
    page.paragraph(&table::answer(validated), Style::new().bold());
    page.blank();
    for (label, text) in table::facts(validated) {
        page.labelled(label, &text);
    }
    page.blank();
    page.heading("How far models are off");
    page.wide_table(&table::error_columns(), &table::errors(validated));
    page.footnote(table::ERRORS);
    for reason in table::reasons(validated) {
        page.item("Worse", &reason);
    }
    if !table::reasons(validated).is_empty() {
        page.blank();
    }
    page.heading("Measured times");
    page.wide_table(&table::MEASURED_COLUMNS, &table::measured(validated, |of| !of.is_volume()));
    page.footnote(table::TIMES);
    page.heading("Modelled times");
    page.wide_table(&table::modelled_columns(), &table::modelled(validated, |of| !of.is_volume()));
    page.footnote("Those of HighVolumePingPong are in JSON and HTML.");
    page.heading("How far queues were searched");
    page.wide_table(&table::SEARCH_COLUMNS, &table::searches(validated));
    page.footnote(table::SEARCHES);
    for note in &validated.notes {
        page.item("Note", note);
    }
    page.into_text()
}
