//! A binary file and its text from `dumpi2ascii` contain equal calls.

use crate::traces::{REAL, calls, compare, opened, unplaced};

#[test]
fn binary_and_text_agree_call_by_call() {
    for (name, real) in REAL.iter() {
        for file in &real.texts {
            let binary = opened(&real.folder);
            let text = opened(file);
            let rank = text.present()[0];
            let (ours, theirs) = (calls(&*binary, rank), calls(&*text, rank));
            compare(&format!("{name}, rank {rank}"), &unplaced(ours), &unplaced(theirs));
        }
    }
}
