//! The `.meta` file of a trace: lines `key=value`.

use std::fs;
use std::path::Path;

use super::version::Version;
use crate::error::TraceError;

/// A larger number in a file is damage.
pub(super) const MOST_RANKS: u32 = 1 << 20;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Meta {
    pub ranks: Option<u32>,
    pub prefix: Option<String>,
    pub version: Option<Version>,
}

impl Meta {
    pub fn read(path: &Path) -> Result<Meta, TraceError> {
        let bytes = fs::read(path).map_err(|error| TraceError::io(path, &error))?;
        Meta::parse(path, &String::from_utf8_lossy(&bytes))
    }

    fn parse(path: &Path, text: &str) -> Result<Meta, TraceError> {
        let value = |key: &str| {
            let mut pairs =
                text.lines().enumerate().filter_map(|(line, pair)| Some((line, pair.split_once('=')?)));
            pairs.find(|(_, pair)| pair.0.trim() == key).map(|(line, pair)| (line, pair.1.trim()))
        };
        let number = |key| value(key).and_then(|(_, value)| value.parse::<u8>().ok());
        let ranks = value("numprocs").map(|(line, value)| parse_ranks(path, line, value)).transpose()?;
        let version = number("version").zip(number("subversion")).zip(number("subsubversion"));
        let prefix =
            value("fileprefix").map(|(_, prefix)| prefix.rsplit('/').next().unwrap_or(prefix).to_owned());
        Ok(Meta {
            ranks,
            prefix,
            version: version.map(|((major, minor), patch)| Version(major, minor, patch)),
        })
    }
}

fn parse_ranks(path: &Path, line: usize, value: &str) -> Result<u32, TraceError> {
    value.parse().ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks)).ok_or_else(|| {
        let problem = format!("numprocs={value} is not a number of processes");
        TraceError::new(path, problem, "correct that line, or remove it").at_line(line as u64 + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Meta, TraceError> {
        Meta::parse(Path::new("a.meta"), text)
    }

    #[test]
    fn known_keys_are_read() {
        let text =
            "hostname=vm\nnumprocs=8\nfileprefix=out/dumpi-1\nversion=13\nsubversion=0\nsubsubversion=0\n";
        let meta = Meta { ranks: Some(8), prefix: Some("dumpi-1".into()), version: Some(Version(13, 0, 0)) };
        assert_eq!(parse(text).unwrap(), meta);
    }

    #[test]
    fn missing_keys_are_none() {
        assert_eq!(parse("hostname=vm\n").unwrap(), Meta::default());
    }

    #[test]
    fn absurd_process_count_is_line_error() {
        let error = parse("hostname=vm\nnumprocs=4000000000\n").unwrap_err();
        assert_eq!(error.line, Some(2));
    }
}
