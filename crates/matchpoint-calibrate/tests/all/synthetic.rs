//! The fit finds known parameters, with noise and outliers in the times.

use crate::synthetic_machine::{Interruptions, SyntheticMachine, nodes};
use matchpoint_calibrate::fit::Range;
use matchpoint_calibrate::fit::parameters::{Link, Parameters, fit};
use matchpoint_calibrate::fit::protocols::{self, Point};
use matchpoint_calibrate::fit::rates::{self, NodeRate, Shared};
use matchpoint_calibrate::machine;
use matchpoint_calibrate::plan::Settings;
use matchpoint_model::{End, Locality, Protocol, SearchOrder};

fn near(found: &Range, right: f64, by: f64) -> bool {
    (found.value / right - 1.0).abs() <= by
}

fn holds(found: &Range, right: f64) -> bool {
    found.low <= right && right <= found.high
}

fn link(parameters: &Parameters, placement: Locality) -> &Link {
    parameters.links.iter().find(|link| link.placement == placement).unwrap()
}

/// Asserts that the parameters of every protocol are within this relative error.
fn agrees(parameters: &Parameters, with: &SyntheticMachine, by: f64) {
    let all = [
        (Locality::OnSocket, &with.on_socket),
        (Locality::OnNode, &with.on_node),
        (Locality::OffNode, &with.off_node),
    ];
    for (placement, protocols) in all {
        let segments = &link(parameters, placement).segments;
        assert_eq!(segments.len(), protocols.len(), "{placement:?}: {segments:#?}");
        for (segment, (alpha, rate, largest)) in segments.iter().zip(protocols) {
            assert!(near(&segment.alpha_s, *alpha, by), "{placement:?} α {alpha}: {segment:?}");
            assert!(
                near(&segment.beta_s_per_byte.inverse(), *rate, by),
                "{placement:?} R {rate}: {segment:?}"
            );
            let is_last = *largest == u32::MAX;
            assert!(is_last || segment.bytes.1 == *largest, "{placement:?} to {largest}: {segment:?}");
        }
    }
}

#[test]
fn fit_finds_machine_of_paper() {
    let blue_waters = SyntheticMachine::blue_waters();
    let found = fit(&blue_waters.raw(nodes(4, 16), Settings::default(), 1));
    agrees(&found, &blue_waters, 1e-6);
    let search = found.search.as_ref().unwrap();
    assert!(near(&search.gamma_s(), 8.4e-9, 1e-6), "{search:?}");
    assert!((search.random_share.unwrap() - 0.5).abs() < 1e-6, "{search:?}");
    let delta = found.contention.as_ref().unwrap().each_s;
    assert!(near(&delta, 1.0e-10, 1e-6), "{delta:?}");
    let rates = &link(&found, Locality::OffNode).node_rates;
    let NodeRate::Limit(rate) = rates[2] else { panic!("{rates:?}") };
    assert!(near(&rate, 6.6e9, 1e-3), "{rate:?}");
    let logp = found.logp.unwrap();
    assert!(near(&logp.overhead_s, 3e-7, 1e-6) && near(&logp.gap_s, 5e-7, 1e-6), "{logp:?}");
}

/// An entry costs more if the queue exceeds the cache.
#[test]
fn message_count_determines_gamma() {
    let cold =
        SyntheticMachine { cold: (2000, 2.0), noise: 0.02, outliers: 5, ..SyntheticMachine::blue_waters() };
    let raw = cold.raw(nodes(1, 2), Settings::default(), 3);
    let found = fit(&raw);
    let by_messages = found.search.as_ref().unwrap().gamma_by_messages();
    let numbers: Vec<u32> = by_messages.iter().map(|(messages, _)| *messages).collect();
    assert!(numbers.ends_with(&[500, 1000, 2000, 5000, 10_000]), "{by_messages:?}");
    for (messages, gamma_s) in by_messages.iter().filter(|(messages, _)| *messages >= 500) {
        assert!(near(gamma_s, cold.attempt_s(*messages) / 2.0, 0.05), "{messages}: {gamma_s:?}");
    }
    let machine = machine::machine("made up", "somebody", &raw, &found);
    for messages in [500, 1000, 2000, 10_000] {
        let expected = cold.attempt_s(messages) / 2.0 * f64::from(messages).powi(2);
        let predicted = machine.search_s(SearchOrder::Bound, messages.into(), End::Value).unwrap();
        assert!((predicted / expected - 1.0).abs() < 0.05, "{messages}: {predicted}, not {expected}");
    }
}

/// Host load interrupts most exchanges for milliseconds.
#[test]
fn interruptions_do_not_hide_latency_and_rate() {
    let (alpha, rate) = (2e-3, 24e6);
    for seed in 0..20 {
        let busy = SyntheticMachine {
            off_node: vec![(alpha, rate, u32::MAX)],
            eager_max: u32::MAX,
            turns: Some(Interruptions { share: 0.7, longest_s: 4e-3 }),
            ..SyntheticMachine::blue_waters()
        };
        let settings = Settings { bytes_max: 1 << 19, messages_max: 3, rounds: 3, ..Settings::default() };
        let found = fit(&busy.raw(nodes(2, 1), settings, seed));
        let [only] = &link(&found, Locality::OffNode).segments[..] else { panic!("one line: {found:?}") };
        assert!(near(&only.alpha_s, alpha, 0.05), "{seed}: {only:?}");
        assert!(near(&only.beta_s_per_byte.inverse(), rate, 0.05), "{seed}: {only:?}");
    }
}

/// Rounds differ, although a line fits well.
#[test]
fn differing_rounds_widen_intervals() {
    let drifting = SyntheticMachine { drift: 0.1, noise: 0.01, ..SyntheticMachine::blue_waters() };
    let (mut alphas, mut gammas) = (0, 0);
    let seeds = 60;
    for seed in 0..seeds {
        let quick = Settings { bytes_max: 1 << 13, messages_max: 1000, ..Settings::default() };
        let found = fit(&drifting.raw(nodes(1, 4), quick, seed));
        let on_socket = link(&found, Locality::OnSocket);
        alphas += u32::from(holds(&on_socket.segments[0].alpha_s, 4.4e-7));
        gammas += u32::from(holds(&found.search.as_ref().unwrap().gamma_s(), 8.4e-9));
    }
    for (what, held) in [("α", alphas), ("γ", gammas)] {
        let share = f64::from(held) / f64::from(seeds as u32);
        assert!(share >= 0.85, "{what}: {held} of {seeds}");
    }
}

/// Two ranges of sizes are two protocols, which only the eager limit identifies.
#[test]
fn eager_limit_determines_protocol() {
    let two = vec![(5e-7, 2e9, 512), (2e-6, 4e9, u32::MAX)];
    let names = |eager_max: u32| {
        let made = SyntheticMachine { on_socket: two.clone(), eager_max, ..SyntheticMachine::blue_waters() };
        let raw = made.raw(nodes(1, 4), Settings::default(), 1);
        let found = fit(&raw);
        let names: Vec<Protocol> =
            link(&found, Locality::OnSocket).segments.iter().map(|segment| segment.protocol).collect();
        (names, machine::machine("made up", "somebody", &raw, &found).on_socket)
    };
    let (named, file) = names(u32::MAX);
    assert_eq!(named, [Protocol::Short, Protocol::Eager]);
    assert_eq!((file.short_max_bytes, file.eager_max_bytes), (Some(512), None));
    // A tested limit between two measured sizes has priority.
    let (named, file) = names(600);
    assert_eq!(named, [Protocol::Eager, Protocol::Rendezvous]);
    assert_eq!((file.short_max_bytes, file.eager_max_bytes), (None, Some(600)));
    assert_eq!((file.protocol(600), file.protocol(601)), (Protocol::Eager, Protocol::Rendezvous));
    // This library has no eager messages.
    let (named, file) = names(0);
    assert_eq!((named, file.eager_max_bytes), (vec![Protocol::Rendezvous], Some(0)));
}

/// One host does not determine the processes per node.
#[test]
fn unknown_node_parameters_are_not_written() {
    let of = |topology| {
        let raw = SyntheticMachine::blue_waters().raw(topology, Settings::default(), 1);
        machine::machine("made up", "somebody", &raw, &fit(&raw)).node
    };
    assert_eq!((of(nodes(1, 2)).processes, of(nodes(1, 2)).sockets), (None, Some(2)));
    assert_eq!(of(nodes(2, 3)).processes, Some(3));
}

#[test]
fn undetermined_rate_is_unbounded() {
    let free = SyntheticMachine {
        on_socket: vec![(1e-6, 1e15, u32::MAX)],
        noise: 0.03,
        ..SyntheticMachine::blue_waters()
    };
    let quick = Settings { bytes_max: 64, messages_max: 10, ..Settings::default() };
    let raw = free.raw(nodes(1, 4), quick, 2);
    let made = machine::machine("made up", "somebody", &raw, &fit(&raw));
    let (_, high) = made.on_socket.eager.rate_bytes_per_s.unwrap().interval.unwrap();
    assert!(high.is_infinite(), "{high}");
    assert!(matchpoint_model::machine::parse(&made.to_toml(), "machine.toml").is_ok());
}

/// A line through two measured times gives α and R_b without a confidence interval. Several rounds give an interval. An unbounded value would
/// count as exact in the file.
#[test]
fn unbounded_parameter_is_reported_and_omitted() {
    let noisy = SyntheticMachine { noise: 0.02, ..SyntheticMachine::blue_waters() };
    let of_rounds = |rounds| {
        let two_sizes = Settings { bytes_max: 2, messages_max: 10, rounds, ..Settings::default() };
        let raw = noisy.raw(nodes(1, 4), two_sizes, 5);
        let found = fit(&raw);
        (machine::machine("made up", "somebody", &raw, &found).on_socket.eager, found.warnings.join("\n"))
    };
    let (once, told) = of_rounds(1);
    assert_eq!((once.alpha_s, once.rate_bytes_per_s), (None, None));
    assert!(told.contains("Unknown uncertainty of the latency (on-socket, 1 to 2 bytes)"), "{told}");
    let (often, told) = of_rounds(5);
    assert!(often.alpha_s.unwrap().interval.is_some(), "{often:?}");
    assert!(told.contains("Two sizes always fit a line") && !told.contains("Unknown uncertainty"), "{told}");
}

#[test]
fn unlimited_rate_differs_from_unmeasured_rate() {
    let segment = |alpha_s: f64| {
        let point = |&bytes: &u32| Point { bytes, time_s: alpha_s + 1e-9 * f64::from(bytes) };
        protocols::line(&[1024, 2048, 4096, 8192].iter().map(point).collect::<Vec<_>>()).unwrap()
    };
    let elsewhere = [Shared { pairs: 4, bytes: 1 << 20, time_s: 1e-3 }];
    assert_eq!(rates::fit(&segment(1e-6), &elsewhere), NodeRate::NotMeasured);
    assert_eq!(rates::fit(&segment(1e-4), &elsewhere), NodeRate::Latency);
}

/// R_N has no upper end in the file.
#[test]
fn disagreeing_rounds_leave_node_rate_unbounded() {
    let drifting = SyntheticMachine { drift: 0.3, ..SyntheticMachine::blue_waters() };
    let two_rounds = Settings { rounds: 2, ..Settings::default() };
    let raw = drifting.raw(nodes(2, 16), two_rounds, 1);
    let made = machine::machine("made up", "somebody", &raw, &fit(&raw));
    let (low, high) = made.off_node.rendezvous.node_rate_bytes_per_s.unwrap().interval.unwrap();
    assert!(low > 0.0 && high.is_infinite(), "{low} to {high}");
    assert!(matchpoint_model::machine::parse(&made.to_toml(), "machine.toml").is_ok());
}

#[test]
fn noise_and_outliers_change_fit_little() {
    let noisy = SyntheticMachine { noise: 0.03, outliers: 4, ..SyntheticMachine::blue_waters() };
    for seed in 0..10 {
        let found = fit(&noisy.raw(nodes(4, 16), Settings::default(), seed));
        // α is a hundredth of the largest message's time, so only the smallest messages show α.
        for placement in Locality::ALL {
            assert_eq!(link(&found, placement).segments.len(), 3, "seed {seed}: {placement:?}");
        }
        let off_node = link(&found, Locality::OffNode);
        for (segment, (alpha, rate, _)) in off_node.segments.iter().zip(&noisy.off_node) {
            assert!(near(&segment.alpha_s, *alpha, 0.1), "seed {seed}, α {alpha}: {segment:?}");
            assert!(
                near(&segment.beta_s_per_byte.inverse(), *rate, 0.2),
                "seed {seed}, R {rate}: {segment:?}"
            );
        }
        let gamma = found.search.as_ref().unwrap().gamma_s();
        assert!(near(&gamma, 8.4e-9, 0.03), "seed {seed}: {gamma:?}");
        let delta = found.contention.as_ref().unwrap().each_s;
        assert!(near(&delta, 1.0e-10, 0.1), "seed {seed}: {delta:?}");
        let NodeRate::Limit(rate) = off_node.node_rates[2] else { panic!("{off_node:?}") };
        assert!(near(&rate, 6.6e9, 0.03), "seed {seed}: {rate:?}");
    }
}

/// A 95 % interval misses the parameter once in twenty times. Outliers are not normal, so the test allows a
/// deviation.
#[test]
fn intervals_contain_truth_at_stated_rate() {
    let sizes: Vec<u32> = (0..16).map(|power| 1 << power).collect();
    let (alpha, beta) = (5e-6, 1e-9);
    let (mut alphas, mut betas) = (0, 0);
    let runs = 400;
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..runs {
        let noise = |random: &mut fastrand::Rng| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let point = |&bytes: &u32| {
            let late = if random.u32(0..12) == 0 { 1.3 } else { 1.0 };
            let time_s = (alpha + beta * f64::from(bytes)) * late * (1.0 + 0.02 * noise(&mut random));
            Point { bytes, time_s }
        };
        let points: Vec<Point> = sizes.iter().map(point).collect();
        let segments = protocols::fit(&points, None).unwrap();
        let [segment] = &segments[..] else { continue };
        alphas += u32::from(holds(&segment.alpha_s, alpha));
        betas += u32::from(holds(&segment.beta_s_per_byte, beta));
    }
    for (what, held) in [("α", alphas), ("β", betas)] {
        let share = f64::from(held) / f64::from(runs);
        assert!((0.88..=1.0).contains(&share), "{what}: {held} of {runs}");
    }
}

#[test]
fn noise_adds_no_protocol() {
    let one = vec![(2e-6, 1e9, u32::MAX)];
    let eager_max = u32::MAX;
    let plain = SyntheticMachine {
        on_socket: one,
        eager_max,
        noise: 0.03,
        outliers: 5,
        ..SyntheticMachine::blue_waters()
    };
    let mut split = 0;
    for seed in 0..40 {
        let found = fit(&plain.raw(nodes(1, 4), Settings::default(), seed));
        split += usize::from(link(&found, Locality::OnSocket).segments.len() > 1);
    }
    assert!(split <= 2, "{split} of 40");
}

#[test]
fn unsupported_parameter_is_reported_and_omitted() {
    let found = fit(&SyntheticMachine::blue_waters().raw(nodes(1, 2), Settings::default(), 1));
    let told = found.warnings.join("\n");
    for what in ["No on-socket parameters", "No off-node parameters: all 2 ranks are on one node", "No δ"] {
        assert!(told.contains(what), "{what} is not in:\n{told}");
    }
    assert!(found.contention.is_none());
    let one_pair = fit(&SyntheticMachine::blue_waters().raw(nodes(2, 1), Settings::default(), 1));
    assert!(one_pair.warnings.iter().any(|told| told.starts_with("No R_N")), "{:?}", one_pair.warnings);
    assert_eq!(link(&one_pair, Locality::OffNode).node_rates, []);
}

#[test]
fn unreached_rate_is_not_invented() {
    let wide = SyntheticMachine { node_rate: 1e12, noise: 0.02, ..SyntheticMachine::blue_waters() };
    let found = fit(&wide.raw(nodes(2, 4), Settings::default(), 3));
    let rates = &link(&found, Locality::OffNode).node_rates;
    assert!(rates.iter().all(|rate| !matches!(rate, NodeRate::Limit(_))), "{rates:?}");
    assert!(
        found.warnings.iter().any(|told| told.contains("was not reached by 4 pairs")),
        "{:?}",
        found.warnings
    );
}

/// Pairs that start together need a barrier, which is not a node limit.
#[test]
fn barrier_does_not_limit_node_rate() {
    for noise in [0.0, 0.02] {
        for ranks in [16, 32, 64] {
            let free = SyntheticMachine {
                off_node: vec![(1.2e-6, 5e9, 16384), (4e-6, 5e9, u32::MAX)],
                eager_max: 16384,
                node_rate: f64::INFINITY,
                barrier_stage_s: 0.4e-6,
                noise,
                ..SyntheticMachine::blue_waters()
            };
            let found = fit(&free.raw(nodes(2, ranks), Settings::default(), 1));
            let rates = &link(&found, Locality::OffNode).node_rates;
            assert!(!rates.iter().any(|rate| matches!(rate, NodeRate::Limit(_))), "{ranks} pairs: {rates:?}");
        }
    }
    let bound = SyntheticMachine { barrier_stage_s: 0.4e-6, noise: 0.02, ..SyntheticMachine::blue_waters() };
    let found = fit(&bound.raw(nodes(2, 16), Settings::default(), 1));
    let rates = &link(&found, Locality::OffNode).node_rates;
    let Some(NodeRate::Limit(rate)) = rates.last() else { panic!("{rates:?}") };
    assert!(near(rate, 6.6e9, 0.05), "{rate:?}");
}

/// Twice as many pairs need a longer barrier, which is not contention.
#[test]
fn barrier_is_not_contention() {
    for (delta, within) in [(0.0, 1e-13), (1e-10, 1e-12)] {
        for ranks in [1, 4] {
            let line = SyntheticMachine {
                delta_s_per_byte: delta,
                barrier_stage_s: 50e-6,
                ..SyntheticMachine::blue_waters()
            };
            let found = fit(&line.raw(nodes(4, ranks), Settings::default(), 1));
            let each_s = found.contention.unwrap().each_s;
            assert!((each_s.value - delta).abs() <= within, "{ranks} ranks, {delta}: {each_s:?}");
        }
    }
}

#[test]
fn hashed_queues_have_no_measurable_cost() {
    let hashed = SyntheticMachine { attempt_s: 0.0, noise: 0.02, ..SyntheticMachine::blue_waters() };
    let found = fit(&hashed.raw(nodes(1, 2), Settings::default(), 3));
    let gamma = found.search.as_ref().unwrap().gamma_s();
    assert!(gamma.value < 1e-10, "{gamma:?}");
    let exact = SyntheticMachine { attempt_s: 0.0, ..SyntheticMachine::blue_waters() };
    let found = fit(&exact.raw(nodes(1, 2), Settings::default(), 3));
    assert!(found.warnings.iter().any(|told| told.contains("as with hashed queues")), "{:?}", found.warnings);
}

#[test]
fn missing_measurements_are_reported() {
    let few = Settings { bytes_max: 1, messages_max: 1, ..Settings::default() };
    let found = fit(&SyntheticMachine::blue_waters().raw(nodes(2, 2), few, 1));
    assert_eq!(found.links, []);
    assert!(found.search.is_none());
    let told = found.warnings.join("\n");
    assert!(told.contains("one size") && told.contains("No γ"), "{told}");
}

#[test]
fn machine_file_can_be_read() {
    let noisy = SyntheticMachine { noise: 0.05, outliers: 3, ..SyntheticMachine::blue_waters() };
    for (seed, topology) in [nodes(4, 16), nodes(1, 2), nodes(2, 1)].into_iter().enumerate() {
        let raw = noisy.raw(topology, Settings::default(), seed as u64);
        let parameters = fit(&raw);
        let made = machine::machine("made up", "somebody", &raw, &parameters);
        let read = matchpoint_model::machine::parse(&made.to_toml(), "machine.toml").unwrap();
        assert_eq!(read.to_toml(), made.to_toml());
        assert_eq!(
            read.queue_search.gamma_s.map(|gamma| gamma.value),
            made.queue_search.gamma_s.map(|gamma| gamma.value)
        );
    }
    let raw = SyntheticMachine::blue_waters().raw(nodes(4, 16), Settings::default(), 1);
    let made = machine::machine("Blue Waters", "somebody", &raw, &fit(&raw));
    assert_eq!((made.off_node.short_max_bytes, made.off_node.eager_max_bytes), (Some(512), Some(8192)));
    assert_eq!(made.off_node.protocol(8193), Protocol::Rendezvous);
    assert_eq!(made.node.processes, Some(16));
    let rate = made.off_node.rendezvous.rate_bytes_per_s.unwrap().value;
    assert!((rate / 2.9e9 - 1.0).abs() < 1e-6, "{rate}");
}
