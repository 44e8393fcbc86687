//! A table of typed columns: written as CSV, and passed to Python as Arrow arrays.

use std::io::{self, Write};

use serde_json::{Value, json};

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

/// A table with equally long columns.
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

    #[must_use]
    pub fn truth(self, name: &str, values: impl Iterator<Item = bool>) -> Self {
        self.with(name, Values::Truth(values.collect()))
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.0.first().map_or(0, |column| column.values.len());
        let row = |row: usize| self.0.iter().map(|column| column.values.cell(row)).collect::<Vec<_>>();
        table(self.0.iter().map(|column| &column.name), (0..rows).map(row), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_empty_in_csv() {
        let columns = Columns::default()
            .optional_text("name", [Some("a,b"), None].into_iter())
            .unsigned("count", [1_u64, 2].into_iter())
            .signed("tag", [-1, 7].into_iter())
            .optional_float("time_ns", [None, Some(0.5)].into_iter())
            .truth("sampled", [true, false].into_iter());
        let mut text = Vec::new();
        columns.write(&mut text).unwrap();
        let expected = "name,count,tag,time_ns,sampled\n\"a,b\",1,-1,,true\n,2,7,0.5,false\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
