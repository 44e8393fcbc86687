//! Launchers that are told to set `LD_PRELOAD` for the application: there is one such variable, and the recorder has to be
//! in it beside what the user wants there.

/// The variable.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// The words of a command in which the user sets the variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// With the recorder ahead of what they name.
    pub(crate) words: Vec<String>,
    /// It was by `-x`, which Open MPI's launcher may be given once for each variable.
    pub(crate) by_x: bool,
}

/// Puts the recorder ahead of what the words of a command preload: `-x LD_PRELOAD=…` (Open MPI), `-genv LD_PRELOAD …` and
/// `-env` (MPICH, Intel MPI), `--export=…,LD_PRELOAD=…` (Slurm), `env LD_PRELOAD=…`.
pub(crate) fn merge(words: &[String], recorder: &str) -> Merged {
    let assignment = format!("{PRELOAD}=");
    let mut merged = Merged { words: Vec::with_capacity(words.len()), by_x: false };
    for (at, word) in words.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| words[at].trim_start_matches('-'));
        let is_option = |back: usize| at >= back && words[at - back].starts_with('-');
        let ahead = |others: &str| {
            if others.is_empty() { recorder.to_owned() } else { format!("{recorder}:{others}") }
        };
        merged.words.push(if let Some(others) = word.strip_prefix(&assignment) {
            merged.by_x |= is_option(1) && before(1) == "x";
            format!("{assignment}{}", ahead(others))
        } else if is_option(2) && matches!(before(2), "genv" | "env") && before(1) == PRELOAD {
            ahead(word)
        } else if let (true, Some((rest, others))) =
            (word.starts_with("--export="), word.split_once(&format!(",{assignment}")))
        {
            format!("{rest},{assignment}{}", ahead(others))
        } else {
            word.clone()
        });
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(command: &str) -> (String, bool) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let merged = merge(&words, "/r.so");
        (merged.words.join(" "), merged.by_x)
    }

    #[test]
    fn what_the_user_preloads_stays_behind_the_recorder() {
        for (command, with, by_x) in [
            ("mpiexec -n 2 ./a", "mpiexec -n 2 ./a", false),
            ("mpiexec -x LD_PRELOAD=/u.so ./a", "mpiexec -x LD_PRELOAD=/r.so:/u.so ./a", true),
            ("mpiexec -x LD_PRELOAD ./a", "mpiexec -x LD_PRELOAD ./a", false),
            ("mpiexec -x LD_PRELOAD= ./a", "mpiexec -x LD_PRELOAD=/r.so ./a", true),
            ("mpiexec -genv LD_PRELOAD /u.so ./a", "mpiexec -genv LD_PRELOAD /r.so:/u.so ./a", false),
            ("mpiexec -env LD_PRELOAD /u.so ./a", "mpiexec -env LD_PRELOAD /r.so:/u.so ./a", false),
            ("mpiexec -genv LD_LIBRARY_PATH /u ./a", "mpiexec -genv LD_LIBRARY_PATH /u ./a", false),
            (
                "srun --export=ALL,LD_PRELOAD=/u.so,A=1 ./a",
                "srun --export=ALL,LD_PRELOAD=/r.so:/u.so,A=1 ./a",
                false,
            ),
            ("mpiexec -n 2 env LD_PRELOAD=/u.so ./a", "mpiexec -n 2 env LD_PRELOAD=/r.so:/u.so ./a", false),
        ] {
            assert_eq!(merged(command), (with.to_owned(), by_x), "{command}");
        }
    }
}
