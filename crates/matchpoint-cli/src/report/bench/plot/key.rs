//! Short names of engines, and their key.

use matchpoint_bench::rate::Rates;
use matchpoint_replay::analysis::stand_in::bare;
use matchpoint_replay::format::in_place;

struct Named {
    short: String,
    full: String,
    substitute: Option<String>,
}

pub struct Key(Vec<Named>);

impl Key {
    pub fn of(rates: &Rates) -> Key {
        let mut engines: Vec<(&str, Option<&str>)> = Vec::new();
        for rate in &rates.rates {
            match engines.iter_mut().find(|(name, _)| *name == rate.engine) {
                Some((_, substitute)) => *substitute = substitute.or(rate.substitute.as_deref()),
                None => engines.push((&rate.engine, rate.substitute.as_deref())),
            }
        }
        let names: Vec<&str> = engines.iter().map(|(name, _)| *name).collect();
        let named = |(short, (full, substitute)): (String, (&str, Option<&str>))| Named {
            short,
            full: full.to_owned(),
            substitute: substitute.map(str::to_owned),
        };
        Key(shorts(&names).into_iter().zip(engines).map(named).collect())
    }

    pub fn short(&self, engine: &str, substitute: Option<&str>) -> String {
        let named = self.0.iter().find(|named| named.full == engine);
        in_place(named.map_or(engine, |named| &named.short), substitute)
    }

    pub fn entries(&self) -> Vec<(String, String)> {
        let entry = |named: &Named| {
            let substitute = named.substitute.as_deref();
            (in_place(&named.short, substitute), in_place(&named.full, substitute))
        };
        self.0.iter().map(entry).filter(|(short, full)| short != full).collect()
    }
}

/// Names without parameters. Equal names get numbers.
fn shorts(names: &[&str]) -> Vec<String> {
    let short = |(at, name): (usize, &&str)| {
        let is_same = |other: &&&str| bare(other) == bare(name);
        match names.iter().filter(is_same).count() {
            ..2 => bare(name).to_owned(),
            _ => format!("{} {}", bare(name), 1 + names[..at].iter().filter(is_same).count()),
        }
    };
    names.iter().enumerate().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::shorts;

    #[test]
    fn engines_of_one_name_have_numbers() {
        let names = ["list", "parallel:bins=4", "parallel:bins=4,by=optimism", "bins:n=3"];
        assert_eq!(shorts(&names), ["list", "parallel 1", "parallel 2", "bins"]);
    }
}
