//! Time limits for a persistent kernel, and queries of its state during a wait.

use std::time::{Duration, Instant};

/// Time limit of a batch or of the kernel's end. Afterwards the kernel counts as failed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// Time of a batch before the first query of the driver, and between two queries.
const QUERY_INTERVAL: Duration = Duration::from_millis(10);

/// Waits for a batch until `timeout` has passed. `has_ended` queries the driver about the kernel.
pub(crate) fn wait_for_batch<E>(
    timeout: Duration,
    is_done: impl Fn() -> bool,
    mut has_ended: impl FnMut() -> Result<bool, E>,
    lost: impl Fn(&str) -> E,
) -> Result<(), E> {
    let begin = Instant::now();
    let mut asked = begin;
    while !is_done() {
        std::hint::spin_loop();
        let now = Instant::now();
        let is_late = now - begin >= timeout;
        if now - asked < QUERY_INTERVAL && !is_late {
            continue;
        }
        asked = now;
        let ended = has_ended();
        // The batch may have completed during the query.
        if is_done() {
            break;
        }
        if ended? {
            return Err(lost("the kernel has ended"));
        }
        if is_late {
            return Err(lost("the kernel does not complete the batch"));
        }
    }
    Ok(())
}

pub(crate) fn poll_until<E>(timeout: Duration, mut ask: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let begin = Instant::now();
    loop {
        if ask()? {
            return Ok(true);
        }
        if begin.elapsed() >= timeout {
            return Ok(false);
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_ends_after_timeout() {
        let mut asked = 0;
        let mut ask = |comes_at: u32| {
            asked += 1;
            Ok::<bool, ()>(asked >= comes_at)
        };
        assert_eq!(poll_until(Duration::ZERO, || ask(2)), Ok(false));
        assert_eq!(poll_until(Duration::MAX, || ask(5)), Ok(true));
        assert_eq!(poll_until(Duration::MAX, || Err::<bool, u32>(7)), Err(7));
        assert_eq!(asked, 5);
    }

    #[test]
    fn wait_continues_while_kernel_runs() {
        let lost = |why: &str| why.to_owned();
        let said = |result: Result<(), String>| result.unwrap_err();
        let failed = || Err("it is gone".to_owned());
        assert_eq!(wait_for_batch(Duration::ZERO, || true, failed, lost), Ok(()));
        assert_eq!(said(wait_for_batch(Duration::MAX, || false, failed, lost)), "it is gone");
        assert_eq!(said(wait_for_batch(Duration::MAX, || false, || Ok(true), lost)), "the kernel has ended");
        assert_eq!(
            said(wait_for_batch(Duration::ZERO, || false, || Ok(false), lost)),
            "the kernel does not complete the batch"
        );
        // The batch completes during the query, so neither the query's result nor the time limit counts.
        for says in [Ok(true), Ok(false), failed()] {
            let comes = std::cell::Cell::new(false);
            let asks = || {
                comes.set(true);
                says.clone()
            };
            assert_eq!(wait_for_batch(Duration::ZERO, || comes.get(), asks, lost), Ok(()));
        }
    }
}
