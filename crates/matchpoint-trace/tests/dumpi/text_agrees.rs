//! A binary file and its text from `dumpi2ascii` contain equal calls.

use crate::traces::{REAL, calls, opened};
use matchpoint_trace::Call;

fn without_offsets(calls: Vec<Call>) -> impl Iterator<Item = Call> {
    calls.into_iter().map(|call| Call { offset: 0, ..call })
}

#[test]
fn binary_and_text_agree_call_by_call() {
    for (name, real) in REAL.iter() {
        for file in &real.texts {
            let binary = opened(&real.folder);
            let text = opened(file);
            let rank = text.present()[0];
            let (ours, theirs) = (calls(&*binary, rank), calls(&*text, rank));
            assert_eq!(ours.len(), theirs.len(), "{name}, rank {rank}");
            for (index, (one, other)) in without_offsets(ours).zip(without_offsets(theirs)).enumerate() {
                assert_eq!(one, other, "{name}, rank {rank}, call {index}");
            }
        }
    }
}
