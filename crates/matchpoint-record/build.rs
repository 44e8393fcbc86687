//! Build script: compiles the recorder for MPI's standard binary interface, and embeds its sources for all
//! other libraries.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    write_source_tables(&out);
    compile_for_standard_abi(&out);
}

/// Writes tables of file names and contents.
fn write_source_tables(out: &Path) {
    let root = Path::new("shim").canonicalize().expect("shim/ is next to build.rs");
    let mut files = vec![];
    collect_files(&root, &mut files);
    files.sort();
    let (common, own): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.starts_with(root.join("common")));
    for (table, files) in [("common.rs", common), ("sources.rs", own)] {
        let mut text = String::from("&[\n");
        for file in files {
            let name = file.strip_prefix(&root).expect("the file is in shim/");
            writeln!(text, "    ({:?}, include_str!({:?})),", name, file).expect("writing to a string");
        }
        text.push(']');
        fs::write(out.join(table), text).expect("OUT_DIR is writable");
    }
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder exists").flatten() {
        match entry.path() {
            // Other compilations use the header of the MPI library.
            path if path.ends_with("abi") => {}
            path if path.is_dir() => collect_files(&path, files),
            path => files.push(path),
        }
    }
}

fn compile_for_standard_abi(out: &Path) {
    let tool = cc::Build::new().opt_level(2).debug(false).get_compiler();
    let library = out.join("standard-abi.so");
    let mut command = Command::new(tool.path());
    command
        .args(tool.args())
        // Some compilers, such as zig cc, add debugging information by default.
        .args(["-Wl,-S", "-DMATCHPOINT_STANDARD_ABI", "-Ishim/abi", "shim/matchpoint_record.c", "-o"])
        .arg(&library);
    // Without symbols, which take 2 MB with zig's compiler.
    command.args(FLAGS).arg("-s");
    let status = command.status().expect("a C compiler is needed to build Matchpoint: cc");
    assert!(status.success(), "{command:?} failed");
}

/// The flags of `src/compiler.rs`, as a test checks.
const FLAGS: &[&str] =
    &["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--as-needed", "-lpthread", "-ldl"];
