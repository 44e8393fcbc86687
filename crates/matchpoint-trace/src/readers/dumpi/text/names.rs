//! Functions by their names in the text form.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::layout::{LAYOUTS, Layout};

static NUMBERS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let name = |layout: &Layout| printed_name(layout.function.name());
    LAYOUTS.iter().enumerate().map(|(number, layout)| (name(layout), number)).collect()
});

/// Name of the function in the text form: MPI-IO functions with separate requests have another prefix.
fn printed_name(name: &str) -> String {
    match name.strip_prefix("MPI_Io_") {
        Some(rest) => format!("MPIO_{}{}", rest[..1].to_ascii_uppercase(), &rest[1..]),
        None => name.to_owned(),
    }
}

pub(super) fn number(name: &[u8]) -> Option<usize> {
    NUMBERS.get(std::str::from_utf8(name).ok()?).copied()
}

pub(super) fn layout(name: &[u8]) -> Option<&'static Layout> {
    number(name).map(|number| &LAYOUTS[number])
}
