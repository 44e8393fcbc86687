//! The checks of `cargo xtask tidy`, as tests.

use xtask::{repository, tidy};

fn pass(name: &str) {
    let check = tidy::CHECKS.iter().find(|check| check.name == name).expect("a check has that name");
    let complaints = (check.complaints)(&repository::files().unwrap()).unwrap();
    assert!(complaints.is_empty(), "{name}:\n{}", complaints.join("\n"));
}

#[test]
fn import_table_equals_manifests() {
    pass("imports as ARCHITECTURE.md says");
}

#[test]
fn code_map_lists_existing_files() {
    pass("the code map is of what is there");
}

#[test]
fn unsafe_code_is_where_listed() {
    pass("unsafe only where ARCHITECTURE.md says");
}

#[test]
fn libraries_do_not_print() {
    pass("only the commands print or exit");
}

#[test]
fn crates_have_descriptions() {
    pass("every crate says what it is for");
}

#[test]
fn links_have_targets() {
    pass("links lead somewhere");
}

#[test]
fn repository_has_no_complaints() {
    let complaints = tidy::complaints().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
