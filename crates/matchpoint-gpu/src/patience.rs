//! Time limits for a persistent kernel, and queries of its state during a wait.

use std::time::{Duration, Instant};

/// Time limit of a batch or of the kernel's end. After it, the kernel counts as failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Time of a batch before the first query of the driver, and between two queries.
const DOUBT: Duration = Duration::from_millis(10);

/// Waits for a batch until `patience` has passed. `has_ended` asks the driver about the kernel; it returns an
/// error if the driver reports a failure.
pub(crate) fn answered<E>(
    patience: Duration,
    is_done: impl Fn() -> bool,
    mut has_ended: impl FnMut() -> Result<bool, E>,
    lost: impl Fn(&str) -> E,
) -> Result<(), E> {
    let begin = Instant::now();
    let mut asked = begin;
    while !is_done() {
        std::hint::spin_loop();
        let now = Instant::now();
        let is_late = now - begin >= patience;
        if now - asked < DOUBT && !is_late {
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
            return Err(lost("the kernel does not answer"));
        }
    }
    Ok(())
}

/// Polls until `ask` returns true or `patience` has passed.
pub(crate) fn has_come<E>(patience: Duration, mut ask: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let begin = Instant::now();
    loop {
        if ask()? {
            return Ok(true);
        }
        if begin.elapsed() >= patience {
            return Ok(false);
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_comes_is_not_waited_for() {
        let mut asked = 0;
        let mut ask = |comes_at: u32| {
            asked += 1;
            Ok::<bool, ()>(asked >= comes_at)
        };
        assert_eq!(has_come(Duration::ZERO, || ask(2)), Ok(false));
        assert_eq!(has_come(Duration::MAX, || ask(5)), Ok(true));
        assert_eq!(has_come(Duration::MAX, || Err::<bool, u32>(7)), Err(7));
        assert_eq!(asked, 5);
    }

    #[test]
    fn running_kernel_is_waited_for() {
        let lost = |why: &str| why.to_owned();
        let said = |answered: Result<(), String>| answered.unwrap_err();
        let failed = || Err("it is gone".to_owned());
        assert_eq!(answered(Duration::ZERO, || true, failed, lost), Ok(()));
        assert_eq!(said(answered(Duration::MAX, || false, failed, lost)), "it is gone");
        assert_eq!(said(answered(Duration::MAX, || false, || Ok(true), lost)), "the kernel has ended");
        assert_eq!(
            said(answered(Duration::ZERO, || false, || Ok(false), lost)),
            "the kernel does not answer"
        );
        // The batch completes during the query. The result of the query and the time limit do not count.
        for says in [Ok(true), Ok(false), failed()] {
            let comes = std::cell::Cell::new(false);
            let asks = || {
                comes.set(true);
                says.clone()
            };
            assert_eq!(answered(Duration::ZERO, || comes.get(), asks, lost), Ok(()));
        }
    }
}
