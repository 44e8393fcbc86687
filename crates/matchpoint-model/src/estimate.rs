//! A parameter that somebody measured: its value, and how far it can be trusted.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

/// A measured number with its confidence interval, in the unit that the field's name gives.
///
/// In TOML it is a number, or `{ value = 4.4e-7, low = 4.2e-7, high = 4.7e-7 }`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// What to compute with.
    pub value: f64,
    /// Low and high end of the confidence interval; `None`: nobody gave one.
    pub interval: Option<(f64, f64)>,
}

/// Which end of the intervals to compute with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where times come out shortest.
    Shortest,
    /// The values themselves.
    Value,
    /// Where times come out longest.
    Longest,
}

impl End {
    /// All three, shortest first.
    pub const ALL: [End; 3] = [End::Shortest, End::Value, End::Longest];
}

impl Estimate {
    /// A value without an interval.
    pub const fn exact(value: f64) -> Self {
        Estimate { value, interval: None }
    }

    /// A value with its interval.
    pub const fn within(value: f64, low: f64, high: f64) -> Self {
        Estimate { value, interval: Some((low, high)) }
    }

    /// A time, or a time per something: the more, the longer.
    pub fn time(&self, end: End) -> f64 {
        self.at(end, false)
    }

    /// A rate: the more, the shorter.
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

    /// The problem, if this is no time.
    pub(crate) fn time_problem(&self) -> Option<String> {
        self.problem("a time is a number of seconds, 0 or more, not infinite", |number| {
            number.is_finite() && number >= 0.0
        })
    }

    /// The problem, if this is no rate. A limit that was never reached is infinite; of any rate the high end may be, where
    /// the measurements leave it open.
    pub(crate) fn rate_problem(&self, may_be_infinite: bool) -> Option<String> {
        let rule = if may_be_infinite {
            "a rate is a number of bytes per second above 0, or inf where no limit was seen"
        } else {
            "a rate is a number of bytes per second above 0, not infinite"
        };
        if !may_be_infinite && self.value.is_infinite() {
            return Some(format!("{} is invalid: {rule}", self.value));
        }
        self.problem(rule, |number| number > 0.0)
    }

    fn problem(&self, rule: &str, is_right: impl Fn(f64) -> bool) -> Option<String> {
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

/// As TOML has it.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            None => write!(f, "{:e}", self.value),
            Some((low, high)) => {
                write!(f, "{{ value = {:e}, low = {low:e}, high = {high:e} }}", self.value)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Estimate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Estimate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or { value = …, low = …, high = … }")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Estimate, E> {
        Ok(Estimate::exact(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Estimate, E> {
        Ok(Estimate::exact(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Estimate, A::Error> {
        let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Estimate::within(fields.value, fields.low, fields.high))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    value: f64,
    low: f64,
    high: f64,
}

/// Reads a time that must be there.
pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Estimate, D::Error> {
    checked(deserializer, Estimate::time_problem)
}

/// Reads a time.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Estimate>, D::Error> {
    time(deserializer).map(Some)
}

/// Reads a rate.
pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Estimate>, D::Error> {
    checked(deserializer, |estimate| estimate.rate_problem(false)).map(Some)
}

/// Reads a rate that may be infinite.
pub(crate) fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Estimate>, D::Error> {
    checked(deserializer, |estimate| estimate.rate_problem(true)).map(Some)
}

/// The error is raised while the value is read, so that it has its line.
fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
    problem: impl Fn(&Estimate) -> Option<String>,
) -> Result<Estimate, D::Error> {
    let estimate = Estimate::deserialize(deserializer)?;
    problem(&estimate).map_or(Ok(estimate), |problem| Err(de::Error::custom(problem)))
}
