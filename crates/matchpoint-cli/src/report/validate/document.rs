//! The validation: answer, bars, errors, times, searches.

use anstyle::Style;

use super::{bars, table};
use crate::predict::Validated;
use crate::report::document::Document;

pub fn document(validated: &Validated) -> Document {
    let mut document = Document::new(&validated.subject, "Accuracy of the models");
    document.lead(table::answer(validated), Style::new().bold());
    document.html(bars::of_applications(validated));
    for (label, text) in table::facts(validated) {
        document.fact(label, text);
    }
    document.section("Errors of the models");
    document.table(&table::error_columns(), table::errors(validated));
    document.note(table::ERRORS);
    table::reasons(validated).into_iter().for_each(|reason| document.item("Worse", reason));
    document.section("Measured times");
    let (measured, modelled) = (&table::MEASURED_COLUMNS, &table::modelled_columns());
    document.on_terminal().table(measured, table::measured(validated, |of| !of.is_volume()));
    document.on_page().table(measured, table::measured(validated, |_| true));
    document.note(table::TIMES);
    document.section("Modelled times");
    document.on_terminal().table(modelled, table::modelled(validated, |of| !of.is_volume()));
    document.on_page().table(modelled, table::modelled(validated, |_| true));
    document.on_terminal().note("Times of HighVolumePingPong: JSON and HTML.");
    document.section("Attempts per queue");
    document.table(&table::SEARCH_COLUMNS, table::searches(validated));
    document.note(table::SEARCHES);
    validated.notes.iter().for_each(|note| document.item("Note", note));
    document
}
