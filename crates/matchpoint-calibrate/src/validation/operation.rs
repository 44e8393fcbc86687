//! An operation that the ranks execute, and that the models predict.

use super::played::Played;
use super::validated::Application;
use crate::plan::{Measurement, PostOrder};

pub struct Operation {
    pub application: Application,
    pub name: String,
    pub asked: Asked,
}

pub enum Asked {
    Exchange(Played),
    /// Algorithm 1 of the paper, between ranks 0 and 1.
    Volume(Measurement),
}

/// Attempts of a list for n messages of HighVolumePingPong. In random order, the mean.
pub fn volume_attempts(order: PostOrder, messages: u32) -> u64 {
    let n = u64::from(messages);
    match order {
        PostOrder::Equal => n,
        PostOrder::Reversed => n * (n + 1) / 2,
        PostOrder::Random => n * (n + 3) / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all orders of n messages, a list compares n (n + 3) ÷ 4 entries on average.
    #[test]
    fn volume_attempts_follow_order() {
        let of =
            [PostOrder::Equal, PostOrder::Reversed, PostOrder::Random].map(|order| volume_attempts(order, 5));
        assert_eq!(of, [5, 15, 10]);
        assert_eq!(volume_attempts(PostOrder::Random, 1), 1);
    }
}
