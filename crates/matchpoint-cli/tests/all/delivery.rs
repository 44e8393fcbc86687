//! Report files are complete or absent.

use std::fs;
use std::path::Path;

use clap::Parser;
use matchpoint_cli::cli::{Analyze, Cli, Command};
use matchpoint_cli::delivery::Delivery;
use matchpoint_cli::report::Report;
use matchpoint_cli::report::csv::TABLES;
use tempfile::tempdir;

use crate::synthetic;

fn arguments(folder: &Path) -> Analyze {
    let path = |name: &str| folder.join(name).display().to_string();
    let (json, html, csv) = (path("out.json"), path("out.html"), path("tables"));
    let line =
        ["matchpoint", "analyze", "x", "--engine=list", "--json", &json, "--html", &html, "--csv", &csv];
    match Cli::parse_from(line).command {
        Command::Analyze(arguments) => arguments,
        _ => unreachable!("the line has `analyze`"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn delivery_keeps_unrelated_files() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("out.json"), "old").unwrap();
    fs::create_dir(folder.path().join("tables")).unwrap();
    fs::write(folder.path().join("tables/mine.txt"), "mine").unwrap();
    let measurements = synthetic::run(8);
    let mut delivery = Delivery::prepare(&arguments(folder.path())).unwrap();
    delivery.fill(&Report::new(&measurements)).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("out.json")).unwrap(), "old");
    delivery.finish("").unwrap();
    assert_eq!(names(folder.path()), ["out.html", "out.json", "tables"]);
    assert_eq!(names(&folder.path().join("tables")).len(), TABLES.len() + 1);
    assert!(fs::read_to_string(folder.path().join("out.json")).unwrap().contains("\"schema\": 1"));
}

#[test]
fn uncommitted_files_do_not_exist() {
    let folder = tempdir().unwrap();
    let measurements = synthetic::run(8);
    let mut delivery = Delivery::prepare(&arguments(folder.path())).unwrap();
    delivery.fill(&Report::new(&measurements)).unwrap();
    drop(delivery);
    assert!(names(folder.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn device_is_written_not_replaced() {
    let folder = tempdir().unwrap();
    let mut arguments = arguments(folder.path());
    (arguments.json, arguments.html, arguments.csv) = (Some("/dev/null".into()), None, None);
    let measurements = synthetic::run(8);
    let mut delivery = Delivery::prepare(&arguments).unwrap();
    delivery.fill(&Report::new(&measurements)).unwrap();
    delivery.finish("").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
