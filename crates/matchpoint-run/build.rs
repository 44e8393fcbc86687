//! Compiles the shim of overflow matching for MPI's standard ABI, and lists the shim's sources for all other
//! MPI libraries.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shared headers, and the header of the standard ABI.
const RECORDER: &str = "../matchpoint-record/shim";

fn main() {
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-changed={RECORDER}/common");
    println!("cargo::rerun-if-changed={RECORDER}/abi");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    carry_sources(&out);
    compile_for_standard_abi(&out);
}

fn carry_sources(out: &Path) {
    let root = Path::new("shim").canonicalize().expect("the sources are next to this file");
    let mut files = vec![];
    collect(&root, &mut files);
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).expect("it was found there");
        writeln!(table, "    ({name:?}, include_str!({file:?})),").expect("writing to a string");
    }
    table.push(']');
    fs::write(out.join("sources.rs"), table).expect("OUT_DIR is writable");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder exists").flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, files),
            path => files.push(path),
        }
    }
}

fn compile_for_standard_abi(out: &Path) {
    let tool = cc::Build::new().opt_level(2).debug(false).get_compiler();
    let mut command = Command::new(tool.path());
    command
        .args(tool.args())
        // Some compilers, such as zig cc, add debugging information by default.
        .args(["-Wl,-S", "-DMATCHPOINT_STANDARD_ABI", &format!("-I{RECORDER}/abi"), &format!("-I{RECORDER}")])
        .args(["shim/matchpoint_mpi.c", "-o"])
        .arg(out.join("standard-abi.so"))
        // Without symbols, because the command contains the library.
        .args(FLAGS)
        .arg("-s");
    let status = command.status().expect("a C compiler is needed to build Matchpoint: cc");
    assert!(status.success(), "{command:?} failed");
}

/// Compiler flags, equal to the flags in `matchpoint_record::compiler`; a test compares them.
const FLAGS: &[&str] =
    &["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--as-needed", "-lpthread", "-ldl"];
