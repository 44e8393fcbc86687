//! Who is due next: a tournament of all processes' times.
//!
//! A process's time changes with every turn, and only the earliest is ever asked for. A tree of winners does both in
//! one walk from a leaf to the root; a heap would have to keep, and skip, times that are out of date.

/// When nothing is due.
pub(crate) const NEVER: i64 = i64::MAX;

/// A time and whose it is.
#[derive(Clone, Copy)]
struct Due {
    at_ns: i64,
    process: u32,
}

/// See the [module's documentation](self).
pub(crate) struct Schedule {
    /// Number of leaves: a power of two.
    width: usize,
    /// The earliest of each subtree: the root is 1, node n's children are 2n and 2n + 1.
    nodes: Vec<Due>,
}

impl Schedule {
    /// Nobody of so many processes is due.
    pub fn new(processes: usize) -> Self {
        let width = processes.next_power_of_two().max(1);
        let leaf = |node: usize| Due { at_ns: NEVER, process: node.saturating_sub(width) as u32 };
        Schedule { width, nodes: (0..2 * width).map(leaf).collect() }
    }

    /// When a process is due.
    #[inline]
    pub fn due(&self, process: usize) -> i64 {
        self.nodes[self.width + process].at_ns
    }

    /// Changes when a process is due.
    ///
    /// 1. Which of two times is earlier is anybody's guess, so comparing them takes no branch: of two at once the left
    ///    one, whose process is the lower, must win, and a right node's own time is one later for that.
    #[inline]
    pub fn set(&mut self, process: usize, at_ns: i64) {
        let mut node = self.width + process;
        let mut winner = Due { at_ns, process: process as u32 };
        self.nodes[node] = winner;
        while node > 1 {
            let sibling = self.nodes[node ^ 1];
            let is_left = (node & 1 ^ 1) as i64;
            let loses = sibling.at_ns <= winner.at_ns - is_left;
            winner.at_ns = if loses { sibling.at_ns } else { winner.at_ns };
            winner.process = if loses { sibling.process } else { winner.process };
            node /= 2;
            self.nodes[node] = winner;
        }
    }

    /// The process is due at `at_ns`, which is earlier than it was. Where another is due earlier still, nothing changes
    /// further up, and mostly that is soon.
    #[inline]
    pub fn pull_forward(&mut self, process: usize, at_ns: i64) {
        let mut node = self.width + process;
        let own = Due { at_ns, process: process as u32 };
        self.nodes[node] = own;
        while node > 1 {
            node /= 2;
            let winner = &mut self.nodes[node];
            if (winner.at_ns, winner.process) < (own.at_ns, own.process) {
                break;
            }
            *winner = own;
        }
    }

    /// The earliest time of all processes but one.
    #[inline]
    pub fn earliest_but(&self, process: usize) -> i64 {
        let mut node = self.width + process;
        let mut earliest_ns = NEVER;
        while node > 1 {
            earliest_ns = earliest_ns.min(self.nodes[node ^ 1].at_ns);
            node /= 2;
        }
        earliest_ns
    }

    /// The earliest time, and whose it is; the lowest process of several.
    #[inline]
    pub fn earliest(&self) -> (i64, usize) {
        let Due { at_ns, process } = self.nodes[1];
        (at_ns, process as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_the_least_of_all_times() {
        for processes in 1..20 {
            let mut schedule = Schedule::new(processes);
            let mut times = vec![NEVER; processes];
            assert_eq!(schedule.earliest_but(0), NEVER);
            let mut state = 1u64;
            for _ in 0..2000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let process = (state >> 33) as usize % processes;
                let at_ns = if state % 7 == 0 { NEVER } else { (state >> 50) as i64 % 50 };
                if at_ns < times[process] && state % 2 == 0 {
                    schedule.pull_forward(process, at_ns);
                } else {
                    schedule.set(process, at_ns);
                }
                times[process] = at_ns;
                let least = *times.iter().min().unwrap();
                let (at_ns, whose) = schedule.earliest();
                assert_eq!(at_ns, least);
                assert!(least == NEVER || times.iter().position(|&time| time == least) == Some(whose));
                assert_eq!(schedule.due(process), times[process]);
                let others = times.iter().enumerate().filter(|(of, _)| *of != process);
                let least = others.map(|(_, time)| *time).min().unwrap_or(NEVER);
                assert_eq!(schedule.earliest_but(process), least);
            }
        }
    }
}
