//! Parameters in the name of the engine `partner`, and its construction.

use std::path::Path;

use super::extraction::{SelectionRule, SourceCount};
use super::log::HasLog;
use super::metric::{Metric, MetricScope};
use super::partners::Partners;
use super::profile::{ProcessSelection, Profile, Source};
use super::{Configuration, Partner};
use crate::effort::Attempts;
use crate::engine::Queue;
use crate::engines::{Arguments, Built, NameError, Parameter, Spec};
use crate::envelope::Rank;

pub(in crate::engines) const SPEC: Spec = Spec {
    name: "partner",
    summary: "a queue for each source that has most entries, one for all others (Ghazimirsaeed et al. 2018)",
    parameters: &[
        Parameter {
            key: "mode",
            default: "dynamic",
            meaning: "how partners are found: dynamic (the engine, at run time), static (a profile)",
        },
        Parameter {
            key: "metric",
            default: "average",
            meaning: "a partner has more entries than this: average, median, upper_fence",
        },
        Parameter {
            key: "fence",
            default: "printed",
            meaning: "upper_fence is Q3 - alpha*(Q3-Q1) as printed in the paper, or tukey: Q3 + alpha*(Q3-Q1)",
        },
        Parameter { key: "alpha", default: "0", meaning: "of upper_fence, 0 to 1000; Tukey's is 1.5" },
        Parameter {
            key: "over",
            default: "processes",
            meaning: "whose entries the metric is about: processes (all, most have none), senders (those with entries)",
        },
        Parameter {
            key: "threshold",
            default: "100",
            meaning: "entries in the queue of non-partners beyond which partners are sought, 1 to 16777216; dynamic",
        },
        Parameter {
            key: "c",
            default: "4",
            meaning: "partners per entry entry the hash table, which has as many entries as the root entry processes; \
                      0 is no bound; dynamic",
        },
        Parameter {
            key: "processes",
            default: "1024",
            meaning: "number of processes, 1 to 4294967295; static: that of the profile",
        },
        Parameter { key: "profile", default: "", meaning: "file written by `matchpoint profile`; static" },
        Parameter {
            key: "process",
            default: "first",
            meaning: "whose part of the profile: a rank, or first (of the file); static",
        },
    ],
    variants: &[
        "threshold=1",
        "threshold=2,c=1,processes=4,over=senders",
        "threshold=3,c=0,metric=median",
        "threshold=5,c=2,processes=9,metric=upper_fence,fence=tukey,alpha=1.5",
        "threshold=7,metric=upper_fence,alpha=1.5,over=senders",
    ],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    Ok(if is_counting { build_engine::<Attempts>(arguments)? } else { build_engine::<()>(arguments)? })
}

fn build_engine<E: HasLog>(arguments: &Arguments<'_>) -> Built {
    Ok(Box::new(Partner::<E>::new(parse_configuration(arguments)?)))
}

fn parse_configuration(arguments: &Arguments<'_>) -> Result<Configuration, NameError> {
    // All values, used or not, so that invalid values are reported.
    let over = arguments
        .word("over", &[("processes", MetricScope::Processes), ("senders", MetricScope::Senders)])?;
    let processes = arguments.within("processes", 1..=u32::MAX.into())?;
    let rule = SelectionRule { metric: parse_metric(arguments)?, over, processes };
    let threshold: usize = arguments.within("threshold", 1..=1 << 24)?;
    let per_entry = Some(arguments.within("c", 0..=1 << 24)?).filter(|&most| most > 0);
    let selection = parse_selection(arguments)?;
    let profile: String = arguments.get("profile")?;
    if !arguments.word("mode", &[("dynamic", false), ("static", true)])? {
        // `process` is allowed, because `at_process` adds `process` to every name.
        check_only_for(arguments, &["profile"], "mode=static")?;
        return Ok(Configuration {
            rule,
            threshold: Some(threshold),
            posted: Partners::empty(rule.processes, per_entry),
            unexpected: Partners::empty(rule.processes, per_entry),
        });
    }
    // `processes` is allowed, because `at_process` adds `processes`; it must equal the profile's.
    check_only_for(arguments, &["threshold", "c"], "mode=dynamic")?;
    if profile.is_empty() {
        return Err(NameError::new(
            "engine `partner`: mode=static needs profile=FILE",
            "`matchpoint profile TRACE -o FILE` writes the file",
        ));
    }
    let processes = arguments.is_given("processes").then_some(rule.processes);
    configure_from_profile(rule, processes, Path::new(&profile), selection)
}

fn check_only_for(arguments: &Arguments<'_>, keys: &[&str], what: &str) -> Result<(), NameError> {
    match keys.iter().find(|key| arguments.is_given(key)) {
        Some(key) => Err(NameError::new(
            format!("engine `partner`: `{key}` is for {what}"),
            format!("give {what}, or omit `{key}`"),
        )),
        None => Ok(()),
    }
}

fn parse_metric(arguments: &Arguments<'_>) -> Result<Metric, NameError> {
    let alpha: f64 = arguments.within("alpha", 0.0..=1000.0)?;
    let slope = arguments.word("fence", &[("printed", -alpha), ("tukey", alpha)])?;
    let metric = arguments.word(
        "metric",
        &[
            ("average", Metric::Average),
            ("median", Metric::Median),
            ("upper_fence", Metric::UpperFence { slope }),
        ],
    )?;
    if !matches!(metric, Metric::UpperFence { .. }) {
        check_only_for(arguments, &["fence", "alpha"], "metric=upper_fence")?;
    }
    Ok(metric)
}

fn parse_selection(arguments: &Arguments<'_>) -> Result<ProcessSelection, NameError> {
    let process: String = arguments.get("process")?;
    match process.as_str() {
        "first" => Ok(ProcessSelection::First),
        rank => Ok(ProcessSelection::Rank(rank.parse().map_err(|_| arguments.invalid("process", rank))?)),
    }
}

fn configure_from_profile(
    rule: SelectionRule,
    processes: Option<u64>,
    file: &Path,
    selection: ProcessSelection,
) -> Result<Configuration, NameError> {
    let profile = Profile::read(file, selection)
        .map_err(|error| NameError::new("engine `partner` cannot use its profile", error.to_string()))?;
    if let Some(processes) = processes.filter(|&processes| processes != profile.processes) {
        return Err(NameError::new(
            format!(
                "engine `partner`: {} is the profile of {} processes, but this run has {processes}",
                file.display(),
                profile.processes
            ),
            "write a profile of a run with as many processes (`matchpoint profile`)",
        ));
    }
    let rule = SelectionRule { processes: profile.processes, ..rule };
    let sources = profile.known.first().map_or(&[][..], |process| &process.sources);
    let partners = |queue| create_partners(&rule, sources, queue);
    Ok(Configuration {
        rule,
        threshold: None,
        posted: partners(Queue::Posted)?,
        unexpected: partners(Queue::Unexpected)?,
    })
}

fn create_partners(rule: &SelectionRule, sources: &[Source], queue: Queue) -> Result<Partners, NameError> {
    let counted = |source: &Source| match queue {
        Queue::Posted => source.posted,
        Queue::Unexpected => source.unexpected,
    };
    let source = |source: &Source| SourceCount {
        number: source.context,
        source: Rank(source.source),
        entries: counted(source),
    };
    let mut sources: Vec<SourceCount> =
        sources.iter().filter(|entry| counted(entry) > 0).map(source).collect();
    let memory =
        |_| NameError::new("engine `partner`: no memory for the profile", "use a profile with fewer sources");
    rule.select(&mut sources, &mut Vec::new()).map_err(memory)?;
    let key = |source: &SourceCount| u64::from(source.source.0) + rule.processes * source.number;
    let keys: Vec<u64> = sources.iter().map(key).collect();
    Ok(Partners::with_perfect_hash(rule.processes, &keys))
}

#[cfg(test)]
mod tests {
    use crate::engines::{at_process, create};

    #[test]
    fn parameter_without_effect_is_refused() {
        for (given, expected) in [
            ("process=xyz", "`xyz` is no value for `process`"),
            ("profile=x", "`profile` is for mode=static"),
            ("metric=average,fence=tukey,alpha=3", "`fence` is for metric=upper_fence"),
            ("metric=median,alpha=3", "`alpha` is for metric=upper_fence"),
            ("alpha=3", "`alpha` is for metric=upper_fence"),
            ("mode=static,profile=x,threshold=3,c=9", "`threshold` is for mode=dynamic"),
            ("mode=static,profile=x,c=9", "`c` is for mode=dynamic; give mode=dynamic, or omit `c`"),
            ("mode=static,profile=x,processes=0", "`0` is no value for `processes`"),
            ("mode=static,profile=x,metric=average,fence=printed", "`fence` is for metric=upper_fence"),
            ("mode=static", "mode=static needs profile=FILE"),
        ] {
            let name = format!("partner:{given}");
            let error = create(&name).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(expected), "{name}: `{error}`");
            assert!(create(&at_process(&name, 3, 9)).is_err(), "{name}");
        }
        for name in ["partner", "partner:c=2,threshold=5", "partner:metric=upper_fence,fence=tukey,alpha=3"] {
            assert!(create(name).is_ok() && create(&at_process(name, 3, 9)).is_ok(), "{name}");
        }
    }
}
