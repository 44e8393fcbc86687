//! Arbitrary bytes as a file of the native format: the result is calls or an error. The same bytes also
//! become the calls of a block with a valid checksum, which random bytes never have, with the writer's
//! functions by index.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matchpoint_trace::native::block::{block, kind};
use matchpoint_trace::native::{Settings, Writer};
use matchpoint_trace::readers::native::read_bytes;
use matchpoint_trace::{Call, RankReader};

fn drain(bytes: &[u8]) {
    let Ok(mut stream) = read_bytes(bytes) else { return };
    let mut call = Call::default();
    while stream.read(&mut call).unwrap_or(false) {
        // Members are counted, not listed one by one: a world of 64 has few members.
        let held = call.requests.capacity() + call.completions.capacity();
        assert!(held <= 64 + 4 * bytes.len(), "{held} elements from {} bytes", bytes.len());
        assert!(call.integers.capacity() <= 1 << 14);
    }
}

fuzz_target!(|bytes: &[u8]| {
    drain(bytes);
    let settings = Settings { level: 0, ..Settings::of(0, 64) };
    let Ok(writer) = Writer::new(Vec::new(), settings) else { return };
    let Ok(mut file) = writer.finish("exit") else { return };
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for (thread, kind, content) in [(0, kind::CALLS, first), (1, kind::CALLS_THEN_TIMES, second)] {
        let calls = (content.len() / 3).min(1) as u64;
        file.extend(block(kind, thread, calls, &[&[0; 8], content].concat(), 0).unwrap_or_default());
    }
    drain(&file);
});
