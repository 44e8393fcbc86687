//! Arbitrary bytes as a DUMPI file, and as text of `dumpi2ascii`: the result is calls or an error. Memory is
//! proportional to the bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matchpoint_trace::readers::dumpi::{read_bytes, text};
use matchpoint_trace::{Call, RankReader};

fn drain(mut stream: impl RankReader, bytes: usize) {
    let mut call = Call::default();
    while stream.read(&mut call).unwrap_or(false) {
        let held = call.requests.capacity() + call.completions.capacity() + call.integers.capacity();
        assert!(held <= 64 + 4 * bytes, "{held} elements from {bytes} bytes");
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(stream) = read_bytes(bytes) {
        drain(stream, bytes.len());
    }
    drain(text::read(bytes), bytes.len());
});
