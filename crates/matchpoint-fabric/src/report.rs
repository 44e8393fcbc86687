//! The provider's part of the report of a process.

use std::sync::Mutex;

use matchpoint_process::report::{Endpoint, or_null, quoted, rank};

use crate::library::library;
use crate::matching::Matching;
use crate::settings::settings;

/// Reasons why the core provider matches the messages of some endpoints.
static UNMATCHED: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub fn enabled(endpoint: &mut Endpoint, matching: &Matching) {
    endpoint.open(&matching.state());
    write();
}

pub fn closed(endpoint: &Endpoint, matching: &Matching) {
    endpoint.update(&matching.state(), false);
    write();
}

pub fn unmatched(why: &str) {
    UNMATCHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(why.to_owned());
    write();
}

pub fn write() {
    let version = library().version;
    let unmatched = UNMATCHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let unmatched: Vec<_> = unmatched.iter().map(|why| quoted(why)).collect();
    let core = settings().core.as_ref().map(|core| quoted(&core.to_string_lossy()));
    let members = [
        ("libfabric", format!("\"{}.{}\"", version >> 16, version & 0xFFFF)),
        ("provider", quoted(&settings().name.to_string_lossy())),
        ("core", or_null(core)),
        ("unmatched", format!("[{}]", unmatched.join(","))),
    ];
    matchpoint_process::report::write(rank(), &members);
}
