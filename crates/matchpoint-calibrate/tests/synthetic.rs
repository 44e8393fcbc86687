//! Known parameters, noise and outliers: what is fitted is what was put in.

mod made_up;

use made_up::{MadeUp, nodes};
use matchpoint_calibrate::fit::Range;
use matchpoint_calibrate::fit::parameters::{Link, Parameters, fit};
use matchpoint_calibrate::fit::protocols::{self, Point};
use matchpoint_calibrate::fit::rates::NodeRate;
use matchpoint_calibrate::machine;
use matchpoint_calibrate::plan::Settings;
use matchpoint_calibrate::topology::Placement;
use matchpoint_model::machine::Protocol;

fn near(found: &Range, right: f64, by: f64) -> bool {
    (found.value / right - 1.0).abs() <= by
}

fn holds(found: &Range, right: f64) -> bool {
    found.low <= right && right <= found.high
}

fn link(parameters: &Parameters, placement: Placement) -> &Link {
    parameters.links.iter().find(|link| link.placement == placement).unwrap()
}

/// What was fitted of every protocol is within this share of what was put in.
fn agrees(parameters: &Parameters, with: &MadeUp, by: f64) {
    let all = [
        (Placement::OnSocket, &with.on_socket),
        (Placement::OnNode, &with.on_node),
        (Placement::OffNode, &with.off_node),
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
fn the_papers_machine_is_found_again() {
    let blue_waters = MadeUp::blue_waters();
    let found = fit(&blue_waters.raw(nodes(4, 16), Settings::default(), 1));
    agrees(&found, &blue_waters, 1e-6);
    let search = found.search.as_ref().unwrap();
    assert!(near(&search.gamma_s(), 8.4e-9, 1e-6), "{search:?}");
    assert!((search.random_share.unwrap() - 0.5).abs() < 1e-6, "{search:?}");
    let delta = found.contention.as_ref().unwrap().each_s;
    assert!(near(&delta, 1.0e-10, 1e-6), "{delta:?}");
    let rates = &link(&found, Placement::OffNode).node_rates;
    let NodeRate::Limit(rate) = rates[2] else { panic!("{rates:?}") };
    assert!(near(&rate, 6.6e9, 1e-3), "{rate:?}");
}

#[test]
fn noise_and_outliers_move_it_little() {
    let noisy = MadeUp { noise: 0.03, outliers: 4, ..MadeUp::blue_waters() };
    for seed in 0..10 {
        let found = fit(&noisy.raw(nodes(4, 16), Settings::default(), seed));
        // Where α is a hundredth of what the largest message takes, it is seen in the smallest alone.
        for placement in Placement::ALL {
            assert_eq!(link(&found, placement).segments.len(), 3, "seed {seed}: {placement:?}");
        }
        let off_node = link(&found, Placement::OffNode);
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

/// An interval of 95 % misses once in twenty times. It may be somewhat too narrow or too wide, for outliers are not normal.
#[test]
fn intervals_hold_what_was_put_in_as_often_as_they_say() {
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
        let segments = protocols::fit(&points).unwrap();
        let [segment] = &segments[..] else { continue };
        alphas += u32::from(holds(&segment.alpha_s, alpha));
        betas += u32::from(holds(&segment.beta_s_per_byte, beta));
    }
    for (what, held) in [("α", alphas), ("β", betas)] {
        let share = f64::from(held) / f64::from(runs);
        assert!((0.88..=1.0).contains(&share), "{what}: {held} of {runs}");
    }
}

/// What a library has not is not found in noise.
#[test]
fn one_protocol_stays_one() {
    let one = vec![(2e-6, 1e9, u32::MAX)];
    let plain = MadeUp { on_socket: one, noise: 0.03, outliers: 5, ..MadeUp::blue_waters() };
    let mut split = 0;
    for seed in 0..40 {
        let found = fit(&plain.raw(nodes(1, 4), Settings::default(), seed));
        split += usize::from(link(&found, Placement::OnSocket).segments.len() > 1);
    }
    assert!(split <= 2, "{split} of 40");
}

#[test]
fn what_is_not_supported_is_told_and_left_out() {
    let found = fit(&MadeUp::blue_waters().raw(nodes(1, 2), Settings::default(), 1));
    let told = found.warnings.join("\n");
    for what in ["No on-socket parameters", "No off-node parameters: all 2 ranks are on one node", "No δ"] {
        assert!(told.contains(what), "{what} is not in:\n{told}");
    }
    assert!(found.contention.is_none());
    let one_pair = fit(&MadeUp::blue_waters().raw(nodes(2, 1), Settings::default(), 1));
    assert!(one_pair.warnings.iter().any(|told| told.starts_with("No R_N")), "{:?}", one_pair.warnings);
    assert_eq!(link(&one_pair, Placement::OffNode).node_rates, []);
}

#[test]
fn a_rate_that_is_not_reached_is_not_made_up() {
    let wide = MadeUp { node_rate: 1e12, noise: 0.02, ..MadeUp::blue_waters() };
    let found = fit(&wide.raw(nodes(2, 4), Settings::default(), 3));
    let rates = &link(&found, Placement::OffNode).node_rates;
    assert!(rates.iter().all(|rate| !matches!(rate, NodeRate::Limit(_))), "{rates:?}");
    assert!(
        found.warnings.iter().any(|told| told.contains("was not met by 4 pairs")),
        "{:?}",
        found.warnings
    );
}

#[test]
fn queues_that_are_hashed_cost_nothing_that_could_be_told() {
    let hashed = MadeUp { attempt_s: 0.0, noise: 0.02, ..MadeUp::blue_waters() };
    let found = fit(&hashed.raw(nodes(1, 2), Settings::default(), 3));
    let gamma = found.search.as_ref().unwrap().gamma_s();
    assert!(gamma.value < 1e-10, "{gamma:?}");
    let exact = MadeUp { attempt_s: 0.0, ..MadeUp::blue_waters() };
    let found = fit(&exact.raw(nodes(1, 2), Settings::default(), 3));
    assert!(
        found.warnings.iter().any(|told| told.contains("as where queues are hashed")),
        "{:?}",
        found.warnings
    );
}

#[test]
fn too_little_to_fit_is_told() {
    let few = Settings { bytes_max: 1, messages_max: 1, ..Settings::default() };
    let found = fit(&MadeUp::blue_waters().raw(nodes(2, 2), few, 1));
    assert_eq!(found.links, []);
    assert!(found.search.is_none());
    let told = found.warnings.join("\n");
    assert!(told.contains("one size alone") && told.contains("No γ"), "{told}");
}

/// Whatever is fitted can be written and read again.
#[test]
fn the_machine_is_a_file_that_can_be_read() {
    let noisy = MadeUp { noise: 0.05, outliers: 3, ..MadeUp::blue_waters() };
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
    let raw = MadeUp::blue_waters().raw(nodes(4, 16), Settings::default(), 1);
    let made = machine::machine("Blue Waters", "somebody", &raw, &fit(&raw));
    assert_eq!((made.off_node.short_max_bytes, made.off_node.eager_max_bytes), (Some(512), Some(8192)));
    assert_eq!(made.off_node.protocol(8193), Protocol::Rendezvous);
    assert_eq!(made.node.processes, Some(16));
    let rate = made.off_node.rendezvous.rate_bytes_per_s.unwrap().value;
    assert!((rate / 2.9e9 - 1.0).abs() < 1e-6, "{rate}");
}
