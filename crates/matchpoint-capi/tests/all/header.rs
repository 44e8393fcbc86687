//! `include/matchpoint.h` is what the sources say. After a change there:
//! `MATCHPOINT_WRITE_HEADER=1 cargo test -p matchpoint-capi --test all header`.

use std::path::Path;
use std::{env, fs};

use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};
use matchpoint_abi::types::MP_ABI_VERSION;

/// In the order of the header.
const SOURCES: [&str; 9] = [
    "../matchpoint-abi/src/types.rs",
    "src/library.rs",
    "src/life.rs",
    "src/words.rs",
    "src/matching.rs",
    "src/upkeep.rs",
    "src/tell.rs",
    "src/concurrent.rs",
    "src/offload.rs",
];

/// Rust's names, and C's.
const NAMES: [(&str, &str); 19] = [
    ("Opaque", "mp_engine"),
    ("OpaqueConcurrent", "mp_concurrent"),
    ("OpaqueOffload", "mp_offload"),
    ("OpaqueWire", "mp_wire"),
    ("Completion", "mp_completion"),
    ("Selector", "mp_selector"),
    ("Envelope", "mp_envelope"),
    ("Message", "mp_message"),
    ("Outcome", "mp_outcome"),
    ("Entry", "mp_entry"),
    ("Footprint", "mp_footprint"),
    ("Attempts", "mp_attempts"),
    ("EngineInfo", "mp_engine_info"),
    ("ParameterInfo", "mp_parameter_info"),
    ("DeliverFn", "mp_deliver_fn"),
    ("DrainFn", "mp_drain_fn"),
    ("VisitFn", "mp_visit_fn"),
    ("HintsFn", "mp_hints_fn"),
    ("StatisticFn", "mp_statistic_fn"),
];

const TOP: &str = "\
/* libmatchpoint: message matching for MPI and network libraries. The manual is docs/c.md.
 *
 * Generated from the Rust sources; do not edit. SPDX-License-Identifier: BSD-3-Clause
 *
 * 1. A message matches a receive when their contexts are equal, and source and tag are each equal or left open.
 * 2. An arriving message takes the earliest posted receive it matches; if none, it joins the unexpected queue.
 * 3. A posted receive takes the earliest unexpected message it matches; if none, it joins the posted queue.
 *
 * Statuses are negative for what was not done, 0 for done and nothing to hand out, 1 for done and handed out, 2 for
 * done otherwise (MP_NAMED). No function writes to what it is handed unless it says so. Receives and messages are named by 64-bit
 * numbers of the caller's. Functions that take an mp_engine, an mp_offload or an mp_wire: one thread at a time for each, any
 * number of them at a time. Functions that take an mp_concurrent: any number of threads at a time. After what a first round of calls of
 * an mp_engine needed, its posts, arrivals and probes do not allocate; but for those of the engine hybrid, now and then: where
 * searches by wildcards are rare, receives are cancelled, many masks come and go, a table grows, or queues were short for a while.
 *
 * A program that is built with this header runs with every later library of the same MP_ABI_VERSION: functions,
 * constants and the layout of structs that are handed in never change, structs that are handed out grow at their end.
 * But for version 0, which is that of the time before the first release: build program and library of one source.
 */";

const PAIR: &str = "
/**
 * Context and source in one word.
 */
static inline uint64_t mp_pair(uint32_t context, uint32_t source) {
  return (uint64_t)context << 32 | source;
}";

fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        header: Some(TOP.to_owned()),
        include_guard: Some("MATCHPOINT_H".to_owned()),
        after_includes: Some(PAIR.to_owned()),
        no_includes: true,
        sys_includes: ["stdint.h", "stddef.h"].map(str::to_owned).to_vec(),
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::Doxy,
        line_length: 110,
        export: ExportConfig {
            rename: NAMES.map(|(from, to)| (from.to_owned(), to.to_owned())).into(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let sources = SOURCES
        .iter()
        .fold(Builder::new().with_config(config), |builder, source| builder.with_src(root.join(source)));
    let mut header = Vec::new();
    sources.generate().expect("the sources are plain enough").write(&mut header);
    let header = String::from_utf8(header).expect("the sources are UTF-8");
    let lines = header.replace(" * # Safety\n", " * What the caller sees to:\n");
    lines.lines().map(|line| format!("{}\n", parenthesised(line.trim_end()))).collect()
}

/// `#define A -1` as `#define A (-1)`: it may stand after a minus.
fn parenthesised(line: &str) -> String {
    match line.split_once(" -") {
        Some((name, number)) if name.starts_with("#define ") => format!("{name} (-{number})"),
        _ => line.to_owned(),
    }
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/matchpoint.h");
    let generated = generated();
    if env::var_os("MATCHPOINT_WRITE_HEADER").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap();
    let differs = committed.lines().zip(generated.lines()).position(|(has, is)| has != is);
    assert!(
        committed == generated,
        "include/matchpoint.h differs from the sources, first in line {}; see the top of this test",
        differs.map_or(0, |at| at + 1)
    );
}

#[test]
fn every_name_is_c_s() {
    let header = generated();
    for line in header.lines().filter(|line| line.starts_with("typedef") || line.contains("#define ")) {
        let word = line.split(['(', ' ', '*', ';']).find(|word| word.to_ascii_lowercase().starts_with("mp_"));
        assert!(word.is_some() || line.contains("MATCHPOINT_H"), "{line}");
    }
}

#[test]
fn the_build_names_the_library_after_the_version() {
    let build = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs")).unwrap();
    assert!(build.contains(&format!("const ABI_VERSION: u32 = {MP_ABI_VERSION};")));
}
