//! Common parts of the tasks that measure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::Failure;
use crate::repository::root;

/// Where a task writes its record.
#[derive(clap::Args)]
pub struct Destination {
    /// Name of the record: a word for the machine.
    #[arg(long, default_value = "host")]
    name: String,
    /// Folder of the records.
    #[arg(long, default_value = "benchmarks/records")]
    records: PathBuf,
}

impl Destination {
    /// Writes `DATE-KIND-NAME.json`: the results with date, commit and host.
    pub fn write(&self, kind: &str, mut results: Value) -> Result<(), Failure> {
        let date = output_text(Command::new("date").args(["-u", "+%Y-%m-%d"]));
        results["date"] = json!(date);
        results["commit"] = commit();
        results["host"] = host();
        let folder = root().join(&self.records);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{date}-{kind}-{}.json", self.name));
        fs::write(&path, format!("{results:#}\n"))?;
        println!("\nwrote {}", path.display());
        Ok(())
    }
}

pub fn build_command() -> Result<PathBuf, Failure> {
    build(&["--package", "matchpoint-cli"])
}

/// Builds the library of overflow matching, which `matchpoint run` loads.
pub fn build_overflow_core() -> Result<(), Failure> {
    let arguments = ["build", "--release", "--locked", "--package", "matchpoint-overflow"];
    let status = Command::new("cargo").args(arguments).current_dir(root()).status()?;
    if status.success() { Ok(()) } else { Err("the core of overflow matching cannot be built".into()) }
}

/// Builds one executable in release mode. Returns its path.
pub fn build(what: &[&str]) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--message-format", "json"]).args(what);
    let output = command.current_dir(root()).stderr(Stdio::inherit()).output()?;
    let messages = String::from_utf8(output.stdout)?;
    let mut executables = messages.lines().filter_map(|line| {
        serde_json::from_str::<Value>(line).ok()?["executable"].as_str().map(PathBuf::from)
    });
    executables.next_back().ok_or_else(|| format!("cargo built no executable of {what:?}").into())
}

/// The folder with compiler and launcher of an MPI library of `scripts/mpi`.
pub fn mpi_folder(library: &str) -> Result<PathBuf, Failure> {
    let output = Command::new(root().join("scripts/mpi")).arg(library).stderr(Stdio::inherit()).output()?;
    match String::from_utf8(output.stdout)?.trim() {
        "" => Err(format!("scripts/mpi {library} failed").into()),
        folder => Ok(PathBuf::from(folder)),
    }
}

/// Compiles a program of the repository with the compiler of an MPI library.
pub fn compile(folder: &Path, source: &str, program: &Path) -> Result<(), Failure> {
    let mut compiler = Command::new(folder.join("mpicc"));
    let status = compiler.args(["-O2", "-o"]).arg(program).arg(root().join(source)).status()?;
    if status.success() { Ok(()) } else { Err(format!("{compiler:?}: {status}").into()) }
}

pub fn load_average() -> String {
    output_text(Command::new("cut").args(["-d", " ", "-f", "1", "/proc/loadavg"]))
}

/// Output of a command. Empty after a failure.
pub fn output_text(command: &mut Command) -> String {
    let output = command.current_dir(root()).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

fn commit() -> Value {
    let changed = output_text(Command::new("git").args(["status", "--porcelain"]));
    json!({
        "id": output_text(Command::new("git").args(["rev-parse", "HEAD"])),
        "changed_files": changed.lines().count(),
    })
}

fn host() -> Value {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    json!({
        "processor": value(&processors, "model name"),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "memory": value(&memory, "MemTotal"),
        "kernel": output_text(Command::new("uname").arg("-sr")),
        "rust": output_text(Command::new("rustc").arg("--version")),
    })
}
