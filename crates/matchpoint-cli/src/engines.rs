//! `matchpoint engines`: lists the engines.

use std::fmt::Write as _;

use matchpoint::concurrent::KINDS;
use matchpoint::engines::{Spec, known_specs, register};
use matchpoint_replay::analysis::stand_in::bare;
use serde_json::{Value, json};

use crate::cli::Engines;
use crate::failure::Failure;
use crate::output::{Outputs, columns};
use crate::report::schema;
use crate::wrap::wrap;

/// Registers the GPU engines. Prints their substitutes on standard error.
pub fn make_known() {
    register(matchpoint_gpu::engines::SPECS);
    matchpoint_gpu::engine::set_listener(|sentence| anstream::eprintln!("matchpoint: {sentence}"));
}

pub fn run(arguments: &Engines) -> Result<(), Failure> {
    let listed = Listed::of(&arguments.names);
    let mut outputs = Outputs::default();
    let Some(path) = &arguments.json else {
        return outputs.finish(&listed.text(columns().unwrap_or(WIDTH)));
    };
    let place = outputs.reserve(path)?;
    outputs.fill(place, |out| schema::write(&listed.json(), out))?;
    outputs.finish("")
}

const WIDTH: usize = 80;

const COLUMN: usize = 22;

/// Columns that a description needs next to a name. With fewer, the description starts on its own line.
const LEAST: usize = 30;

const BELOW: usize = 8;

struct Listed {
    engines: Vec<&'static Spec>,
    around: Vec<(&'static str, &'static str)>,
}

impl Listed {
    fn of(names: &[String]) -> Listed {
        let is_named = |name: &str| names.is_empty() || names.iter().any(|named| named == name);
        Listed {
            engines: known_specs().filter(|spec| is_named(spec.name)).collect(),
            around: KINDS.into_iter().filter(|(kind, _)| is_named(bare(kind))).collect(),
        }
    }

    fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for spec in &self.engines {
            line(&mut text, spec.name, spec.summary, width);
            for parameter in spec.parameters {
                let given = format!("    {}={}", parameter.key, parameter.default);
                line(&mut text, &given, parameter.meaning, width);
            }
        }
        if !self.around.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            let several = "Concurrent engines, around any engine (bench callers):";
            wrap(several, width).iter().for_each(|part| text += &format!("{part}\n"));
        }
        for (kind, what) in &self.around {
            line(&mut text, kind, what, width);
        }
        text
    }

    fn json(&self) -> Value {
        let engine = |spec: &&Spec| {
            let parameters = spec
                .parameters
                .iter()
                .map(|of| json!({ "key": of.key, "default": of.default, "meaning": of.meaning }));
            json!({
                "name": spec.name,
                "summary": spec.summary,
                "parameters": parameters.collect::<Vec<_>>(),
            })
        };
        let around = self.around.iter().map(|(name, what)| json!({ "name": name, "summary": what }));
        schema::headed(json!({
            "engines": self.engines.iter().map(engine).collect::<Vec<_>>(),
            "concurrent": around.collect::<Vec<_>>(),
        }))
    }
}

fn line(text: &mut String, head: &str, what: &str, width: usize) {
    let indent = if COLUMN + LEAST <= width { COLUMN } else { BELOW };
    let mut head = head;
    if head.chars().count() >= indent {
        let _ = writeln!(text, "{head}");
        head = "";
    }
    for part in wrap(what, width.saturating_sub(indent)) {
        let _ = writeln!(text, "{head:<indent$}{part}");
        head = "";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_fits_terminal_width() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = Listed::of(&[]);
        for width in [40, 80, 100, 200] {
            let text = all.text(width);
            let fits = |line: &&str| {
                line.chars().count() <= width
                    || line.trim().split(' ').filter(|word| !word.is_empty()).count() == 1
            };
            let wide = text.lines().find(|line| !fits(line));
            assert_eq!(wide, None, "{width}");
            assert_eq!(words(&text), words(&all.text(1000)), "{width}");
        }
        for line in all.text(80).lines().filter(|line| line.starts_with(' ')) {
            let (head, what) = line.split_at(COLUMN);
            assert!(head.ends_with(' ') && !what.starts_with(' '), "{line}");
        }
    }

    #[test]
    fn only_named_engines_are_listed() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Listed::of(&names).text(80)
        };
        assert_eq!(named(&["list"]).lines().count(), 1);
        assert!(named(&["hybrid"]).starts_with("hybrid                one hash table"));
        assert!(named(&["hybrid"]).contains("\n    seed=random       key of"));
        let wrapped = "selected by source\n                      where hints allow, else by context\n";
        assert!(named(&["sharded"]).ends_with(wrapped), "{}", named(&["sharded"]));
    }

    /// A summary must be clear without the other summaries.
    #[test]
    fn summaries_do_not_refer_to_others() {
        make_known();
        for spec in known_specs() {
            assert!(!spec.summary.contains("the same"), "{}", spec.name);
        }
    }
}
