//! Tests of CSV output.

use csv::Reader;
use matchpoint_cli::report::Report;
use matchpoint_cli::report::csv::TABLES;
use matchpoint_replay::Measurements;

use crate::synthetic;

fn table(measurements: &Measurements, file: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let table = TABLES.iter().find(|table| table.file == file).unwrap();
    let mut bytes = Vec::new();
    (table.columns)(&Report::new(measurements)).write(&mut bytes).unwrap();
    let mut reader = Reader::from_reader(&bytes[..]);
    let owned = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = owned(reader.headers().unwrap());
    // The reader rejects rows of different lengths.
    (header, reader.records().map(|record| owned(&record.unwrap())).collect())
}

#[test]
fn table_rows_have_length_of_header() {
    let measurements = synthetic::run(8);
    for known in &TABLES {
        let (header, lines) = table(&measurements, known.file);
        assert!(header.len() > 1 && !lines.is_empty(), "{}", known.file);
    }
}

#[test]
fn tables_have_values_of_measurements() {
    let measurements = synthetic::run(8);
    let number = |cell: &String| cell.parse::<f64>().unwrap();
    let (header, lines) = table(&measurements, "ranks.csv");
    let column = header.iter().position(|name| name == "bins_match_ns").unwrap();
    assert_eq!(lines[5][0], "5");
    assert_eq!(number(&lines[5][column]), measurements.engines[2].ranks[5].match_ns);
    let (header, lines) = table(&measurements, "timeline.csv");
    assert_eq!(header, ["rank", "start_s", "queue", "length_max"]);
    assert_eq!(lines.len(), 8 * synthetic::SPANS * 2);
    assert_eq!(number(&lines[1][1]), measurements.replayed_s / synthetic::SPANS as f64);
    let (_, lines) = table(&measurements, "depth.csv");
    let posted = lines.iter().filter(|line| line[0] == "list" && line[1] == "posted");
    let searches: f64 = posted.map(|line| number(&line[5])).sum();
    assert_eq!(searches as u64, measurements.engines[0].posted.searches);
}

#[test]
fn names_with_commas_stay_one_field() {
    let mut measurements = synthetic::run(8);
    measurements.engines[2].name = "bins:n=64,x=\"1\"".to_owned();
    let (_, lines) = table(&measurements, "engines.csv");
    assert_eq!(lines[2][0], "bins:n=64,x=\"1\"");
}
