//! The checks of `cargo xtask tidy`, as tests.

use xtask::tidy;

#[test]
fn repository_has_no_complaints() {
    let complaints = tidy::complaints().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
