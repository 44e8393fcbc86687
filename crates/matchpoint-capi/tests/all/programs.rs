//! C and C++ programs that use the library: the examples, and those in `tests/c/`.

use std::mem::{offset_of, size_of};
use std::path::Path;

use crate::installed::{Installed, has, output, root, stdout};
use matchpoint::engines::REGISTRY;
use matchpoint_abi::types::{
    Attempts, Calls, Completion, Engine, EngineInfo, Entry, Footprint, Message, Outcome, ParameterInfo,
};

fn tools() -> bool {
    has("cc") && has("pkg-config")
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Runs a program with each engine and returns the output.
fn runs<'a>(
    program: &'a Path,
    names: impl IntoIterator<Item = impl AsRef<str> + 'a> + 'a,
) -> impl Iterator<Item = (String, String)> + 'a {
    names.into_iter().map(move |name| {
        let name = name.as_ref().to_owned();
        let said = stdout(Installed::get().run(program).arg(&name));
        (name, said)
    })
}

#[test]
fn example_runs_with_every_engine() {
    if !tools() {
        return;
    }
    let (here, example) = (Installed::get(), root().join("examples/c/matching.c"));
    let program = here.c(&example);
    for spec in REGISTRY {
        let said = stdout(here.run(&program).arg(spec.name));
        assert!(said.contains("all as it should be") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    }
    output(here.run(&here.c_static(&example)).env_remove("LD_LIBRARY_PATH").env_remove("DYLD_LIBRARY_PATH"));
    let lost = here.run(&program).arg("lost").output().unwrap();
    assert_eq!(lost.status.code(), Some(1));
    let says = String::from_utf8(lost.stderr).unwrap();
    assert!(says.starts_with("there is no engine `lost`; there are list, "), "{says}");
}

/// The shortest complete program: an author of a library reads it first.
#[test]
fn short_example_runs_with_every_engine() {
    if !tools() {
        return;
    }
    let (here, example) = (Installed::get(), root().join("examples/c/engine_life.c"));
    let lines = std::fs::read_to_string(&example).unwrap().lines().count();
    assert!(lines <= 60, "{lines} lines");
    let program = here.c(&example);
    for spec in REGISTRY {
        output(here.run(&program).env("ENGINE", spec.name));
    }
    let lost = here.run(&program).env("ENGINE", "lost").output().unwrap();
    assert_eq!(lost.status.code(), Some(1));
}

/// Output of a tool per symbol, with the name last.
#[cfg(target_os = "linux")]
fn symbols(options: &[&str], library: &Path) -> Vec<String> {
    let text = stdout(std::process::Command::new("nm").args(options).arg(library));
    text.lines().filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned)).collect()
}

/// No symbol may collide with another Rust library in the same program. The installed library is stripped.
#[cfg(target_os = "linux")]
#[test]
fn libraries_export_only_interface() {
    if !tools() || !has("nm") || !has("objcopy") {
        return;
    }
    let here = Installed::get();
    let shared = format!("libmatchpoint.so.{}", matchpoint_abi::types::MP_ABI_VERSION);
    let shown = symbols(&["-D", "--defined-only"], &here.library(&shared));
    let linked = symbols(&["-g", "--defined-only"], &here.library("libmatchpoint.a"));
    for symbols in [&shown, &linked] {
        let other = symbols.iter().find(|symbol| !symbol.starts_with("mp_"));
        assert!(symbols.len() >= 10 && other.is_none(), "{} symbols, {other:?}", symbols.len());
    }
    assert_eq!(shown, {
        let mut same = linked;
        same.sort();
        same
    });
    let sections = stdout(std::process::Command::new("objdump").arg("-h").arg(here.library(&shared)));
    assert!(sections.contains(".text") && !sections.contains(".debug_info"), "{sections}");
}

#[test]
fn cpp_wrapper_runs_with_every_engine() {
    if !tools() || !has("c++") {
        return;
    }
    let here = Installed::get();
    let program = here.cpp(&root().join("examples/c/matching.cpp"));
    for spec in REGISTRY {
        let said = stdout(here.run(&program).arg(spec.name));
        assert!(said.contains("there is no engine `no such engine`"), "{said}");
    }
}

/// Every engine, and the engine with delivery threads in each of its policies.
fn engines_of_batches() -> impl Iterator<Item = String> {
    let ways = ["pace", "optimism", "shares", "order"].into_iter();
    let parallel = ways.map(|by| format!("optimistic_parallel:threads=4,by={by}"));
    REGISTRY.iter().map(|spec| spec.name.to_owned()).chain(parallel)
}

#[test]
fn batch_example_runs_with_every_engine() {
    if !tools() {
        return;
    }
    let program = Installed::get().c(&root().join("examples/c/batches.c"));
    for (name, said) in runs(&program, engines_of_batches()) {
        assert!(said.contains("80 batches, all as it should be"), "{name}: {said}");
    }
}

#[test]
fn benchmark_measures_every_engine() {
    if !tools() {
        return;
    }
    let here = Installed::get();
    let said = stdout(here.run(&here.c(&root().join("examples/c/benchmark.c"))).arg("100"));
    for spec in REGISTRY {
        let lines = said.lines().filter(|line| line.split_whitespace().next() == Some(spec.name));
        assert_eq!(lines.count(), 3, "{said}");
    }
}

#[test]
fn every_function_does_what_header_says() {
    if !tools() {
        return;
    }
    let program = Installed::get().c(&source("calls.c"));
    assert_eq!(runs(&program, engines_of_batches()).count(), REGISTRY.len() + 4);
    for name in CONCURRENT {
        output(Installed::get().run(&program).args([name, "any"]));
    }
}

/// Each kind, with inner engines of one thread and of several.
const CONCURRENT: [&str; 4] = [
    "locked:engine=hybrid",
    "locked:engine=optimistic_parallel:threads=3",
    "sharded:shards=4,engine=list",
    "sharded:shards=4,engine=optimistic_parallel:threads=3",
];

#[test]
fn thread_example_runs_with_concurrent_engines() {
    if !tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&root().join("examples/c/threads.c"));
    for (name, said) in runs(&program, CONCURRENT) {
        assert!(said.contains("5 threads, 3200 messages, all as it should be"), "{name}: {said}");
    }
}

#[test]
fn threads_share_concurrent_engine() {
    if !tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&source("concurrent.c"));
    assert_eq!(runs(&program, CONCURRENT).count(), CONCURRENT.len());
}

/// Inner engines of one thread and of several, and a memory budget that causes a fallback at once or later.
const OFFLOADED: [&str; 5] = [
    "offload:engine=hybrid",
    "offload:ring=8,engine=list",
    "offload:engine=optimistic_parallel:threads=2",
    "offload:budget_kib=0,engine=hybrid",
    "offload:budget_kib=240,engine=bins",
];

#[test]
fn offload_example_runs() {
    if !tools() {
        return;
    }
    let program = Installed::get().c_with_threads(&root().join("examples/c/offload.c"));
    for (name, said) in runs(&program, OFFLOADED) {
        assert!(said.contains("3200 messages, all as it should be"), "{name}: {said}");
        assert!(said.contains("falling back") || !name.contains("budget_kib=0"), "{name}: {said}");
    }
}

#[test]
fn offload_functions_match_header() {
    if !tools() {
        return;
    }
    let program = Installed::get().c(&source("offloaded.c"));
    assert_eq!(runs(&program, OFFLOADED).count(), OFFLOADED.len());
}

/// Replaces malloc. Every C library permits this, but only glibc documents access to the replaced function.
#[cfg(target_env = "gnu")]
#[test]
fn warm_engine_does_not_allocate() {
    if !tools() {
        return;
    }
    let here = Installed::get();
    let program = here.c(&source("allocations.c"));
    for spec in REGISTRY {
        let said = stdout(here.run(&program).arg(spec.name));
        let (warming, warm) = said.trim().split_once(' ').unwrap();
        assert!(warming.parse::<u64>().unwrap() > 0, "{}: no allocation was seen at all", spec.name);
        assert_eq!(warm, "0", "{}: allocations once warm", spec.name);
    }
}

/// Sizes and offsets of fields are those of the version. A test compares the fields with the header.
#[test]
fn layouts_equal_those_of_version() {
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
    let of_version =
        [(24, 16), (16, 8), (24, 16), (40, 32), (24, 16), (216, 208), (32, 24), (16, 8), (24, 16), (24, 16)];
    for ((name, size, place), version) in layouts.into_iter().zip(of_version) {
        assert_eq!((size, place), version, "{name}");
    }
}
