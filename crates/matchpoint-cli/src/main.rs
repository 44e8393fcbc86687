//! The `matchpoint` command.
fn main() {}
