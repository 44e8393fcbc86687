//! Launcher options: the words of a command before the application.
//!
//! Settings of the user must not be overridden, and host lists give the number of hosts. After an unknown
//! option, a word that is not a program counts as its argument.

use std::path::PathBuf;

use matchpoint_record::launcher::in_path;
use matchpoint_record::linked;

/// The relevant options of a launcher.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LauncherOptions {
    /// Variables of `-x NAME=VALUE`, `-genv NAME VALUE` or `-env NAME VALUE`.
    pub variables: Vec<(String, String)>,
    /// MCA parameters set by `--mca NAME VALUE`.
    pub mca: Vec<(String, String)>,
    /// Hosts of `-host A,B`: one element per host, without slots.
    pub hosts: Vec<String>,
    /// Host files of `-f FILE` or `--hostfile FILE`.
    pub host_files: Vec<PathBuf>,
    /// Number of nodes, such as `-N 2` of srun.
    pub nodes: Option<u64>,
    /// Number of ranks, such as `-n 8`, summed over the parts of the command between `:`.
    pub ranks: Option<u64>,
    /// A program that is missing on this host: the first word with a slash, else the first that is neither an
    /// option nor a known argument.
    pub missing: Option<String>,
}

const OPTIONS_WITH_ARGUMENT: &[&str] = &[
    "-ppn",
    "-perhost",
    "-wdir",
    "-wd",
    "-envlist",
    "-genvlist",
    "-bind-to",
    "-map-by",
    "-rank-by",
    "-launcher",
    "-launcher-exec",
    "-bootstrap",
    "-bootstrap-exec",
    "-iface",
    "-prefix",
    "-rf",
    "-rankfile",
    "-path",
    "-configfile",
    "-tune",
    "-pernode",
    "-npernode",
    "-launch-agent",
    "-output-filename",
    "-output",
    "-timeout",
    "-rr",
    "-c",
    "-p",
    "-t",
    "-A",
    "-J",
    "-o",
    "-e",
    "-q",
    "-partition",
    "-time",
    "-account",
    "-job-name",
    "-mpi",
    "-cpus-per-task",
    "-ntasks-per-node",
    "-gpus",
    "-qos",
];

impl LauncherOptions {
    /// Parses a command of `mpiexec`, `mpirun`, `srun` or a similar launcher. The first word is the launcher.
    pub fn of(command: &[String]) -> LauncherOptions {
        // A program without a launcher has no launcher options.
        if command.first().is_some_and(|first| linked::application(std::slice::from_ref(first)).is_some()) {
            return LauncherOptions { ranks: Some(1), ..LauncherOptions::default() };
        }
        let mut options = LauncherOptions::default();
        let is_srun = command.first().is_some_and(|name| name.rsplit('/').next() == Some("srun"));
        let mut rest = command.iter().skip(1).map(String::as_str);
        let (mut has_program, mut unknown) = (false, Vec::new());
        while let Some(word) = rest.next() {
            if !word.starts_with('-') {
                // The application. After `:`, launcher options follow again.
                if in_path(word).is_none() {
                    unknown.push(word);
                } else {
                    has_program = true;
                    let _ = rest.by_ref().find(|word| *word == ":");
                }
                continue;
            }
            options.read_option(word, is_srun, &mut rest);
        }
        if !has_program {
            let path = unknown.iter().find(|word| word.contains('/'));
            options.missing = path.or(unknown.first()).map(|&word| word.to_owned());
        }
        options
    }

    fn read_option<'a>(&mut self, word: &'a str, is_srun: bool, rest: &mut impl Iterator<Item = &'a str>) {
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        // Hydra and Open MPI accept one or two dashes.
        let name = if name.starts_with("--") { &name[1..] } else { name };
        let mut next = || inline.or_else(|| rest.next()).unwrap_or_default();
        match name {
            "-n" | "-np" | "-ntasks" => {
                let count = next().parse().unwrap_or(0);
                self.ranks = Some(self.ranks.unwrap_or(0) + count);
            }
            "-N" | "-nodes" if is_srun => {
                let most = next().rsplit('-').next().and_then(|most| most.parse().ok());
                self.nodes = most.or(self.nodes);
            }
            "-N" | "-nodes" => drop(next().to_owned()),
            "-f" | "-machinefile" | "-hostfile" | "-machine" => self.host_files.push(PathBuf::from(next())),
            "-host" | "-hosts" | "-H" | "-w" | "-nodelist" => self.hosts.extend(hosts_in_list(next())),
            "-x" => self.variables.extend(split_assignment(next())),
            "-genv" | "-env" => {
                let first = next().to_owned();
                match split_assignment(&first) {
                    Some(pair) => self.variables.push(pair),
                    None => self.variables.push((first, rest.next().unwrap_or_default().to_owned())),
                }
            }
            "-mca" | "-omca" | "-gmca" | "-prtemca" | "-pmixmca" => {
                let key = next().to_owned();
                self.mca.push((key, rest.next().unwrap_or_default().to_owned()));
            }
            _ if OPTIONS_WITH_ARGUMENT.contains(&name) => drop(next().to_owned()),
            _ => {}
        }
    }
}

fn split_assignment(pair: &str) -> Option<(String, String)> {
    pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// `a:4,b` gives a and b; `n[1-4]` gives more than one host, with inexact names.
fn hosts_in_list(list: &str) -> Vec<String> {
    if let Some((name, numbers)) = list.split_once('[') {
        let numbers = numbers.split(']').next().unwrap_or_default();
        return numbers.split([',', '-']).map(|number| format!("{name}{number}")).collect();
    }
    let hosts = list.split(',').filter(|host| !host.is_empty());
    hosts.map(|host| host.split(':').next().unwrap_or(host).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(line: &str) -> LauncherOptions {
        LauncherOptions::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn application_options_are_ignored() {
        let found = options_of("mpiexec -n 4 sh -n 9 --hostfile x --mca pml ob1");
        assert_eq!(found, LauncherOptions { ranks: Some(4), ..LauncherOptions::default() });
    }

    #[test]
    fn several_programs_add_ranks() {
        let found = options_of("mpiexec -n 4 sh -c 1 : -n 2 -host b sh");
        assert_eq!((found.ranks, found.hosts), (Some(6), vec!["b".to_owned()]));
    }

    #[test]
    fn hydra_and_open_mpi_options_are_parsed() {
        let found =
            options_of("mpirun --mca pml cm -x FI_PROVIDER=tcp -x HOME --host a:2,b --bind-to core -np 3 sh");
        assert_eq!(found.mca, [("pml".to_owned(), "cm".to_owned())]);
        assert_eq!(found.variables, [("FI_PROVIDER".to_owned(), "tcp".to_owned())]);
        assert_eq!((found.hosts.len(), found.ranks), (2, Some(3)));
        let found = options_of("mpiexec.hydra -genv FI_PROVIDER tcp -env A=B -f hosts.txt -ppn 2 -n 3 sh");
        assert_eq!(found.variables.len(), 2);
        assert_eq!(found.variables[0], ("FI_PROVIDER".to_owned(), "tcp".to_owned()));
        assert_eq!(found.host_files, [PathBuf::from("hosts.txt")]);
        // An agent that launches daemons is a program, but not the application.
        for option in ["-launcher-exec", "-bootstrap-exec", "--launch-agent"] {
            assert_eq!(options_of(&format!("mpiexec {option} /bin/sh -hosts a,b -n 2 sh")).hosts.len(), 2);
        }
    }

    #[test]
    fn missing_program_is_named() {
        let missing = |line: &str| options_of(line).missing;
        assert_eq!(missing("mpiexec -n 2 ./no-such -v"), Some("./no-such".to_owned()));
        assert_eq!(missing("mpiexec --unknown 3 -n 2 ./no-such a"), Some("./no-such".to_owned()));
        assert_eq!(missing("mpiexec -n 2 no-such a"), Some("no-such".to_owned()));
        assert_eq!(missing("mpiexec -n 2 sh ./no-such"), None);
        assert_eq!(missing("mpiexec"), None);
    }

    #[test]
    fn nodes_are_a_number_for_srun_only() {
        assert_eq!(options_of("srun -N 1-2 -n 4 sh").nodes, Some(2));
        assert_eq!(options_of("srun --nodes=3 -n 4 sh").nodes, Some(3));
        assert_eq!(options_of("mpirun -N 2 sh").nodes, None);
        assert_eq!(options_of("srun -w n[1-4] sh").hosts.len(), 2);
    }
}
