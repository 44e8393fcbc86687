//! Advice names the saving, and the overflow limit if overflow matching achieves the saving.

use matchpoint_cli::report::{Report, html, terminal};
use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::advice::Advice;
use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::library_cost::{Curve, LibraryCost};
use matchpoint_trace::BurstCost;
use serde_json::Value;

use crate::json::written as json_of;
use crate::synthetic;

const TITLE: &str = "Long posted receive queue";
const RUN: &str = "Run with overflow matching";

fn curve(warm_ns: f64, cold_ns: f64) -> Curve {
    Curve { warm: vec![(128.0, warm_ns)], cold_ns, empty_ns: 100.0 }
}

fn costs(posted: Curve, unexpected: Curve) -> Option<LibraryCost> {
    Some(synthetic::library_cost(1, posted, unexpected))
}

/// Rank 3 has at most 2000 posted receives, and searches for 20 % of its run time.
fn long(change: impl FnOnce(&mut Measurements)) -> Measurements {
    let mut of = synthetic::run(8);
    of.library_cost = costs(curve(2.0, 14.0), curve(2.0, 14.0));
    (of.ranks[3].worst_length, of.ranks[3].posted.length_max) = (2000, 2000);
    spend(&mut of, 0.2);
    change(&mut of);
    of
}

fn spend(of: &mut Measurements, share: f64) {
    let elapsed_ns = of.ranks[3].elapsed_s * 1e9;
    let at = &mut of.engines[0].ranks[3];
    (at.match_ns, at.match_cold_ns) = (share * elapsed_ns / 2.0, share * elapsed_ns * 2.0);
}

fn find(of: &Measurements, title: &str) -> Advice {
    let found = Report::new(of).advice.into_iter().find(|advice| advice.title == title);
    found.unwrap_or_else(|| panic!("no {title}"))
}

fn limit(change: impl FnOnce(&mut Measurements)) -> Option<u64> {
    let advice = find(&long(change), TITLE);
    let limit = advice.saving.unwrap().overflow_limit;
    assert!(!advice.text.contains("matchpoint run"), "{}", advice.text);
    limit
}

#[test]
fn long_queue_names_limit_in_every_report() {
    let of = long(|of| of.totals.tags_unique = 100_000);
    let advice = find(&of, TITLE);
    let saving = advice.saving.unwrap();
    assert!(advice.text.ends_with("(20 % of its run time)."), "{}", advice.text);
    assert_eq!(saving.overflow_limit, Some(75));
    assert!((saving.share - 0.2).abs() < 1e-9 && (saving.ns / 1e9 / 0.2 - 1.197).abs() < 1e-9, "{saving:?}");
    let report = Report::new(&of);
    let command = "matchpoint run --compare 3 --limit 75 -- …";
    assert_eq!(terminal::render(&report).matches(&format!("\n  {command}\n")).count(), 1);
    assert_eq!(html::render(&report).matches("matchpoint run").count(), 1);
    assert!(html::render(&report).contains(&format!("Measure the saving: <code>{command}</code>")));
    let document = json_of(&of);
    let items = document["advice"].as_array().unwrap();
    let item = |title| items.iter().find(|item| item["title"] == title).unwrap();
    assert_eq!(item(TITLE)["overflow_limit"], 75);
    assert_eq!(item(TITLE)["saving_ns"], saving.ns);
    assert_eq!(item(TITLE)["saving_share"], saving.share);
    let other = item("Another engine would help");
    assert_eq!(other["overflow_limit"], 75);
    let [share, saved] = [&other["saving_share"], &other["numbers"]["share_saved"]].map(Value::as_f64);
    assert!((share.unwrap() - saved.unwrap()).abs() < 1e-9, "{other}");
    let earlier = item("Post receives earlier");
    assert_eq!((&earlier["saving_ns"], &earlier["overflow_limit"]), (&Value::Null, &Value::Null));
}

#[test]
fn command_of_job_is_copyable() {
    let command = |hybrid: f64| {
        let of = long(|of| {
            of.trace.command_words = ["mpiexec", "-n", "8", "./my app"].map(str::to_owned).to_vec();
            of.engines[1].name = "hybrid".to_owned();
            let elapsed_ns = of.ranks[3].elapsed_s * 1e9;
            for (engine, share) in [(1, hybrid), (2, 0.001)] {
                let at = &mut of.engines[engine].ranks[3];
                (at.match_ns, at.match_cold_ns) = (share * elapsed_ns, share * elapsed_ns);
            }
        });
        find(&of, RUN).command.unwrap()
    };
    assert_eq!(command(0.0105), "matchpoint run --compare 3 --limit 75 -- mpiexec -n 8 './my app'");
    assert_eq!(
        command(0.0115),
        "matchpoint run --compare 3 --engine bins --limit 75 -- mpiexec -n 8 './my app'"
    );
}

#[test]
fn queue_within_limit_gives_no_limit() {
    assert_eq!(limit(|of| of.ranks[3].worst_length = 75), None);
    assert_eq!(limit(|of| of.ranks[3].worst_length = 76), Some(75));
}

/// In `matchpoint run`, each of 3000 messages costs 150 ns and a search of up to 75 warm entries.
#[test]
fn small_saving_gives_no_limit() {
    let share = |ns_each: f64| 3000.0 * ns_each / 1.197e9;
    let left_ns = 150.0 + 75.0 * 2.0;
    assert_eq!(limit(|of| spend(of, share(2.01 * left_ns))), Some(75));
    assert_eq!(limit(|of| spend(of, share(1.99 * left_ns))), None);
    let some = long(|of| spend(of, 0.02));
    let little = long(|of| {
        spend(of, 0.02);
        of.ranks[3].messages = 1_000_000;
    });
    let text = |of| find(of, "Another engine would help").text;
    let saved = |of: &Measurements| json_of(of)["verdict"]["share_saved_by_run"].as_f64().unwrap();
    assert!((saved(&some) - (0.02 - share(left_ns))).abs() < 1e-9, "{}", saved(&some));
    assert_eq!(saved(&little), 0.0);
    assert!(!text(&some).contains("matchpoint run"), "{}", text(&some));
    assert!(find(&some, RUN).text.starts_with("Overflow matching may save 1.9"), "{}", find(&some, RUN).text);
    assert!(Report::new(&little).advice.iter().all(|advice| advice.title != RUN));
    assert!(text(&little).contains("`matchpoint run` saves less than half"), "{}", text(&little));
}

#[test]
fn free_entry_gives_no_limit() {
    for warm_ns in [-0.4, 0.0, 0.19] {
        assert_eq!(limit(|of| of.library_cost = costs(curve(warm_ns, 0.3), curve(2.0, 14.0))), None);
    }
    assert_eq!(limit(|of| of.library_cost = None), None);
    let unexpected = |of: &mut Measurements, warm_ns| {
        of.library_cost = costs(curve(2.0, 14.0), curve(warm_ns, 14.0));
        of.ranks[3].posted.length_max = 60;
        of.ranks[3].unexpected.length_max = 2000;
    };
    let limit = |warm_ns| {
        let of = long(|of| unexpected(of, warm_ns));
        find(&of, "Long unexpected message queue").saving.unwrap().overflow_limit
    };
    assert_eq!((limit(2.0), limit(0.0)), (Some(75), None));
}

/// The typical costs are those of a library without UCX. UCX itself was measured if pairs were measured.
#[test]
fn hashed_library_gives_no_limit() {
    let over_ucx = |pairs| {
        limit(|of| {
            of.trace.library = Some("MPICH Version: 5.0.2".to_owned());
            of.trace.transport = Some("ucx".to_owned());
            of.library_cost.as_mut().unwrap().pairs = pairs;
            of.engines[0].name = "ucx:tags=mpich".to_owned();
        })
    };
    assert_eq!((over_ucx(0), over_ucx(2)), (None, Some(75)));
}

#[test]
fn limits_equal_those_of_overflow_library() {
    let shim = include_str!("../../../matchpoint-run/shim/measure.h");
    let defined = |name: &str| -> f64 {
        let line = shim.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
        line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    };
    assert_eq!(library_cost::LIMITS, (defined("LEAST_LIMIT"), defined("MOST_LIMIT")));
    assert_eq!(library_cost::NETWORK_LIMIT as f64, defined("NETWORK_LIMIT"));
    assert_eq!((library_cost::NOISE_NS, library_cost::SEARCHED), (defined("NOISE_NS"), defined("SEARCHED")));
}

#[test]
fn another_first_engine_gives_no_limit() {
    assert_eq!(limit(|of| of.engines[0].name = "hybrid".to_owned()), None);
}

#[test]
fn limit_follows_library_and_transport() {
    let of = |library: &'static str, transport: &'static str, engine: &'static str| {
        move |of: &mut Measurements| {
            of.trace.library = Some(library.to_owned());
            of.trace.transport = Some(transport.to_owned());
            of.engines[0].name = engine.to_owned();
            of.ranks[3].unexpected.length_max = 2000;
        }
    };
    let intel = "Intel(R) MPI Library 2021.18 for Linux* OS";
    assert_eq!(limit(of(intel, "shm", "list")), Some(256));
    assert_eq!(limit(of("Open MPI v5.0.11", "ob1", "rank_array")), Some(75));
    for (library, transport) in [("MPICH Version: 5.0.2", "ofi"), (intel, "ofi"), ("Open MPI v4", "cm/ofi")] {
        assert_eq!(limit(of(library, transport, "list")), Some(1024), "{library}");
        let posted = |measurements: &mut Measurements| {
            of(library, transport, "list")(measurements);
            measurements.ranks[3].unexpected.length_max = 9;
        };
        assert_eq!(limit(posted), None, "{library}");
    }
}

/// A process also waits for the overflow matching of the other process on its processor.
#[test]
fn shared_processor_counts_overflow_twice() {
    let saved = |crowding| {
        let of = long(|of| {
            of.crowding = crowding;
            for rank in &mut of.ranks {
                (rank.messages, rank.posted.length_max) = (3000, 2000);
            }
        });
        json_of(&of)["verdict"]["share_saved_by_run"].as_f64().unwrap()
    };
    let left = 3000.0 * (150.0 + 75.0 * 2.0) / 1.197e9;
    assert!((saved(None) - (0.2 - left)).abs() < 1e-9, "{}", saved(None));
    assert!((saved(Some(2.0)) - (0.2 - 2.0 * left)).abs() < 1e-9, "{}", saved(Some(2.0)));
}

#[test]
fn waiting_calls_are_reported() {
    let advice = |title, ring_message_ns, crowding| {
        let of = long(|of| {
            let cost = of.library_cost.as_mut().unwrap();
            cost.bursts = vec![BurstCost { messages: 128, message_ns: 4000.0 }];
            (cost.ring_message_ns, of.crowding) = (ring_message_ns, Some(crowding));
        });
        Report::new(&of).advice.into_iter().find(|advice| advice.title == title).map(|advice| advice.text)
    };
    let (waiting, shared) = ("MPI calls wait without a search", "Processes share processors");
    assert_eq!((advice(waiting, 19_000.0, 2.0), advice(shared, 21_000.0, 2.0)), (None, None));
    let text = advice(waiting, 21_000.0, 2.0).unwrap();
    let expected =
        "A message took 21.0 µs. In a burst between two ranks, a message took 4.00 µs. 2.0 processes share";
    assert!(text.contains(expected), "{text}");
    assert!(!advice(waiting, 21_000.0, 1.0).unwrap().contains("processes share"));
    assert!(advice(shared, 19_000.0, 2.0).unwrap().starts_with("2.0 processes share each processor."));
    assert_eq!(advice(shared, 19_000.0, 1.0), None);
}

#[test]
fn growing_burst_cost_reports_transfer() {
    let title = "Transfer time may count as search time";
    let is_reported = |long_ns, posted| {
        let of = long(|of| {
            let burst = |messages, message_ns| BurstCost { messages, message_ns };
            of.library_cost.as_mut().unwrap().bursts = vec![burst(128, 30.0), burst(2048, long_ns)];
            of.ranks[3].posted.length_max = posted;
        });
        Report::new(&of).advice.iter().any(|advice| advice.title == title)
    };
    assert_eq!(
        [is_reported(89.0, 8000), is_reported(91.0, 2048), is_reported(91.0, 2049)],
        [false, false, true]
    );
}
