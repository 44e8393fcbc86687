//! A measured parameter: value and confidence interval.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

/// A measured number with its confidence interval, in the unit of the field's name.
///
/// In TOML, a number, or `{ value = 4.4e-7, low = 4.2e-7, high = 4.7e-7 }`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParameterEstimate {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

/// The value or end of each interval that a computation uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The ends that give the shortest times.
    Shortest,
    Value,
    /// The ends that give the longest times.
    Longest,
}

impl End {
    pub const ALL: [End; 3] = [End::Shortest, End::Value, End::Longest];
}

impl ParameterEstimate {
    pub const fn exact(value: f64) -> Self {
        ParameterEstimate { value, interval: None }
    }

    pub const fn within(value: f64, low: f64, high: f64) -> Self {
        ParameterEstimate { value, interval: Some((low, high)) }
    }

    /// Value or end of a time, or of a time per unit: a higher parameter gives a longer time.
    pub fn time(&self, end: End) -> f64 {
        self.at(end, false)
    }

    /// Value or end of a rate: a higher parameter gives a shorter time.
    pub fn rate(&self, end: End) -> f64 {
        self.at(end, true)
    }

    fn at(&self, end: End, is_rate: bool) -> f64 {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        match (end, is_rate) {
            (End::Value, _) => self.value,
            (End::Shortest, false) | (End::Longest, true) => low,
            (End::Longest, false) | (End::Shortest, true) => high,
        }
    }

    pub(crate) fn time_problem(&self) -> Option<String> {
        self.find_problem("a time is a number of seconds, 0 or more, not infinite", |number| {
            number.is_finite() && number >= 0.0
        })
    }

    /// Error message for an invalid rate. A node rate that was never reached is infinite. The high end of any rate may
    /// be infinite, if the measurements give no upper end.
    pub(crate) fn rate_problem(&self, may_be_infinite: bool) -> Option<String> {
        let rule = if may_be_infinite {
            "a rate is a number of bytes per second above 0, or inf where no limit was seen"
        } else {
            "a rate is a number of bytes per second above 0, not infinite"
        };
        if !may_be_infinite && self.value.is_infinite() {
            return Some(format!("{} is invalid: {rule}", self.value));
        }
        self.find_problem(rule, |number| number > 0.0)
    }

    fn find_problem(&self, rule: &str, is_right: impl Fn(f64) -> bool) -> Option<String> {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        if let Some(wrong) = [self.value, low, high].into_iter().find(|&number| !is_right(number)) {
            return Some(format!("{wrong} is invalid: {rule}"));
        }
        let is_ordered = low <= self.value && self.value <= high;
        (!is_ordered).then(|| {
            format!("the interval from {low:e} to {high:e} does not contain the value {:e}", self.value)
        })
    }
}

impl fmt::Display for ParameterEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            None => write!(f, "{:e}", self.value),
            Some((low, high)) => {
                write!(f, "{{ value = {:e}, low = {low:e}, high = {high:e} }}", self.value)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ParameterEstimate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = ParameterEstimate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or { value = …, low = …, high = … }")
    }

    fn visit_f64<E>(self, value: f64) -> Result<ParameterEstimate, E> {
        Ok(ParameterEstimate::exact(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ParameterEstimate, E> {
        Ok(ParameterEstimate::exact(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ParameterEstimate, A::Error> {
        let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(ParameterEstimate::within(fields.value, fields.low, fields.high))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    value: f64,
    low: f64,
    high: f64,
}

pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ParameterEstimate, D::Error> {
    deserialize_checked(deserializer, ParameterEstimate::time_problem)
}

pub(crate) fn seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ParameterEstimate>, D::Error> {
    time(deserializer).map(Some)
}

pub(crate) fn rate<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ParameterEstimate>, D::Error> {
    deserialize_checked(deserializer, |estimate| estimate.rate_problem(false)).map(Some)
}

pub(crate) fn limit<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ParameterEstimate>, D::Error> {
    deserialize_checked(deserializer, |estimate| estimate.rate_problem(true)).map(Some)
}

/// During deserialization an error gets a line.
fn deserialize_checked<'de, D: Deserializer<'de>>(
    deserializer: D,
    problem: impl Fn(&ParameterEstimate) -> Option<String>,
) -> Result<ParameterEstimate, D::Error> {
    let estimate = ParameterEstimate::deserialize(deserializer)?;
    problem(&estimate).map_or(Ok(estimate), |problem| Err(de::Error::custom(problem)))
}
