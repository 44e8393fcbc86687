//! Tests of the provider, in one program.
#![allow(unsafe_code)]

mod abi;
mod application;
mod endpoints;
mod late_sources;
mod mock;
mod oracle;
mod streams;
mod untagged;
