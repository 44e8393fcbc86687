//! Tournament tree of all processes' next times.
//!
//! One walk from a leaf to the root updates a time and yields the minimum; a heap would contain stale times.
//! Nodes have eight children. Two walks up a binary tree, for the turn and the second minimum, took 1.5 × as
//! long with 27 processes, and twice as long with 64.

pub(crate) const NEVER: i64 = i64::MAX;

const WIDE: usize = 8;

#[derive(Clone, Copy)]
struct Due {
    at_ns: i64,
    process: u32,
}

impl Due {
    /// The left time if both are equal. No branch, because the order is random.
    #[inline]
    fn or(self, right: Due) -> Due {
        let loses = right.at_ns < self.at_ns;
        let at_ns = if loses { right.at_ns } else { self.at_ns };
        let process = if loses { right.process } else { self.process };
        Due { at_ns, process }
    }
}

pub(crate) struct Schedule {
    /// Rows from the processes to the root. The winner of group n is entry n of the next row.
    rows: Vec<Vec<[Due; WIDE]>>,
    earliest: Due,
}

impl Schedule {
    pub fn new(processes: usize) -> Self {
        let mut rows = Vec::new();
        let (mut entries, mut below) = (processes.max(1), 1);
        loop {
            let groups = entries.div_ceil(WIDE);
            let never = |entry: usize| Due { at_ns: NEVER, process: (entry * below) as u32 };
            let group = |group: usize| std::array::from_fn(|side| never(group * WIDE + side));
            rows.push((0..groups).map(group).collect());
            if groups == 1 {
                break;
            }
            (entries, below) = (groups, below * WIDE);
        }
        Schedule { rows, earliest: Due { at_ns: NEVER, process: 0 } }
    }

    #[inline]
    pub fn due(&self, process: usize) -> i64 {
        self.rows[0][process / WIDE][process % WIDE].at_ns
    }

    #[inline]
    pub fn take(&mut self, process: usize) {
        let mut entry = process;
        let mut own = Due { at_ns: NEVER, process: process as u32 };
        for row in &mut self.rows {
            let group = &mut row[entry / WIDE];
            group[entry % WIDE] = own;
            let [a, b, c, d, e, f, g, h] = *group;
            own = a.or(b).or(c.or(d)).or(e.or(f).or(g.or(h)));
            entry /= WIDE;
        }
        self.earliest = own;
    }

    /// Sets an earlier time. The walk towards the root usually ends soon.
    #[inline]
    pub fn pull_forward(&mut self, process: usize, at_ns: i64) {
        let mut entry = process;
        let own = Due { at_ns, process: process as u32 };
        for row in &mut self.rows {
            let known = &mut row[entry / WIDE][entry % WIDE];
            if (known.at_ns, known.process) < (at_ns, own.process) {
                return;
            }
            *known = own;
            entry /= WIDE;
        }
        if (at_ns, own.process) < (self.earliest.at_ns, self.earliest.process) {
            self.earliest = own;
        }
    }

    /// The earliest next time and its process; of several processes, the first.
    #[inline]
    pub fn earliest(&self) -> (i64, usize) {
        let Due { at_ns, process } = self.earliest;
        (at_ns, process as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_is_minimum_of_times() {
        for processes in (1..20).chain([63, 64, 65, 513, 600]) {
            let mut schedule = Schedule::new(processes);
            let mut times = vec![NEVER; processes];
            let mut state = 1u64;
            for _ in 0..2000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let process = (state >> 33) as usize % processes;
                let at_ns = if state % 7 == 0 { NEVER } else { (state >> 50) as i64 % 50 };
                if at_ns >= times[process] || state % 2 == 0 {
                    schedule.take(process);
                    times[process] = NEVER;
                    is_least(&schedule, &times);
                }
                schedule.pull_forward(process, at_ns);
                times[process] = at_ns;
                is_least(&schedule, &times);
                assert_eq!(schedule.due(process), times[process]);
            }
        }
    }

    fn is_least(schedule: &Schedule, times: &[i64]) {
        let (at_ns, process) = schedule.earliest();
        assert_eq!(Some(&at_ns), times.iter().min());
        assert!(at_ns == NEVER || times.iter().position(|&time| time == at_ns) == Some(process));
    }
}
