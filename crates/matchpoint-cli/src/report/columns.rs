//! A table of typed columns: written as CSV, and passed to Python as Arrow arrays.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schema::table;

#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    Text(Vec<Option<String>>),
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    Float(Vec<Option<f64>>),
    Truth(Vec<bool>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub name: String,
    pub values: Values,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Columns(pub Vec<Column>);

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Unsigned(values) => values.len(),
            Values::Signed(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Truth(values) => values.len(),
        }
    }

    fn cell(&self, row: usize) -> Value {
        match self {
            Values::Text(values) => json!(values[row]),
            Values::Unsigned(values) => json!(values[row]),
            Values::Signed(values) => json!(values[row]),
            Values::Float(values) => json!(values[row]),
            Values::Truth(values) => json!(values[row]),
        }
    }
}

impl Columns {
    fn with(mut self, name: impl Into<String>, values: Values) -> Self {
        self.0.push(Column { name: name.into(), values });
        self
    }

    #[must_use]
    pub fn text(self, name: &str, values: impl Iterator<Item = impl Into<String>>) -> Self {
        self.optional_text(name, values.map(Some))
    }

    #[must_use]
    pub fn optional_text(self, name: &str, values: impl Iterator<Item = Option<impl Into<String>>>) -> Self {
        self.with(name, Values::Text(values.map(|value| value.map(Into::into)).collect()))
    }

    #[must_use]
    pub fn unsigned(self, name: impl Into<String>, values: impl Iterator<Item = impl Into<u64>>) -> Self {
        self.with(name, Values::Unsigned(values.map(Into::into).collect()))
    }

    #[must_use]
    pub fn signed(self, name: &str, values: impl Iterator<Item = impl Into<i64>>) -> Self {
        self.with(name, Values::Signed(values.map(Into::into).collect()))
    }

    #[must_use]
    pub fn float(self, name: impl Into<String>, values: impl Iterator<Item = f64>) -> Self {
        self.optional_float(name, values.map(Some))
    }

    #[must_use]
    pub fn optional_float(self, name: impl Into<String>, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.with(name, Values::Float(values.collect()))
    }

    /// Adds members of rows, by the words `path` or `name=path`. A default row has the types of the columns.
    #[must_use]
    pub fn members<R: Serialize + Default>(mut self, rows: &[R], words: &str) -> Self {
        let (default, rows) = (json!(R::default()), rows.iter().map(|row| json!(row)).collect::<Vec<_>>());
        for word in words.split_whitespace() {
            let (name, path) = word.split_once('=').unwrap_or((word, word));
            let pointer = format!("/{}", path.replace('.', "/"));
            let cells = rows.iter().map(|row| row.pointer(&pointer).unwrap_or(&Value::Null));
            let values = match default.pointer(&pointer) {
                Some(Value::Bool(_)) => Values::Truth(cells.map(|cell| cell == true).collect()),
                Some(Value::Number(number)) if number.is_f64() => {
                    Values::Float(cells.map(Value::as_f64).collect())
                }
                Some(Value::Number(_)) => Values::Unsigned(cells.filter_map(Value::as_u64).collect()),
                _ => Values::Text(cells.map(|cell| cell.as_str().map(str::to_owned)).collect()),
            };
            self = self.with(name.replace('.', "_"), values);
        }
        self
    }

    fn length(&self) -> usize {
        self.0.first().map_or(0, |column| column.values.len())
    }

    pub fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row| self.0.iter().map(|of| (of.name.clone(), of.values.cell(row))).collect();
        (0..self.length()).map(object).collect()
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let row = |row: usize| self.0.iter().map(|column| column.values.cell(row)).collect::<Vec<_>>();
        table(self.0.iter().map(|column| &column.name), (0..self.length()).map(row), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Default)]
    struct Row {
        name: Option<&'static str>,
        lengths: (u64, Option<f64>),
        is_exact: bool,
    }

    #[test]
    fn unknown_values_are_empty_in_csv() {
        let rows = [
            Row { name: Some("a,b"), lengths: (1, None), is_exact: true },
            Row { name: None, lengths: (2, Some(0.5)), is_exact: false },
        ];
        let times = rows.iter().map(|row| row.lengths.1);
        let columns = Columns::default()
            .members(&rows, "name count=lengths.0")
            .signed("tag", [-1, 7].into_iter())
            .optional_float("time_ns", times)
            .members(&rows, "is_exact");
        let mut text = Vec::new();
        columns.write(&mut text).unwrap();
        let expected = "name,count,tag,time_ns,is_exact\n\"a,b\",1,-1,,true\n,2,7,0.5,false\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let values = Columns::default().members(&[] as &[Row], "is_exact lengths.0").0;
        assert_eq!(
            [&values[0].values, &values[1].values],
            [&Values::Truth(vec![]), &Values::Unsigned(vec![])]
        );
    }
}
