//! Repository tasks. `main.rs` runs the tasks by name, and the tests run the checks.

#![allow(missing_docs)] // Internal: items with a clear name need no documentation.

pub mod amplify;
pub mod bench;
pub mod book;
pub mod engines;
pub mod instructions;
pub mod licenses;
pub mod measurement;
pub mod notices;
pub mod record;
pub mod repository;
pub mod run;
pub mod tidy;
pub mod truth;

pub type Failure = Box<dyn std::error::Error>;

/// `cargo test` compiles and runs the Rust code of the documentation.
#[cfg(doctest)]
mod documentation {
    macro_rules! pages {
        ($($name:ident: $path:literal,)*) => { $(#[doc = include_str!(concat!("../../", $path))] struct $name;)* };
    }
    pages! {
        Readme: "README.md",
        Contributing: "CONTRIBUTING.md",
        Contract: "docs/reference/contract.md",
        Engines: "docs/reference/engines.md",
        Traces: "docs/reference/traces.md",
    }
}
