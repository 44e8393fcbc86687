//! Installs the library as a user does, and compiles programs with the installed files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::left_out::leave_out;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folder to which `scripts/install` installed the library, once for all tests of a program.
pub struct Installed {
    prefix: PathBuf,
    pub scratch: PathBuf,
}

/// Runs a command. Panics if the command fails.
pub fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    output
}

/// Runs a command, and returns its standard output. Panics if the command fails.
pub fn stdout(command: &mut Command) -> String {
    String::from_utf8(output(command).stdout).unwrap()
}

/// Returns true if a tool is installed. Otherwise reports that the test is left out.
pub fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        leave_out(&format!("no {tool}"), "`scripts/setup`");
    }
    found
}

/// Cargo's folder with the built library.
pub fn built() -> PathBuf {
    let program = env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().to_owned()
}

impl Installed {
    /// Installs the library. Builds it first unless `scripts/test` did, because Cargo builds no C library for
    /// tests of its package.
    pub fn get() -> &'static Installed {
        static INSTALLED: OnceLock<Installed> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            let built = built();
            let mut cargo = Command::new(env!("CARGO"));
            cargo.current_dir(root()).args(["build", "--locked", "--quiet", "--package=matchpoint-capi"]);
            cargo.arg("--target-dir").arg(built.parent().unwrap());
            if built.ends_with("release") {
                cargo.arg("--release");
            }
            if env::var_os("MATCHPOINT_LIBRARIES_BUILT").is_none() {
                output(&mut cargo);
            }
            // Cargo's folder for files of tests. The next run overwrites the files.
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libmatchpoint");
            let (prefix, scratch) = (folder.join("prefix"), folder.join("scratch"));
            std::fs::create_dir_all(&scratch).unwrap();
            let mut install = Command::new(root().join("scripts/install"));
            output(install.arg("--library-only").arg("--prefix").arg(&prefix).arg("--built").arg(&built));
            Installed { prefix, scratch }
        })
    }

    /// Returns the words that pkg-config prints with these options.
    pub fn flags(&self, options: &[&str]) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig")).args(options).arg("matchpoint");
        stdout(&mut command).split_whitespace().map(str::to_owned).collect()
    }

    fn compile(
        &self,
        compiler: &str,
        standard: &str,
        source: &Path,
        name: &str,
        libraries: &[String],
    ) -> PathBuf {
        let program = self.scratch.join(name);
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]).arg(source);
        command.args(self.flags(&["--cflags"])).args(libraries).arg("-o").arg(&program);
        output(&mut command);
        program
    }

    /// Compiles a C program against the shared library. Warnings are errors.
    pub fn c(&self, source: &Path) -> PathBuf {
        let name = source.file_stem().unwrap().to_str().unwrap();
        self.compile("cc", "-std=c99", source, name, &self.flags(&["--libs"]))
    }

    pub fn c_with_threads(&self, source: &Path) -> PathBuf {
        let name = source.file_stem().unwrap().to_str().unwrap();
        let libraries = [&["-pthread".to_owned()][..], &self.flags(&["--libs"])].concat();
        self.compile("cc", "-std=c99", source, name, &libraries)
    }

    /// Compiles against the static library with the command line of the manual that has `--static`.
    pub fn c_static(&self, source: &Path) -> PathBuf {
        let manual = std::fs::read_to_string(root().join("docs/reference/c.md")).unwrap();
        let line = manual.lines().find(|line| line.starts_with("cc ") && line.contains("--static"));
        let line = line.expect("docs/reference/c.md has a command line with --static");
        let program = self.scratch.join("static");
        let line = line.replace("program.c", &source.display().to_string());
        let line = line.replace("-o program", &format!("-o {}", program.display()));
        let mut shell = Command::new("sh");
        output(shell.args(["-c", &line]).env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig")));
        program
    }

    pub fn library(&self, name: &str) -> PathBuf {
        self.prefix.join("lib").join(name)
    }

    pub fn cpp(&self, source: &Path) -> PathBuf {
        self.compile("c++", "-std=c++17", source, "cpp", &self.flags(&["--libs"]))
    }

    /// Returns a command that runs a program with the installed library.
    pub fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
        command.env("DYLD_LIBRARY_PATH", self.prefix.join("lib"));
        command
    }
}
