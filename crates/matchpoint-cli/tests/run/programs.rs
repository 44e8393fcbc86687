//! The C programs of `programs/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mpi::{self, Mpi};

pub fn built_from(mpi: &Mpi, source: &Path) -> PathBuf {
    let name = source.to_string_lossy().replace(['/', '.'], "-");
    mpi::build_once(place(mpi, name.trim_matches('-')), |program| {
        let mut compiler = Command::new(mpi.mpicc());
        compiler.args(["-std=gnu11", "-O1", "-w", "-pthread"]).arg(source);
        mpi::run(compiler.arg("-o").arg(program).arg("-lm"));
    })
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/run/programs/{name}.c"))
}

fn place(mpi: &Mpi, name: &str) -> PathBuf {
    mpi::scratch().join(format!("{name}-{}", mpi.name))
}

fn compile(mut compiler: Command, name: &str, options: &[&str], to: &Path) {
    compiler
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Werror"])
        .arg(source(name));
    mpi::run(compiler.arg("-o").arg(to).args(options));
}

pub fn built(mpi: &Mpi, name: &str) -> PathBuf {
    mpi::build_once(place(mpi, name), |program| compile(Command::new(mpi.mpicc()), name, &[], program))
}

/// Compiles a program with the header of this MPI library, but without the library.
pub fn built_unlinked(mpi: &Mpi, name: &str) -> PathBuf {
    let options = ["-ldl", "-Wl,--as-needed"];
    mpi::build_once(place(mpi, name), |program| compile(Command::new(mpi.mpicc()), name, &options, program))
}

pub fn built_library(mpi: &Mpi, name: &str) -> PathBuf {
    let library = place(mpi, &format!("lib{name}")).with_extension("so");
    compile(Command::new(mpi.mpicc()), name, &["-shared", "-fPIC"], &library);
    library
}

pub fn built_without_mpi(name: &str, options: &[&str]) -> PathBuf {
    let program = mpi::scratch().join(format!("{name}{}", options.concat()));
    compile(Command::new("cc"), name, options, &program);
    program
}
