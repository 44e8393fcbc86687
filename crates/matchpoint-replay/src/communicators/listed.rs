//! Communicators whose members the trace lists.
//!
//! Those that all of the parent make are told from each other by the parent, their ordinal there and their members, and
//! wait for each other as all do. Those that only their members make (MPI-4.1 §7.4.2: `MPI_Comm_create_group`,
//! `MPI_Comm_create_from_group`) do not count among the parent's: what they are told by is the parent, the tag, the
//! members, and how often there was one of these before. Nobody need wait for the others there, since all that matters is
//! known; ranks are kept from running ahead all the same, or as many would be open at once as the trace has.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, NewComm};
use rustc_hash::FxHashSet;

use super::communicator::{Communicator, Context, ELSEWHERE, Origin};
use super::resolver::{Deposit, Deposited, Gathering, Members, Outcome, Resolver, of};

/// The parent and the tag, if only the members make it. What is made of a communicator that is not known (it has none,
/// or the trace does not show it made) can have no ordinal there either; and the two sides of a connection make it of
/// communicators of their own.
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
    /// A member makes one that only its members make: it need not wait, since all that matters is known.
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
            // Until all have joined, nobody else may have its context.
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
        // Who is not among the members (the trace is damaged) is not expected either.
        gathering.expected += usize::from(!is_member);
        let is_complete = gathering.joined.len() == gathering.expected;
        self.views[index].is_ahead = !is_complete;
        self.finish(vec![(deposited, Some(context))]);
        if is_complete {
            self.close(&key, at);
        }
    }

    /// All members have joined.
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

    /// Where no rank gets any further: those who are ahead of others go on. False if there are none.
    pub(super) fn catch_up(&mut self) -> bool {
        let ahead = self.views.iter_mut().map(|view| std::mem::take(&mut view.is_ahead));
        ahead.fold(false, |some, is_ahead| some | is_ahead)
    }

    /// All of the parent have made theirs: one for each list of members.
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
