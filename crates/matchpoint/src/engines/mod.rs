//! Engines by name.
//!
//! Each engine is a file or folder, with a `SPEC` in [`REGISTRY`]. `docs/reference/engines/` describes each
//! engine. Programs add engines of other crates with [`register`].
//!
//! Names have the form `name:key=value,…` on the command line, in the C interface and in environment
//! variables.

mod adaptive;
mod bins;
mod by_source;
mod four_d;
mod fuzzy;
pub mod hybrid;
pub mod list;
mod optimistic;
mod optimistic_parallel;
pub mod partner;
mod rank_array;
mod software;
mod ucx;
mod vector;

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::OnceLock;

use crate::engine::Engine;

/// Engines of this crate.
pub static REGISTRY: &[Spec] = &[
    list::SPEC,
    rank_array::SPEC,
    bins::SPEC,
    ucx::SPEC,
    four_d::SPEC,
    adaptive::SPEC,
    partner::SPEC,
    vector::SPEC,
    fuzzy::SPEC,
    optimistic::SPEC,
    optimistic_parallel::SPEC,
    hybrid::SPEC,
];

static OTHERS: OnceLock<&'static [Spec]> = OnceLock::new();

/// Adds engines of other crates, before any engine is created.
///
/// # Panics
/// On the second call.
pub fn register(others: &'static [Spec]) {
    assert!(OTHERS.set(others).is_ok(), "`register` is called once");
}

/// [`REGISTRY`] and the [added](register) engines.
pub fn known_specs() -> impl Iterator<Item = &'static Spec> + Clone {
    REGISTRY.iter().chain(OTHERS.get().copied().unwrap_or_default())
}

/// A new engine, or the error in its name.
pub type Built = Result<Box<dyn Engine>, NameError>;

/// Description of an engine.
pub struct Spec {
    /// The name.
    pub name: &'static str,
    /// Data structure and origin, in one line.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Arguments that select other algorithms, for tests.
    pub variants: &'static [&'static str],
    /// Arguments for a table that tests fill.
    pub tight: &'static [&'static str],
    /// Constructor; the flag enables counting of attempts.
    pub build: fn(&Arguments<'_>, bool) -> Built,
}

/// A parameter of an engine.
pub struct Parameter {
    /// The text before `=`.
    pub key: &'static str,
    /// The default.
    pub default: &'static str,
    /// Meaning and unit.
    pub meaning: &'static str,
}

/// Parameter values of a name.
pub struct Arguments<'a> {
    spec: &'a Spec,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Arguments<'a> {
    fn parse(spec: &'a Spec, text: &'a str) -> Result<Self, NameError> {
        let mut given = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if key.is_empty() {
                return Err(NameError::new(
                    format!("engine `{}`: `{part}` has no parameter before its `=`", spec.name),
                    spec.keys(),
                ));
            }
            if !spec.parameters.iter().any(|parameter| parameter.key == key) {
                return Err(NameError::new(
                    format!("engine `{}` has no parameter `{key}`", spec.name),
                    spec.keys(),
                ));
            }
            if given.iter().any(|&(name, _)| name == key) {
                return Err(NameError::new(
                    format!("engine `{}` is given `{key}` twice", spec.name),
                    "give each parameter once".to_owned(),
                ));
            }
            given.push((key, value));
        }
        Ok(Arguments { spec, given })
    }

    /// The value of parameter `key`, or its default.
    ///
    /// # Errors
    /// The value does not parse as `T`.
    ///
    /// # Panics
    /// If the [`Spec`] does not list `key`.
    pub fn get<T: FromStr>(&self, key: &str) -> Result<T, NameError> {
        let default = self.spec.parameters.iter().find(|parameter| parameter.key == key);
        let default = default.expect("the engine's `SPEC` lists the parameter");
        let text =
            self.given.iter().find(|(name, _)| *name == key).map_or(default.default, |(_, value)| value);
        text.parse().map_err(|_| self.invalid(key, text))
    }

    /// The number given for parameter `key`.
    ///
    /// # Errors
    /// The value does not parse as `T`, or is outside `bounds`.
    pub fn within<T>(&self, key: &str, bounds: RangeInclusive<T>) -> Result<T, NameError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let number: T = self.get(key)?;
        if bounds.contains(&number) {
            return Ok(number);
        }
        Err(self.invalid(key, &number.to_string()))
    }

    /// The value that belongs to the given word of `words`.
    ///
    /// # Errors
    /// The given word is not in `words`.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, NameError> {
        let given: String = self.get(key)?;
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|&(_, value)| value).ok_or_else(|| self.invalid(key, &given))
    }

    /// True if the name has this parameter, even with the default value.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.iter().any(|&(name, _)| name == key)
    }

    /// The error for an invalid or empty value.
    pub fn invalid(&self, key: &str, value: &str) -> NameError {
        let value = if value.is_empty() { "nothing".to_owned() } else { format!("`{value}`") };
        let parameter = self.spec.parameters.iter().find(|parameter| parameter.key == key);
        let takes =
            parameter.map_or(String::new(), |known| format!("{key}={} ({})", known.default, known.meaning));
        NameError::new(
            format!("engine `{}`: {value} is no value for `{key}`", self.spec.name),
            format!("it takes {takes}; {LISTED}"),
        )
    }
}

impl Spec {
    fn keys(&self) -> String {
        if self.parameters.is_empty() {
            return format!("it takes none; {LISTED}");
        }
        let keys: Vec<_> =
            self.parameters.iter().map(|p| format!("{}={} ({})", p.key, p.default, p.meaning)).collect();
        format!("it takes {}; {LISTED}", keys.join(", "))
    }
}

const LISTED: &str = "`matchpoint engines` lists all";

/// The error for an invalid engine name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameError {
    what: String,
    instead: String,
}

impl NameError {
    /// The fact `what` and the hint `instead`.
    pub fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        NameError { what: what.into(), instead: instead.into() }
    }
}

impl Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.instead)
    }
}

impl std::error::Error for NameError {}

fn build(name: &str, is_counting: bool) -> Built {
    let (bare, arguments) = name.split_once(':').unwrap_or((name, ""));
    let Some(spec) = known_specs().find(|spec| spec.name == bare) else {
        let names: Vec<_> = known_specs().map(|spec| spec.name).collect();
        let one = if bare.contains(',') {
            "name one engine at a time, and behind `engine=` nothing but that; "
        } else {
            ""
        };
        return Err(NameError::new(
            format!("there is no engine `{bare}`"),
            format!("{one}there are {}; `matchpoint engines` describes each", names.join(", ")),
        ));
    };
    (spec.build)(&Arguments::parse(spec, arguments)?, is_counting)
}

/// Adds `process` and `processes`, if the engine has these parameters and the name lacks them. Invalid names
/// remain unchanged.
pub fn at_process(name: &str, process: u64, processes: u64) -> String {
    let (bare, given) = name.split_once(':').unwrap_or((name, ""));
    let spec = known_specs().find(|spec| spec.name == bare);
    let mut parts: Vec<String> =
        given.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for (key, value) in [("process", process), ("processes", processes)] {
        let has_parameter =
            spec.is_some_and(|spec| spec.parameters.iter().any(|parameter| parameter.key == key));
        let is_given = given.split(',').any(|part| part.split('=').next() == Some(key));
        if has_parameter && !is_given {
            parts.push(format!("{key}={value}"));
        }
    }
    if parts.is_empty() { bare.to_owned() } else { format!("{bare}:{}", parts.join(",")) }
}

/// An engine with arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Name with arguments.
    pub name: String,
    /// The table is so small that calls may return [`Refused::Full`](crate::Refused::Full).
    pub is_tight: bool,
}

/// Every engine of [`REGISTRY`] with default arguments and with its variants.
pub fn variants() -> impl Iterator<Item = Variant> {
    let with = |spec: &Spec, arguments: &str| format!("{}:{arguments}", spec.name);
    REGISTRY.iter().flat_map(move |spec| {
        let default = Variant { name: spec.name.to_owned(), is_tight: false };
        let other =
            spec.variants.iter().map(move |given| Variant { name: with(spec, given), is_tight: false });
        let tight = spec.tight.iter().map(move |given| Variant { name: with(spec, given), is_tight: true });
        std::iter::once(default).chain(other).chain(tight)
    })
}

/// Creates the engine called `name` (`name:key=value,…`).
///
/// # Errors
/// The name or a parameter is unknown or invalid.
pub fn create(name: &str) -> Built {
    build(name, false)
}

/// As [`create`], with counters of attempts ([`Engine::attempts`]).
///
/// # Errors
/// The errors of [`create`].
pub fn create_counting(name: &str) -> Built {
    build(name, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributing_page_quotes_engine_code() {
        let recipe = include_str!("../../../../CONTRIBUTING.md");
        let shown: Vec<&str> =
            recipe.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!shown.is_empty());
        for block in shown {
            let is_shown = [include_str!("list.rs"), include_str!("by_source.rs")]
                .into_iter()
                .any(|engine| engine.contains(block));
            assert!(is_shown, "neither in list.rs nor in by_source.rs:\n{block}");
        }
    }

    #[test]
    fn repeated_parameter_is_refused() {
        let error = create("bins:n=3,n=4").err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("engine `bins` is given `n` twice; give each parameter once"));
        assert!(create("optimistic:bins=4,capacity=4").is_ok());
    }

    #[test]
    fn wrong_parameter_is_reported_with_valid_values() {
        for (name, expected) in [
            (
                "bins:m=1",
                "engine `bins` has no parameter `m`; it takes n=256 (number of bins, 1 to 16777216)",
            ),
            ("bins:=1", "engine `bins`: `=1` has no parameter before its `=`; it takes n=256"),
            (
                "bins:n",
                "engine `bins`: nothing is no value for `n`; it takes n=256 (number of bins, 1 to 16777216)",
            ),
            (
                "bins:n=0",
                "engine `bins`: `0` is no value for `n`; it takes n=256 (number of bins, 1 to 16777216)",
            ),
            ("list:n=1", "engine `list` has no parameter `n`; it takes none"),
        ] {
            let error = create(name).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                error.starts_with(expected) && error.ends_with("; `matchpoint engines` lists all"),
                "{error}"
            );
        }
    }

    #[test]
    fn process_parameters_are_added_to_name() {
        for (name, expected) in [
            ("list", "list"),
            ("bins:n=3", "bins:n=3"),
            ("no such:x", "no such:x"),
            ("partner", "partner:process=7,processes=9"),
            ("partner:threshold=2,process=3", "partner:threshold=2,process=3,processes=9"),
        ] {
            assert_eq!(at_process(name, 7, 9), expected);
        }
    }
}
