//! Repository tasks as functions. `main.rs` runs them by name, and the tests run the checks.

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

/// The Rust in the documentation, compiled and run by `cargo test`.
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
