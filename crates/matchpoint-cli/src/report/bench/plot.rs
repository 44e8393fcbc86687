//! Time against size.

use std::path::Path;

use matchpoint_bench::Results;

/// What kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A picture.
    Svg,
    /// A page with the picture and the table.
    Html,
}

impl Form {
    /// By the end of the name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Form::Svg),
            "html" | "htm" => Some(Form::Html),
            _ => None,
        }
    }
}

/// The whole file.
pub fn render(_: &Results, _: Form) -> String {
    String::new()
}
