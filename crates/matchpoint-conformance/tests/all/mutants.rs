//! Tests of the laws: each fault of a mutant engine is found, with a short script.

use std::collections::BTreeSet;

use crate::mutant::{DEEP_FAULTS, FAULTS, Fault, Mutant, Shares};
use matchpoint::event::script;
use matchpoint::{Engine, Order};
use matchpoint_conformance::{Law, OptionalCalls, Options, Violation, check};

/// Options of a check that finds all faults in seconds.
fn options() -> Options {
    Options { streams: 4, events: 300, depths: vec![1, 2, 7, 30, 70], ..Options::quick() }
}

fn deep_options() -> Options {
    Options { streams: 0, depths: Vec::new(), deep: 70_000, ..Options::quick() }
}

fn find_violation(fault: Fault, options: &Options) -> Box<Violation> {
    let engine = || Box::new(Mutant::new(Some(fault))) as Box<dyn Engine>;
    match check(&engine, options) {
        Ok(report) => panic!("no law finds {fault:?}: {report:?}"),
        Err(violation) => violation,
    }
}

#[test]
fn unchanged_list_has_no_fault() {
    let engine = || Box::new(Mutant::new(None)) as Box<dyn Engine>;
    for options in [options(), deep_options()] {
        check(&engine, &options).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

/// A check of MPI events finds no fault of masks and of bit 31.
#[test]
fn mpi_only_check_accepts_mpi_only_engine() {
    for fault in [Fault::MaskMatchesAnyTag, Fault::SourceBit31Ignored] {
        let engine = || Box::new(Mutant::new(Some(fault))) as Box<dyn Engine>;
        let mpi_only = Options { mpi_only: true, ..options() };
        let report = check(&engine, &mpi_only).unwrap_or_else(|violation| panic!("{fault:?}\n{violation}"));
        assert!(report.matches > 5_000, "{report:?}");
    }
    let engine = || Box::new(Mutant::new(Some(Fault::TagBit20Ignored))) as Box<dyn Engine>;
    check(&engine, &Options { mpi_only: true, ..options() }).expect_err("bit 20 of a tag is significant");
}

#[test]
fn weaker_order_weakens_requirements() {
    for (order, fault) in [
        (Order::PerSource, None),
        (Order::None, Some(Fault::UnexpectedYoungestFirst)),
        (Order::None, Some(Fault::PostedYoungestFirst)),
        (Order::None, Some(Fault::WildcardsBeforeExact)),
    ] {
        let engine = || Box::new(Mutant::with_order(order, fault)) as Box<dyn Engine>;
        check(&engine, &options()).unwrap_or_else(|violation| panic!("{order:?} {fault:?}\n{violation}"));
    }
}

#[test]
fn only_fixed_table_may_be_full() {
    let engine = || Box::new(Mutant::with_capacity(4)) as Box<dyn Engine>;
    let fixed = Options { fixed_table: true, ..options() };
    check(&engine, &fixed).unwrap_or_else(|violation| panic!("{violation}"));
    let violation = check(&engine, &options()).unwrap_err();
    assert_eq!((violation.broken.law, violation.events.len()), (Law::Refusal, 5), "{violation}");
}

#[test]
fn law_finds_fault_with_short_script() {
    for &(fault, laws, longest) in FAULTS {
        let violation = find_violation(fault, &options());
        assert!(laws.contains(&violation.broken.law), "{fault:?}\n{violation}");
        assert!(violation.events.len() <= longest, "{fault:?}\n{violation}");
    }
}

/// A single engine with shared state keeps all laws; two interleaved engines do not. This also holds if the
/// engine has only the required calls.
#[test]
fn shared_state_breaks_independence_law() {
    let bare = OptionalCalls { close: false, visit: false, footprint: false, ..OptionalCalls::default() };
    for (shares, calls) in Shares::ALL
        .map(|shares| (shares, OptionalCalls::default()))
        .into_iter()
        .chain([(Shares::Everything, bare)])
    {
        let library = shares.library();
        let alone = Options { calls, streams: 0, ..options() };
        check(&library, &alone).unwrap_or_else(|violation| panic!("{shares:?} alone\n{violation}"));
        let violation =
            check(&library, &Options { calls, ..options() }).expect_err("two engines share state");
        assert_eq!(violation.broken.law, Law::Independence, "{shares:?}\n{violation}");
        assert!(violation.stream.ends_with(", interleaved on two engines"), "{violation}");
        assert!(violation.events.len() <= 2, "{shares:?}\n{violation}");
    }
}

/// Each fault needs about 65,538 events, which the script prints in a few lines.
fn assert_found_in_few_lines(faults: &[(Fault, &[Law], usize)]) {
    for &(fault, laws, longest) in faults {
        let violation = find_violation(fault, &deep_options());
        let lines = script::print(&violation.events).lines().count();
        assert!(laws.contains(&violation.broken.law), "{fault:?}\n{violation}");
        assert!(lines <= longest && violation.events.len() < 70_000, "{fault:?}\n{violation}");
    }
}

// Two tests, so that two threads share the faults. Each takes seconds.
#[test]
fn faults_of_long_queues_are_found() {
    assert_found_in_few_lines(&DEEP_FAULTS[..2]);
}

#[test]
fn more_faults_of_long_queues_are_found() {
    assert_found_in_few_lines(&DEEP_FAULTS[2..]);
}

/// Relabelled streams use all bits of their numbers.
#[test]
fn relabelled_streams_find_lost_bits() {
    for fault in [Fault::IdsIn16Bits, Fault::IdsIn32Bits, Fault::TagBit20Ignored, Fault::SourceBit31Ignored] {
        let options = Options { depths: Vec::new(), streams: 20, ..options() };
        let violation = find_violation(fault, &options);
        assert!(violation.stream.ends_with("relabelled") && violation.events.len() <= 2, "{violation}");
    }
}

#[test]
fn every_fault_is_listed_once() {
    let all = FAULTS.iter().chain(DEEP_FAULTS);
    let listed: BTreeSet<_> = all.map(|(fault, ..)| *fault).collect();
    assert_eq!(listed.len(), FAULTS.len() + DEEP_FAULTS.len());
}
