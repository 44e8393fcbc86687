//! Communicators with members listed in the trace.
//!
//! The parent, the ordinal and the members identify a collective creation over the parent. Parent, tag,
//! members and the number of equal earlier creations identify a creation over the members only (MPI-4.1
//! §7.4.2: `MPI_Comm_create_group`, `MPI_Comm_create_from_group`). Its result is known at once, but each rank
//! waits for the other members; otherwise one rank could open all creations of the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, NewComm};
use rustc_hash::FxHashSet;

use super::communicator::{Communicator, Context, ELSEWHERE, Origin};
use super::resolver::{
    CreationCall, GroupPair, MemberContexts, MemberCreation, Resolver, StoredCall, origin_of,
};

/// Key of a creation over the members only. The two sides of a connection have different parents.
pub(super) fn member_creation_key(
    call: &CreationCall<'_>,
    parent: Option<Context>,
) -> Option<(Option<Context>, i64)> {
    use Function::{Comm_accept, Comm_connect, Comm_get_parent, Comm_join};
    let connects = matches!(call.function, Comm_accept | Comm_connect | Comm_join | Comm_get_parent);
    match call.how {
        NewComm::Listed { tag: Some(tag), .. } => Some((parent, tag)),
        NewComm::Listed { tag: None, .. } if connects || parent.is_none() => Some((None, 0)),
        _ => None,
    }
}

fn members(how: NewComm, integers: &[i32]) -> Option<GroupPair> {
    let NewComm::Listed { own, .. } = how else { return None };
    let (own, remote) = integers.split_at_checked(own as usize)?;
    let ranks = |group: &[i32]| group.iter().map(|&rank| u32::try_from(rank).unwrap_or(ELSEWHERE)).collect();
    let (own, remote): (Vec<u32>, Vec<u32>) = (ranks(own), ranks(remote));
    Some(if !remote.is_empty() && remote < own { (remote, own) } else { (own, remote) })
}

impl Resolver<'_> {
    pub(super) fn join_member_creation(
        &mut self,
        index: usize,
        parent: Option<Context>,
        tag: i64,
        call: &CreationCall<'_>,
    ) {
        let call = self.store_call(index, call);
        let members = members(call.how, &call.integers).filter(|_| call.comm != CommId::NULL);
        let Some(members) = members else { return self.assign_contexts(vec![(call, None)]) };
        let key = (parent, tag, members);
        let open = self.member_creations.get(&key);
        let at = open.map_or(0, |open| open.iter().take_while(|one| one.joined.contains(&index)).count());
        if open.is_none_or(|open| at == open.len()) {
            let origin = Origin { by: Some(call.function.name()), of: [parent, None], color: None };
            let context = self.create_with_members(origin, &key.2, index);
            self.contexts.add_holder(context);
            let present: FxHashSet<usize> = self.present_among(&key.2).collect();
            let creation = MemberCreation { context, joined: FxHashSet::default(), expected: present.len() };
            self.member_creations.entry(key.clone()).or_default().push_back(creation);
        }
        let is_member = self.present_among(&key.2).any(|member| member == index);
        let open = self.member_creations.get_mut(&key).expect("the entry exists");
        let creation = &mut open[at];
        let context = creation.context;
        creation.joined.insert(index);
        // A damaged trace may list no membership for a rank that creates the communicator.
        creation.expected += usize::from(!is_member);
        let is_complete = creation.joined.len() == creation.expected;
        self.ranks[index].is_waiting_with_result = !is_complete;
        self.assign_contexts(vec![(call, Some(context))]);
        if is_complete {
            self.remove_member_creation(&key, at);
        }
    }

    fn remove_member_creation(&mut self, key: &(Option<Context>, i64, GroupPair), at: usize) {
        let Some(open) = self.member_creations.get_mut(key) else { return };
        let Some(creation) = open.remove(at) else { return };
        if open.is_empty() {
            self.member_creations.remove(key);
        }
        creation.joined.into_iter().for_each(|index| self.ranks[index].is_waiting_with_result = false);
        self.contexts.remove_holder(creation.context);
    }

    fn present_among(&self, (own, remote): &GroupPair) -> impl Iterator<Item = usize> {
        own.iter().chain(remote).filter_map(|rank| self.present.get(rank).copied())
    }

    pub(super) fn release_waiting_ranks(&mut self) -> bool {
        let ahead = self.ranks.iter_mut().map(|state| std::mem::take(&mut state.is_waiting_with_result));
        ahead.fold(false, |some, is_waiting_with_result| some | is_waiting_with_result)
    }

    pub(super) fn create_listed(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let mut by_members: BTreeMap<GroupPair, Option<Context>> = BTreeMap::new();
        let key = |call: &StoredCall| members(call.how, &call.integers).filter(|_| call.comm != CommId::NULL);
        by_members.extend(calls.iter().filter_map(|call| Some((key(call)?, None))));
        let name = calls[0].function.name();
        for (members, context) in &mut by_members {
            *context = Some(self.create_with_members(origin_of(name, parent), members, calls[0].index));
        }
        let mut contexts = Vec::new();
        for call in calls {
            match key(&call).and_then(|members| by_members.get(&members)) {
                Some(context) => contexts.push((call, *context)),
                None if call.comm == CommId::NULL => contexts.push((call, None)),
                None => contexts.extend(self.create_unresolved(parent, vec![call])),
            }
        }
        contexts
    }

    fn create_with_members(
        &mut self,
        origin: Origin,
        (members, remote): &GroupPair,
        first: usize,
    ) -> Context {
        self.found.has_external_members |= members.contains(&ELSEWHERE) || remote.contains(&ELSEWHERE);
        let remote = (!remote.is_empty()).then(|| Arc::from(&remote[..]));
        let communicator = self.intracomm(origin, Arc::from(&members[..]));
        self.add(Communicator { remote, ..communicator }, first)
    }
}
