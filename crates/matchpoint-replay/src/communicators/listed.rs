//! Communicators whose members the trace lists.
//!
//! Those that all of the parent make are told from each other by the parent, their ordinal there and their members, and
//! wait for each other as all do. Those that only their members make (MPI-4.1 §7.4.2: `MPI_Comm_create_group`,
//! `MPI_Comm_create_from_group`) do not count among the parent's: what they are told by is the parent, the tag, the
//! members, and how often there was one of these before.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, NewComm};

use super::create::{Deposit, Deposited, Outcome};
use super::{Communicator, Context, ELSEWHERE, Resolver};

/// Both groups, that with the lower first rank first: each side names its own first.
type Members = (Vec<u32>, Vec<u32>);

/// What those that only their members make are told from each other by: parent (if it is known), tag, members, and, but
/// where those are counted, how often that was before.
pub(super) type Gathering = (Option<Context>, i64, Members, u32);

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
        let view = &mut self.views[index];
        let mut key = (parent, tag, members, 0);
        let count = view.gatherings.entry(key.clone()).or_insert(0);
        key.3 = *count;
        *count += 1;
        let context = self.gathered.get(&key).copied().unwrap_or_else(|| {
            let of = key.0.map_or(String::new(), |parent| format!(" of {parent}"));
            let context = self.of_members(format!("{}{of}", deposit.function.name()), &key.2);
            self.gathered.insert(key, context);
            context
        });
        self.contexts.keep(context);
        self.finish(vec![(deposited, Some(context))]);
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
            *context = Some(self.of_members(format!("{name} of {parent}"), members));
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

    fn of_members(&mut self, origin: String, (members, remote): &Members) -> Context {
        self.found.elsewhere |= members.contains(&ELSEWHERE) || remote.contains(&ELSEWHERE);
        let remote = (!remote.is_empty()).then(|| Arc::from(&remote[..]));
        let communicator = self.plain(origin, Arc::from(&members[..]));
        self.add(Communicator { remote, ..communicator })
    }
}
