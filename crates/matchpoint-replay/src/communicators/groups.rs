//! Groups of processes (MPI-4.1 §7.3.2) as lists of world ranks.

use std::sync::Arc;

use matchpoint_trace::call::{GroupId, NewGroup};

use super::resolver::Resolver;

impl Resolver<'_> {
    pub(super) fn create_group(&mut self, index: usize, how: NewGroup, group: GroupId, integers: &[i32]) {
        match self.evaluate(index, how, integers) {
            Some(members) => self.ranks[index].groups.insert(group, members),
            None => self.ranks[index].groups.remove(&group),
        };
    }

    fn evaluate(&self, index: usize, how: NewGroup, integers: &[i32]) -> Option<Arc<[u32]>> {
        let state = &self.ranks[index];
        let pick = |group: Arc<[u32]>, ranks: &[i32]| -> Option<Arc<[u32]>> {
            ranks.iter().map(|&rank| group.get(usize::try_from(rank).ok()?).copied()).collect()
        };
        let all_but = |group: Arc<[u32]>, ranks: &[i32]| -> Arc<[u32]> {
            let left = group.iter().enumerate().filter(|(rank, _)| !ranks.contains(&(*rank as i32)));
            left.map(|(_, &member)| member).collect()
        };
        let known = |group: GroupId| state.groups.get(&group).cloned();
        Some(match how {
            NewGroup::OfComm(comm) => self.local_group(*state.comms.get(&comm)?, state.rank),
            NewGroup::OfRemote(comm) => self.remote_group(*state.comms.get(&comm)?, state.rank)?,
            NewGroup::Include(of) => pick(known(of)?, integers)?,
            NewGroup::Exclude(of) => all_but(known(of)?, integers),
            NewGroup::RangeInclude(of) => pick(known(of)?, &ranks_of_ranges(integers)?)?,
            NewGroup::RangeExclude(of) => all_but(known(of)?, &ranks_of_ranges(integers)?),
            NewGroup::Union(first, second) => {
                let (first, second) = (known(first)?, known(second)?);
                first.iter().chain(second.iter().filter(|member| !first.contains(member))).copied().collect()
            }
            NewGroup::Intersection(first, second) => {
                let second = known(second)?;
                known(first)?.iter().filter(|member| second.contains(member)).copied().collect()
            }
            NewGroup::Difference(first, second) => {
                let second = known(second)?;
                known(first)?.iter().filter(|member| !second.contains(member)).copied().collect()
            }
        })
    }
}

fn ranks_of_ranges(triples: &[i32]) -> Option<Vec<i32>> {
    let mut ranks = Vec::new();
    for triple in triples.chunks(3) {
        let &[first, last, stride] = triple else { return None };
        if first < 0 || last < 0 || stride == 0 {
            return None;
        }
        let steps = (i64::from(last) - i64::from(first)) / i64::from(stride);
        for step in 0..=steps {
            ranks.push((i64::from(first) + step * i64::from(stride)) as i32);
        }
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::ranks_of_ranges;

    #[test]
    fn ranges_have_either_direction() {
        assert_eq!(ranks_of_ranges(&[1, 7, 3, 4, 2, -1]), Some(vec![1, 4, 7, 4, 3, 2]));
        assert_eq!(ranks_of_ranges(&[1, 2]), None);
        assert_eq!(ranks_of_ranges(&[1, 2, 0]), None);
        assert_eq!(ranks_of_ranges(&[3, 1, 1]), Some(vec![]));
    }
}
