//! Options of `matchpoint convert`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::output::is_stdout;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint convert app.trace -o calls.csv
  matchpoint convert app.trace -o - --to csv | head
  matchpoint convert app.trace -o app.dumpi
  matchpoint convert traces/lulesh-27 -o lulesh.trace

Columns of tables, and limitations of each format: docs/reference/convert.md.";

#[derive(Args, Debug)]
pub struct Convert {
    /// Trace: a recorded trace, a folder of DUMPI files, a .meta file, text of dumpi2ascii, or an .otf2 file
    pub trace: PathBuf,

    /// Output: a folder for dumpi and native, a file for tables (- is standard output)
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Format [default: by the name of OUT: .dumpi, .trace, .csv, .parquet]
    #[arg(short, long, value_name = "FORMAT")]
    pub to: Option<Format>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Files of sst-dumpi 13.0.0: a .meta file, and a .bin file per rank
    Dumpi,
    /// The format of matchpoint record
    Native,
    /// A table with a row per call, as text
    Csv,
    /// The same table for pandas, Polars, DuckDB and Spark (if built with --features parquet)
    Parquet,
}

impl Convert {
    pub fn format(&self) -> Result<Format, String> {
        match self.to.or_else(|| by_name(&self.output)) {
            Some(Format::Dumpi | Format::Native) if is_stdout(&self.output) => {
                Err("a trace needs a folder, and standard output is one file\nhint: name a folder, or use --to csv or --to \
                     parquet"
                    .to_owned())
            }
            Some(format) => Ok(format),
            None if is_stdout(&self.output) => {
                Err("standard output needs a format\nhint: use --to csv or --to parquet".to_owned())
            }
            None => Err(format!(
                "the name '{}' does not determine the format\nhint: use --to dumpi, --to native, --to csv or --to parquet",
                self.output.display()
            )),
        }
    }
}

fn by_name(output: &Path) -> Option<Format> {
    match output.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "dumpi" => Some(Format::Dumpi),
        "trace" => Some(Format::Native),
        "csv" => Some(Format::Csv),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(output: &str, to: Option<Format>) -> Result<Format, String> {
        Convert { trace: "t".into(), output: output.into(), to }.format()
    }

    #[test]
    fn file_name_determines_default_format() {
        assert_eq!(format("a/b.PARQUET", None), Ok(Format::Parquet));
        assert_eq!(format("b.dumpi", None), Ok(Format::Dumpi));
        assert_eq!(format("b.trace", Some(Format::Csv)), Ok(Format::Csv));
        assert!(format("calls", None).unwrap_err().contains("--to dumpi"));
    }

    #[test]
    fn standard_output_takes_only_single_files() {
        for to in [Format::Csv, Format::Parquet] {
            assert_eq!(format("-", Some(to)), Ok(to));
        }
        for to in [None, Some(Format::Native), Some(Format::Dumpi)] {
            assert!(format("-", to).unwrap_err().contains("use --to csv or --to parquet"));
        }
    }
}
