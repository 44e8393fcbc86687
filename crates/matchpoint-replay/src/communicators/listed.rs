//! Communicators with members listed in the trace.
//!
//! A collective creation over the parent is identified by the parent, its ordinal and the members. A creation
//! over the members only (MPI-4.1 §7.4.2: `MPI_Comm_create_group`, `MPI_Comm_create_from_group`) is
//! identified by parent, tag, members and the number of earlier ones. Its result is known at once, but ranks
//! wait for the others. Otherwise one rank could open all creations of the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, NewComm};
use rustc_hash::FxHashSet;

use super::communicator::{Communicator, Context, ELSEWHERE, Origin};
use super::resolver::{Deposit, Deposited, Gathering, Members, Outcome, Resolver, of};

/// Parent and tag of a creation over the members only. The two sides of a connection have different parents.
pub(super) fn gathers(deposit: &Deposit<'_>, parent: Option<Context>) -> Option<(Option<Context>, i64)> {
    use Function::{Comm_accept, Comm_connect, Comm_get_parent, Comm_join};
    let connects = matches!(deposit.function, Comm_accept | Comm_connect | Comm_join | Comm_get_parent);
    match deposit.how {
        NewComm::Listed { tag: Some(tag), .. } => Some((parent, tag)),
        NewComm::Listed { tag: None, .. } if connects || parent.is_none() => Some((None, 0)),
        _ => None,
    }
}

fn members(how: NewComm, integers: &[i32]) -> Option<Members> {
    let NewComm::Listed { own, .. } = how else { return None };
    let (own, remote) = integers.split_at_checked(own as usize)?;
    let ranks = |group: &[i32]| group.iter().map(|&rank| u32::try_from(rank).unwrap_or(ELSEWHERE)).collect();
    let (own, remote): (Vec<u32>, Vec<u32>) = (ranks(own), ranks(remote));
    Some(if !remote.is_empty() && remote < own { (remote, own) } else { (own, remote) })
}

impl Resolver<'_> {
    pub(super) fn gather(&mut self, index: usize, parent: Option<Context>, tag: i64, deposit: &Deposit<'_>) {
        let deposited = self.deposited(index, deposit);
        let members = members(deposit.how, deposit.integers).filter(|_| deposit.comm != CommId::NULL);
        let Some(members) = members else { return self.finish(vec![(deposited, None)]) };
        let key = (parent, tag, members);
        let open = self.gatherings.get(&key);
        let at = open.map_or(0, |open| open.iter().take_while(|one| one.joined.contains(&index)).count());
        if open.is_none_or(|open| at == open.len()) {
            let origin = Origin { by: Some(deposit.function.name()), of: [parent, None], color: None };
            let context = self.of_members(origin, &key.2, index);
            // Holds the context until all members have joined.
            self.contexts.held(context);
            let present: FxHashSet<usize> = self.present_among(&key.2).collect();
            let gathering = Gathering { context, joined: FxHashSet::default(), expected: present.len() };
            self.gatherings.entry(key.clone()).or_default().push_back(gathering);
        }
        let is_member = self.present_among(&key.2).any(|member| member == index);
        let open = self.gatherings.get_mut(&key).expect("there was one, or it was made above");
        let gathering = &mut open[at];
        let context = gathering.context;
        gathering.joined.insert(index);
        // In a damaged trace, a rank may join without being a member.
        gathering.expected += usize::from(!is_member);
        let is_complete = gathering.joined.len() == gathering.expected;
        self.views[index].is_ahead = !is_complete;
        self.finish(vec![(deposited, Some(context))]);
        if is_complete {
            self.close(&key, at);
        }
    }

    fn close(&mut self, key: &(Option<Context>, i64, Members), at: usize) {
        let Some(open) = self.gatherings.get_mut(key) else { return };
        let Some(gathering) = open.remove(at) else { return };
        if open.is_empty() {
            self.gatherings.remove(key);
        }
        gathering.joined.into_iter().for_each(|index| self.views[index].is_ahead = false);
        self.contexts.freed(gathering.context);
    }

    fn present_among(&self, (own, remote): &Members) -> impl Iterator<Item = usize> {
        own.iter().chain(remote).filter_map(|rank| self.present.get(rank).copied())
    }

    /// Releases ranks that wait although they know the result.
    pub(super) fn catch_up(&mut self) -> bool {
        let ahead = self.views.iter_mut().map(|view| std::mem::take(&mut view.is_ahead));
        ahead.fold(false, |some, is_ahead| some | is_ahead)
    }

    /// Creates one communicator for each list of members.
    pub(super) fn listed(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let mut contexts: BTreeMap<Members, Option<Context>> = BTreeMap::new();
        let key = |deposited: &Deposited| {
            members(deposited.how, &deposited.integers).filter(|_| deposited.comm != CommId::NULL)
        };
        contexts.extend(deposits.iter().filter_map(|deposited| Some((key(deposited)?, None))));
        let name = deposits[0].function.name();
        for (members, context) in &mut contexts {
            *context = Some(self.of_members(of(name, parent), members, deposits[0].index));
        }
        let mut outcome = Vec::new();
        for deposited in deposits {
            match key(&deposited).and_then(|members| contexts.get(&members)) {
                Some(context) => outcome.push((deposited, *context)),
                None if deposited.comm == CommId::NULL => outcome.push((deposited, None)),
                None => outcome.extend(self.unknown(parent, vec![deposited])),
            }
        }
        outcome
    }

    fn of_members(&mut self, origin: Origin, (members, remote): &Members, first: usize) -> Context {
        self.found.elsewhere |= members.contains(&ELSEWHERE) || remote.contains(&ELSEWHERE);
        let remote = (!remote.is_empty()).then(|| Arc::from(&remote[..]));
        let communicator = self.plain(origin, Arc::from(&members[..]));
        self.add(Communicator { remote, ..communicator }, first)
    }
}
