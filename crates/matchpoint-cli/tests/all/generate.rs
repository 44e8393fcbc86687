//! Tests of manual pages and completions.

use std::fs;
use std::path::Path;
use std::process::Command;

use matchpoint_cli::cli::visible;
use tempfile::{TempDir, tempdir};

use crate::ran::{CommandOutput, matchpoint};

fn generated() -> TempDir {
    let prefix = tempdir().unwrap();
    matchpoint(["generate".as_ref(), prefix.path()]).succeed();
    prefix
}

fn check_pages(command: &clap::Command, name: &str, folder: &Path) -> usize {
    let page = fs::read_to_string(folder.join(format!("{name}.1"))).unwrap().replace("\\-", "-");
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        if let Some(long) = option.get_long() {
            assert!(page.contains(&format!("--{long}\\f")), "{name}: --{long}");
        }
    }
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let command_line = examples.lines().map(str::trim).find(|line| line.starts_with("matchpoint "));
        assert!(page.contains(command_line.unwrap()), "{name}");
    }
    let subcommands = command.get_subcommands();
    1 + subcommands.map(|sub| check_pages(sub, &format!("{name}-{}", sub.get_name()), folder)).sum::<usize>()
}

#[test]
fn pages_have_options_and_examples() {
    let prefix = generated();
    let folder = prefix.path().join("share/man/man1");
    let pages = check_pages(&visible(), "matchpoint", &folder);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), pages);
    assert!(pages > 11 && !folder.join("matchpoint-ask-libfabric.1").exists());
}

fn offered_by_bash(script: &Path, words: &[&str]) -> Vec<String> {
    let program = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                   _matchpoint matchpoint \"${!#}\" \"${COMP_WORDS[$# - 2]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let ran = CommandOutput::of(bash.args(["-c", program, "bash"]).arg(script).args(words)).succeed();
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    let prefix = generated();
    let script = prefix.path().join("share/bash-completion/completions/matchpoint");
    assert_eq!(offered_by_bash(&script, &["matchpoint", "an"]), ["analyze"]);
    assert_eq!(offered_by_bash(&script, &["matchpoint", "analyze", "--ht"]), ["--html"]);
    let all = offered_by_bash(&script, &["matchpoint", ""]);
    let commands = visible();
    let listed = commands.get_subcommands().all(|command| all.iter().any(|word| word == command.get_name()));
    assert!(listed && !all.iter().any(|word| word == "ask-libfabric"), "{all:?}");
}

#[test]
fn zsh_and_fish_files_name_commands() {
    let prefix = generated();
    for file in ["share/zsh/site-functions/_matchpoint", "share/fish/vendor_completions.d/matchpoint.fish"] {
        let script = fs::read_to_string(prefix.path().join(file)).unwrap();
        for command in visible().get_subcommands() {
            assert!(script.contains(command.get_name()), "{file}: {}", command.get_name());
        }
        assert!(!script.contains("ask-libfabric"), "{file}");
    }
}

#[test]
fn unwritable_prefix_is_reported() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = matchpoint(["generate".as_ref(), file.path()]).exit(1);
    assert!(output.reports("\nhint: ").stderr.starts_with("error: cannot write '"), "{output}");
}
