//! The parameters as a table, and charts of the measurements.

use super::charts::groups;
use super::{Calibration, contention, logp, protocols, search, where_};
use crate::report::chart::grid;
use crate::report::document::Document;

pub fn document(of: &Calibration<'_>) -> Document {
    let (name, head) = (&of.machine.name, &of.raw.head);
    let mut document = Document::new(format!("the machine {name}"), format!("The machine {name}"));
    document.fact("Machine", format!("{name}: {}, {}", where_(of.raw), head.host));
    document.fact("MPI", &head.mpi);
    document.on_page().fact("Measured", &head.started);
    if !of.parameters.links.is_empty() {
        document.rows(protocols(of.parameters));
        document.note(
            "A message of s bytes takes α + s ÷ R_b. R_N limits all processes of a node that send at once. ±: the \
             wider half of the 95 % interval.",
        );
    }
    let sentences = [
        ("Queue search", search(of.parameters)),
        ("Contention", contention(of.parameters)),
        ("LogP", logp(of.parameters)),
    ];
    for (label, text) in sentences {
        text.into_iter().for_each(|text| document.fact(label, text));
    }
    if !of.parameters.warnings.is_empty() {
        document.section("Limitations");
        of.parameters.warnings.iter().for_each(|warning| document.bullet(warning));
    }
    for group in groups(of) {
        document.on_page().section(group.title);
        document.on_page().paragraph(group.text);
        document.html(grid(&group.charts, group.title, ""));
    }
    document
}
