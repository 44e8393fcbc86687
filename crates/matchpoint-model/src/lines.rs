//! Line numbers of errors in a TOML file.

use serde::de::DeserializeOwned;

/// On failure, the line and the problem on one line.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, (Option<u64>, String)> {
    toml::from_str(text).map_err(|error| {
        let line =
            error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() as u64 + 1);
        (line, error.message().trim_end().replace('\n', ", "))
    })
}

/// Line of a key, counted from 1, or line of its table if the table lacks the key. The name `""` is the part
/// before all tables.
///
/// Expects one table or key per line, as [`Machine::to_toml`](crate::Machine::to_toml) writes. In other forms
/// the result is `None` or too small.
pub(crate) fn line_of(text: &str, table: &str, key: &str) -> Option<u64> {
    let (mut within, mut header) = ("", None);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            within = name.0.trim();
            header = if within == table { Some(number) } else { header };
        }
        let is_key = line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
        if within == table && is_key {
            return Some(number);
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_their_table() {
        let text = "format = 1\n\n[node]\nsockets = 2\n\n[off_node]\n# none\nsockets= 3\n[off_node.eager]\nalpha_s = 1\n";
        assert_eq!(line_of(text, "", "format"), Some(1));
        assert_eq!(line_of(text, "node", "sockets"), Some(4));
        assert_eq!(line_of(text, "off_node", "sockets"), Some(8));
        assert_eq!(line_of(text, "off_node.eager", "alpha_s"), Some(10));
        assert_eq!(line_of(text, "off_node", "alpha_s"), Some(6), "the table");
        assert_eq!((line_of(text, "on_node", "alpha_s"), line_of(text, "", "alpha_s")), (None, None));
    }
}
