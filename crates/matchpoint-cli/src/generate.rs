//! `matchpoint generate`: writes manual pages and shell completions, for installations and packages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Generate, visible};
use crate::failure::Failure;

const COMPLETIONS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions", "matchpoint"),
    (Shell::Zsh, "share/zsh/site-functions", "_matchpoint"),
    (Shell::Fish, "share/fish/vendor_completions.d", "matchpoint.fish"),
];
const PAGES: &str = "share/man/man1";

pub fn run(arguments: &Generate) -> Result<(), Failure> {
    let mut command = visible();
    command.build();
    let prefix = &arguments.prefix;
    write_pages(&command, folder(&prefix.join(PAGES))?)?;
    for (shell, path, name) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut visible(), "matchpoint", &mut text);
        write(&folder(&prefix.join(path))?.join(name), &text)?;
    }
    Ok(())
}

fn folder(path: &Path) -> Result<&Path, Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::writing(path, &error))?;
    Ok(path)
}

fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::writing(path, &error))
}

fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    for subcommand in command.get_subcommands() {
        write_pages(subcommand, folder)?;
    }
    let source = concat!("Matchpoint ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).source(source).manual("Matchpoint manual");
    let mut text = Vec::new();
    render(&page, command, &mut text)?;
    write(&folder.join(page.get_filename()), &text)
}

/// `Man::render` would join the lines of an example.
fn render(page: &Man, command: &Command, out: &mut dyn Write) -> io::Result<()> {
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(out)?;
    }
    if let Some(examples) = command.get_after_help() {
        let mut section = Roff::default();
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.to_string().lines() {
            section.text([roman(line)]);
        }
        section.control("fi", []).to_writer(out)?;
    }
    Ok(())
}
