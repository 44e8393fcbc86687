//! Tests that compile and run C and C++ programs: the examples, and the programs in `tests/c/`.

use std::mem::{offset_of, size_of};
use std::path::Path;

use crate::installed::{Installed, has, output, root, stdout};
use matchpoint::engines::REGISTRY;
use matchpoint_abi::types::{
    Attempts, Calls, Completion, Engine, EngineInfo, Entry, Footprint, Message, Outcome, ParameterInfo,
};

fn has_tools() -> bool {
    has("cc") && has("pkg-config")
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Runs a program with each engine. Returns the engine's name and the output.
fn outputs<'a>(
    program: &'a Path,
    names: impl IntoIterator<Item = impl AsRef<str> + 'a> + 'a,
) -> impl Iterator<Item = (String, String)> + 'a {
    names.into_iter().map(move |name| {
        let name = name.as_ref().to_owned();
        let output_text = stdout(Installed::get().run(program).arg(&name));
        (name, output_text)
    })
}

#[test]
fn example_runs_with_every_engine() {
    if !has_tools() {
        return;
    }
    let (here, example) = (Installed::get(), root().join("examples/c/matching.c"));
    let program = here.c(&example);
    for spec in REGISTRY {
        let output_text = stdout(here.run(&program).arg(spec.name));
        assert!(
            output_text.contains("all as it should be") && output_text.contains(env!("CARGO_PKG_VERSION")),
            "{output_text}"
        );
    }
    output(here.run(&here.c_static(&example)).env_remove("LD_LIBRARY_PATH").env_remove("DYLD_LIBRARY_PATH"));
    let unknown = here.run(&program).arg("lost").output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert!(error.starts_with("there is no engine `lost`; there are list, "), "{error}");
}

/// The example has at most 60 lines, because authors of MPI libraries read this example first.
#[test]
fn short_example_runs_with_every_engine() {
    if !has_tools() {
        return;
    }
    let (here, example) = (Installed::get(), root().join("examples/c/engine_life.c"));
    let lines = std::fs::read_to_string(&example).unwrap().lines().count();
    assert!(lines <= 60, "{lines} lines");
    let program = here.c(&example);
    for spec in REGISTRY {
        output(here.run(&program).env("ENGINE", spec.name));
    }
    let unknown = here.run(&program).env("ENGINE", "lost").output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
}

#[cfg(target_os = "linux")]
fn symbols(options: &[&str], library: &Path) -> Vec<String> {
    let text = stdout(std::process::Command::new("nm").args(options).arg(library));
    text.lines().filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned)).collect()
}

/// Other symbols could collide with another Rust library in the same program. The installed library is also
/// stripped.
#[cfg(target_os = "linux")]
#[test]
fn libraries_export_only_mp_symbols() {
    if !has_tools() || !has("nm") || !has("objcopy") {
        return;
    }
    let here = Installed::get();
    let shared = format!("libmatchpoint.so.{}", matchpoint_abi::types::MP_ABI_VERSION);
    let exported = symbols(&["-D", "--defined-only"], &here.library(&shared));
    let in_archive = symbols(&["-g", "--defined-only"], &here.library("libmatchpoint.a"));
    for symbols in [&exported, &in_archive] {
        let other = symbols.iter().find(|symbol| !symbol.starts_with("mp_"));
        assert!(symbols.len() >= 10 && other.is_none(), "{} symbols, {other:?}", symbols.len());
    }
    assert_eq!(exported, {
        let mut sorted = in_archive;
        sorted.sort();
        sorted
    });
    let sections = stdout(std::process::Command::new("objdump").arg("-h").arg(here.library(&shared)));
    assert!(sections.contains(".text") && !sections.contains(".debug_info"), "{sections}");
}

#[test]
fn cpp_wrapper_runs_with_every_engine() {
    if !has_tools() || !has("c++") {
        return;
    }
    let here = Installed::get();
    let program = here.cpp(&root().join("examples/c/matching.cpp"));
    for spec in REGISTRY {
        let output_text = stdout(here.run(&program).arg(spec.name));
        assert!(output_text.contains("there is no engine `no such engine`"), "{output_text}");
    }
}

/// Every engine, and `optimistic_parallel` with each policy for the assignment of messages to threads.
fn engines_of_batches() -> impl Iterator<Item = String> {
    let policies = ["pace", "optimism", "shares", "order"].into_iter();
    let parallel = policies.map(|by| format!("optimistic_parallel:threads=4,by={by}"));
    REGISTRY.iter().map(|spec| spec.name.to_owned()).chain(parallel)
}

#[test]
fn batch_example_runs_with_every_engine() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c(&root().join("examples/c/batches.c"));
    for (name, output_text) in outputs(&program, engines_of_batches()) {
        assert!(output_text.contains("80 batches, all as it should be"), "{name}: {output_text}");
    }
}

#[test]
fn benchmark_measures_every_engine() {
    if !has_tools() {
        return;
    }
    let here = Installed::get();
    let output_text = stdout(here.run(&here.c(&root().join("examples/c/benchmark.c"))).arg("100"));
    for spec in REGISTRY {
        let lines = output_text.lines().filter(|line| line.split_whitespace().next() == Some(spec.name));
        assert_eq!(lines.count(), 3, "{output_text}");
    }
}

#[test]
fn every_function_behaves_as_documented() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c(&source("calls.c"));
    assert_eq!(outputs(&program, engines_of_batches()).count(), REGISTRY.len() + 4);
    for name in CONCURRENT {
        output(Installed::get().run(&program).args([name, "any"]));
    }
}

/// Each kind of concurrent engine, with an inner engine that has one thread or several.
const CONCURRENT: [&str; 4] = [
    "locked:engine=hybrid",
    "locked:engine=optimistic_parallel:threads=3",
    "sharded:shards=4,engine=list",
    "sharded:shards=4,engine=optimistic_parallel:threads=3",
];

#[test]
fn thread_example_runs_with_concurrent_engines() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&root().join("examples/c/threads.c"));
    for (name, output_text) in outputs(&program, CONCURRENT) {
        assert!(
            output_text.contains("5 threads, 3200 messages, all as it should be"),
            "{name}: {output_text}"
        );
    }
}

#[test]
fn threads_share_concurrent_engine() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&source("concurrent.c"));
    assert_eq!(outputs(&program, CONCURRENT).count(), CONCURRENT.len());
}

/// Offloaded engines with an inner engine that has one thread or several. A small memory budget causes a
/// fallback at once or later.
const OFFLOADED: [&str; 5] = [
    "offload:engine=hybrid",
    "offload:ring=8,engine=list",
    "offload:engine=optimistic_parallel:threads=2",
    "offload:budget_kib=0,engine=hybrid",
    "offload:budget_kib=240,engine=bins",
];

#[test]
fn offload_example_runs() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&root().join("examples/c/offload.c"));
    for (name, output_text) in outputs(&program, OFFLOADED) {
        assert!(output_text.contains("3200 messages, all as it should be"), "{name}: {output_text}");
        assert!(
            output_text.contains("falling back") || !name.contains("budget_kib=0"),
            "{name}: {output_text}"
        );
    }
}

#[test]
fn offload_functions_behave_as_documented() {
    if !has_tools() {
        return;
    }
    let program = Installed::get().c(&source("offloaded.c"));
    assert_eq!(outputs(&program, OFFLOADED).count(), OFFLOADED.len());
}

/// The program replaces `malloc`. Only glibc documents how to call the replaced function.
#[cfg(target_env = "gnu")]
#[test]
fn warm_engine_does_not_allocate() {
    if !has_tools() {
        return;
    }
    let here = Installed::get();
    let program = here.c(&source("allocations.c"));
    for spec in REGISTRY {
        let output_text = stdout(here.run(&program).arg(spec.name));
        let (warming, warm) = output_text.trim().split_once(' ').unwrap();
        assert!(
            warming.parse::<u64>().unwrap() > 0,
            "{}: the program counted no allocation of the first rounds",
            spec.name
        );
        assert_eq!(warm, "0", "{}: the warm engine allocated", spec.name);
    }
}

/// Compares sizes and offsets of fields with those of this `MP_ABI_VERSION`. Another test compares the fields
/// with the header.
#[test]
fn struct_layouts_equal_abi_version() {
    let layouts = [
        ("message", size_of::<Message>(), offset_of!(Message, tag)),
        ("outcome", size_of::<Outcome>(), offset_of!(Outcome, status)),
        ("completion", size_of::<Completion>(), offset_of!(Completion, kind)),
        ("entry", size_of::<Entry>(), offset_of!(Entry, queue)),
        ("engine", size_of::<Engine>(), offset_of!(Engine, unexpected)),
        ("calls", size_of::<Calls>(), offset_of!(Calls, destroy)),
        ("footprint", size_of::<Footprint>(), offset_of!(Footprint, peak_bytes)),
        ("attempts", size_of::<Attempts>(), offset_of!(Attempts, unexpected)),
        ("engine_info", size_of::<EngineInfo>(), offset_of!(EngineInfo, parameters)),
        ("parameter_info", size_of::<ParameterInfo>(), offset_of!(ParameterInfo, meaning)),
    ];
    let expected =
        [(24, 16), (16, 8), (24, 16), (40, 32), (24, 16), (216, 208), (32, 24), (16, 8), (24, 16), (24, 16)];
    for ((name, size, offset), expected) in layouts.into_iter().zip(expected) {
        assert_eq!((size, offset), expected, "{name}: size and offset of the last field");
    }
}
