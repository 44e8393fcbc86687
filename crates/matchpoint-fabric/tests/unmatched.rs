//! A core provider without peer receive queues matches messages itself.
#![allow(unsafe_code)]

#[path = "all/mock/mod.rs"]
mod mock;

use mock::talk::{endpoints, exchange_addresses, read_contexts, receive, send};

#[test]
fn refusing_core_matches_and_report_has_reason() {
    let folder = std::env::temp_dir().join(format!("matchpoint-unmatched-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder of this test");
    // SAFETY: this process has only this test.
    unsafe { std::env::set_var("MATCHPOINT_REPORT", &folder) };
    let all = endpoints(2, false);
    let (to, from) = exchange_addresses(&all[0], &all[1]);
    let mut room = [0; 8];
    receive(&all[1], from, (5, 0), &mut room, 21);
    send(&all[0], to, 5, &[7; 8], 11);
    assert_eq!(
        (read_contexts(&all[1], 100), read_contexts(&all[0], 100), room),
        (vec![21], vec![11], [7; 8])
    );
    let file = std::fs::read_dir(&folder).unwrap().next().expect("a report").unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let why = "\"the core provider has no shared receive queues\"";
    assert!(text.contains(&format!("\"unmatched\":[{why},{why}],\"endpoints\":[]")), "{text}");
}
