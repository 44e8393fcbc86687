//! Functions by the names that the text gives them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::layout::{LAYOUTS, Layout};

static NUMBERS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let name = |layout: &Layout| printed(layout.function.name());
    LAYOUTS.iter().enumerate().map(|(number, layout)| (name(layout), number)).collect()
});

/// As the text has it: the calls of MPI-IO that had requests of their own are `MPIO_Test`, ….
fn printed(name: &str) -> String {
    match name.strip_prefix("MPI_Io_") {
        Some(rest) => format!("MPIO_{}{}", rest[..1].to_ascii_uppercase(), &rest[1..]),
        None => name.to_owned(),
    }
}

/// The number of a function in the format.
pub(super) fn number(name: &[u8]) -> Option<usize> {
    NUMBERS.get(std::str::from_utf8(name).ok()?).copied()
}

/// The layout of a function.
pub(super) fn layout(name: &[u8]) -> Option<&'static Layout> {
    number(name).map(|number| &LAYOUTS[number])
}
