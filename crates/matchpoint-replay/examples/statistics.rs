//! Statistics of one engine (`Engine::statistics`) over the ranks of traces: the maximum of `_max`
//! statistics, the sum of others, without `_mean` and `_percent`. Arguments: ENGINE TRACE…

use std::collections::BTreeMap;
use std::path::Path;

use matchpoint::engines;
use matchpoint_replay::{Arrivals, LogGp, Progress, events};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, traces @ ..] = &arguments[..] else { return Err("arguments: ENGINE TRACE…".into()) };
    for path in traces {
        let trace = matchpoint_trace::open(Path::new(path))?;
        let (ranks, _) =
            events(&*trace, Arrivals::default(), LogGp::default(), None, usize::MAX, &Progress::default())?;
        let mut told = BTreeMap::new();
        for rank in ranks {
            let mut engine = engines::create_counting(name)?;
            rank.events.iter().for_each(|(event, _)| drop(event.play(&mut *engine)));
            let attempts = engine.attempts();
            let all = [
                ("posted_attempts", attempts.posted as f64),
                ("unexpected_attempts", attempts.unexpected as f64),
            ];
            for (statistic, value) in engine.statistics().into_iter().chain(all) {
                let sum: &mut f64 = told.entry(statistic).or_default();
                *sum = if statistic.ends_with("_max") { sum.max(value) } else { *sum + value };
            }
        }
        told.retain(|statistic, _| !statistic.ends_with("_mean") && !statistic.ends_with("_percent"));
        println!("{path}: {told:?}");
    }
    Ok(())
}
