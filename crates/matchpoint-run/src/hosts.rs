//! The hosts of a job. A job on one host can use shared memory; a job on several hosts needs a shared folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::launcher_options::LauncherOptions;

/// As far as known before the job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// Maximum number.
    pub count: u64,
    /// The job runs on this host only.
    pub here: bool,
    /// Source of the number: `-host names 2 hosts`.
    pub why: String,
}

/// Host files of an allocation, one host per line.
const FILES: &[&str] = &[
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
    "OAR_NODEFILE",
];
/// Host files in Open MPI's MCA parameters.
const MCA_FILES: &[&str] = &["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
/// Numbers of hosts in an allocation.
const NUMBERS: &[&str] = &["SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "FLUX_JOB_NNODES"];

impl Hosts {
    /// The command takes precedence over the batch system. Without a host list and a batch system, launchers
    /// start processes on this host.
    pub fn of(options: &LauncherOptions, variable: impl Fn(&str) -> Option<String>) -> Hosts {
        if let Some(count) = options.nodes {
            return Hosts { count, here: false, why: format!("srun is asked for {}", hosts_text(count)) };
        }
        if !options.hosts.is_empty() {
            return hosts_of_names(&options.hosts.iter().cloned().collect(), "the command names");
        }
        if let Some(file) = options.host_files.first() {
            return hosts_of_file(file, &file.display().to_string());
        }
        let number = |name: &str| variable(name)?.parse::<u64>().ok();
        if let Some((name, count)) = NUMBERS.iter().find_map(|name| Some((name, number(name)?))) {
            return Hosts { count, here: false, why: format!("{name} is {count}") };
        }
        let file = |name: &str| variable(name).filter(|file| !file.is_empty());
        if let Some((name, file)) = FILES.iter().chain(MCA_FILES).find_map(|name| Some((name, file(name)?))) {
            return hosts_of_file(Path::new(&file), &format!("{name} ({file})"));
        }
        if let Some(pairs) = variable("LSB_MCPU_HOSTS") {
            let names = pairs.split_whitespace().step_by(2).map(str::to_owned).collect();
            return hosts_of_names(&names, "LSB_MCPU_HOSTS names");
        }
        Hosts { count: 1, here: true, why: "the command names no hosts".to_owned() }
    }

    /// True if all processes share memory.
    pub fn is_one(&self) -> bool {
        self.count <= 1
    }
}

fn hosts_of_names(names: &BTreeSet<String>, source: &str) -> Hosts {
    let count = names.len().max(1) as u64;
    let here = count == 1 && names.iter().all(|name| is_here(name));
    Hosts { count, here, why: format!("{source} {}", hosts_text(count)) }
}

fn hosts_of_file(file: &Path, source: &str) -> Hosts {
    let Ok(text) = fs::read_to_string(file) else {
        // The launcher will report the unreadable file.
        return Hosts { count: 2, here: false, why: format!("{source} cannot be read") };
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let first = lines.filter_map(|line| line.split_whitespace().next());
    let names = first.map(|word| word.split(':').next().unwrap_or(word).to_owned()).collect();
    hosts_of_names(&names, &format!("{source} names"))
}

fn is_here(name: &str) -> bool {
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    name == "localhost" || name == "127.0.0.1" || short(name) == short(own.trim())
}

fn hosts_text(count: u64) -> String {
    if count == 1 { "one host".to_owned() } else { format!("{count} hosts") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, set: &[(&str, &str)]) -> Hosts {
        let options = LauncherOptions::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let set: Vec<(String, String)> =
            set.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Hosts::of(&options, |name| Some(set.iter().find(|(set, _)| set == name)?.1.clone()))
    }

    #[test]
    fn plain_command_uses_this_host() {
        let found = of("mpiexec -n 4 sh", &[]);
        assert!(found.here && found.is_one(), "{found:?}");
        assert!(of("mpiexec -host localhost:4 sh", &[]).here);
    }

    #[test]
    fn host_lists_are_counted() {
        assert_eq!(of("mpiexec -hosts a,b:3,a sh", &[]).count, 2);
        let elsewhere = of("mpiexec -hosts no-such-host sh", &[]);
        assert!(elsewhere.is_one() && !elsewhere.here, "{elsewhere:?}");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "# two\na slots=4\nb:4\n\na\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(of(&format!("mpiexec -f {path} sh"), &[]).count, 2);
        assert_eq!(of("mpiexec sh", &[("PBS_NODEFILE", path)]).count, 2);
    }

    #[test]
    fn command_overrides_hosts_of_batch_system() {
        assert_eq!(of("srun sh", &[("SLURM_NNODES", "16")]).count, 16);
        assert_eq!(of("srun -N 1 sh", &[("SLURM_NNODES", "16")]).count, 1);
        assert!(of("mpirun --host localhost sh", &[("SLURM_NNODES", "16")]).here);
        assert_eq!(of("mpirun sh", &[("LSB_MCPU_HOSTS", "a 4 b 4")]).count, 2);
    }
}
