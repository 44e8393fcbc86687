//! How long a kernel that stays is waited for, and who is asked about it meanwhile.

use std::time::{Duration, Instant};

/// How long a batch may take, or the end, before the kernel counts as lost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long a batch may take before the driver is asked whether the kernel runs at all, and how long until it is asked again.
const DOUBT: Duration = Duration::from_millis(10);

/// Waits for a batch, for so long at most, and asks meanwhile whether the kernel has ended, and the driver with that whether it failed.
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
        // What came while the driver was asked has come.
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

/// Asks again and again, for so long at most, whether something has come.
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
        // It comes while the driver is asked, whatever that says, and however late it is.
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
