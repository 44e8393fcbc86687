//! Options of `matchpoint generate`.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};

use super::Cli;

#[derive(Args, Debug)]
pub struct Generate {
    /// Folder of the installation, such as /usr/local; files are written below its folder share
    pub prefix: PathBuf,
}

/// The command without hidden subcommands, which completions would contain.
pub fn visible() -> Command {
    let whole = Cli::command();
    let listed = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut visible = Command::new("matchpoint").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    visible = visible.subcommands(listed).disable_help_subcommand(true);
    if let Some(about) = whole.get_about() {
        visible = visible.about(about.clone());
    }
    if let Some(text) = whole.get_after_help() {
        visible = visible.after_help(text.clone());
    }
    visible
}
