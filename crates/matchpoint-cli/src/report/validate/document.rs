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
    document.rows(table::errors(validated));
    document.note(table::ERRORS);
    table::reasons(validated).into_iter().for_each(|reason| document.item("Worse", reason));
    document.section("Measured times");
    document.on_terminal().rows(table::measured(validated, |of| !of.is_volume()));
    document.on_page().rows(table::measured(validated, |_| true));
    document.note(table::TIMES);
    document.section("Modelled times");
    document.on_terminal().rows(table::modelled(validated, |of| !of.is_volume()));
    document.on_page().rows(table::modelled(validated, |_| true));
    document.on_terminal().note("Times of HighVolumePingPong: JSON and HTML.");
    document.section("Attempts per queue");
    document.rows(table::searches(validated));
    document.note(table::SEARCHES);
    validated.notes.iter().for_each(|note| document.item("Note", note));
    document
}
