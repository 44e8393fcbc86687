//! Adapter of a concurrent engine to the trait `Engine`, for one thread. The adapter does not allocate.

use matchpoint::concurrent::Concurrent;
use matchpoint::{Engine, forwarded};

pub struct Alone(pub Box<dyn Concurrent>);

impl Engine for Alone {
    forwarded!(through [0]: post_selector arrive arrive_batch probe matched_probe cancel retract readdress set_hints);
    forwarded!(through [0]: close fail_source visit posted_len unexpected_len footprint);
}
