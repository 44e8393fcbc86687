//! Tests that the handwritten `include/matchpoint.h` declares what the Rust sources define.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config, ExportConfig, Language, Style};
use matchpoint_abi::types::MP_ABI_VERSION;

const SOURCES: [&str; 4] =
    ["../matchpoint-abi/src/types.rs", "src/library.rs", "src/create.rs", "src/offload.rs"];

/// Names of types in Rust and in C.
const NAMES: [(&str, &str); 15] = [
    ("Engine", "mp_engine"),
    ("Calls", "mp_calls"),
    ("Wire", "mp_wire"),
    ("Completion", "mp_completion"),
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
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> String {
    fs::read_to_string(root().join("include/matchpoint.h")).unwrap()
}

fn generated() -> String {
    let names = NAMES.iter().chain([&("StatisticFn", "mp_statistic_fn")]);
    let config = Config {
        language: Language::C,
        no_includes: true,
        usize_is_size_t: true,
        documentation: false,
        style: Style::Both,
        export: ExportConfig {
            rename: names.map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let sources = SOURCES
        .iter()
        .fold(Builder::new().with_config(config), |builder, source| builder.with_src(root().join(source)));
    let mut header = Vec::new();
    sources.generate().expect("cbindgen reads the sources").write(&mut header);
    String::from_utf8(header).unwrap()
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once("*/").expect("a comment ends").1)
}

/// Returns the constants, types and exported functions of a header, independent of white space.
fn declarations(header: &str) -> BTreeSet<String> {
    let plain = without_comments(header);
    let is_constant = |line: &&str| line.starts_with("#define MP_");
    let constants = plain.lines().filter(is_constant).map(|line| line.replace(['(', ')'], ""));
    let constants = constants.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let code: Vec<&str> = plain.lines().filter(|line| !line.starts_with('#')).collect();
    let code = code.join(" ").replace("extern \"C\" {", " ");
    let (mut declared, mut depth, mut current) = (BTreeSet::new(), 0, String::new());
    for character in code.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        current.push(character);
        let is_inline = current.trim_start().starts_with("static inline");
        if depth == 0 && (character == ';' || character == '}' && is_inline) {
            if !is_inline {
                declared.insert(normalized(&current));
            }
            current.clear();
        }
    }
    declared.extend(constants);
    declared
}

/// Removes the word `struct`, and spaces that C does not need.
fn normalized(declaration: &str) -> String {
    let opaque =
        declaration.trim().strip_prefix("typedef struct mp_wire").map(|_| "opaque mp_wire".to_owned());
    let words: Vec<&str> = declaration.split_whitespace().filter(|word| *word != "struct").collect();
    let mut text = words.join(" ").replace("(struct ", "(");
    for mark in ["(", ")", "{", "}", "*", ",", ";"] {
        for spaced in [format!(" {mark}"), format!("{mark} ")] {
            text = text.replace(&spaced, mark);
        }
    }
    opaque.unwrap_or(text)
}

#[test]
fn header_equals_rust_definitions() {
    let (written, generated) = (declarations(&header()), declarations(&generated()));
    let missing: Vec<&String> = generated.difference(&written).collect();
    let extra: Vec<&String> = written.difference(&generated).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing: {missing:#?}\nextra: {extra:#?}");
    assert!(written.len() > 60, "{written:?}");
}

#[test]
fn every_table_entry_has_inline_function() {
    let header = without_comments(&header());
    let (_, table) = header.split_once("typedef struct mp_calls {").unwrap();
    let (table, functions) = table.split_once("} mp_calls;").unwrap();
    let names = table.split("(*").skip(1).map(|field| field.split_once(')').unwrap().0);
    assert_eq!(names.clone().count(), 26);
    for name in names {
        assert!(functions.contains(&format!("engine->calls->{name}(")), "{name}");
    }
}

#[test]
fn header_is_short() {
    let lines = header().lines().count();
    assert!(lines <= 600, "{lines} lines");
    let long = header().lines().filter(|line| line.len() > 135).count();
    assert_eq!(long, 0);
}

#[test]
fn build_script_has_abi_version() {
    let build = fs::read_to_string(root().join("build.rs")).unwrap();
    assert!(build.contains(&format!("const ABI_VERSION: u32 = {MP_ABI_VERSION};")));
}
