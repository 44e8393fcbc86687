//! Tests of Parquet output.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use tempfile::tempdir;

use super::{all_bundled, converted};

fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::ListInternal(list) => {
            let elements = list.elements().iter().map(|element| match element {
                Field::Null => "-".to_owned(),
                other => text(other),
            });
            elements.collect::<Vec<_>>().join(" ")
        }
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn parquet_has_rows_of_csv() {
    let folder = tempdir().unwrap();
    for trace in all_bundled() {
        let name = trace.file_name().unwrap().to_str().unwrap();
        let [csv, parquet] =
            ["csv", "parquet"].map(|extension| folder.path().join(format!("{name}.{extension}")));
        converted(&trace, &csv);
        converted(&trace, &parquet);
        let mut rows = csv::Reader::from_path(&csv).unwrap();
        let names: Vec<String> = rows.headers().unwrap().iter().map(str::to_owned).collect();
        let file = SerializedFileReader::new(File::open(&parquet).unwrap()).unwrap();
        let mut packed = file.get_row_iter(None).unwrap();
        for row in rows.records() {
            let row = row.unwrap();
            let other = packed.next().unwrap().unwrap();
            let other: Vec<(String, String)> =
                other.get_column_iter().map(|(name, field)| (name.clone(), text(field))).collect();
            let row: Vec<(String, String)> =
                names.iter().cloned().zip(row.iter().map(str::to_owned)).collect();
            assert_eq!(other, row, "{name}");
        }
        assert!(packed.next().is_none(), "{name}");
    }
}
