//! Interpretation of an archive's definitions.

use std::collections::HashMap;
use std::sync::Arc;

use super::archive::Definition;
use crate::call::CommId;
use crate::function::Function;

/// `OTF2_PARADIGM_MPI`
const MPI: u8 = 4;
/// `OTF2_GROUP_TYPE_…`
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;
const COMM_SELF: u8 = 6;
/// `OTF2_GROUP_FLAG_GLOBAL_MEMBERS`: events have world ranks.
const GLOBAL_MEMBERS: u32 = 1;
/// `OTF2_LOCATION_TYPE_CPU_THREAD`
const THREAD: u8 = 1;
const UNDEFINED: u32 = u32::MAX;
const FIRST_OWN: u32 = 3;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Comm {
    pub id: CommId,
    /// World ranks, by rank in the communicator.
    pub members: Arc<[u32]>,
    global: bool,
}

impl Comm {
    /// Rank in the communicator of the process that an event identifies as `named`.
    pub fn rank(&self, named: u32) -> u32 {
        if !self.global {
            return named;
        }
        self.members.iter().position(|&member| member == named).map_or(named, |rank| rank as u32)
    }
}

#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Definitions {
    /// For each rank, the threads of its process. The thread that called `MPI_Init` is first.
    pub ranks: Vec<Vec<u64>>,
    pub events: HashMap<u64, u64>,
    pub functions: HashMap<u32, Function>,
    pub comms: HashMap<u32, Comm>,
    ticks_per_second: u64,
    start: u64,
}

impl Definitions {
    /// Converts ticks to nanoseconds since the start of the measurement.
    pub fn nanoseconds(&self, ticks: u64) -> i64 {
        let since = i128::from(ticks) - i128::from(self.start);
        (since * 1_000_000_000 / i128::from(self.ticks_per_second.max(1))) as i64
    }

    pub fn of(found: &[Definition]) -> Self {
        let mut definitions = Definitions { ticks_per_second: 1, ..Definitions::default() };
        let mut groups: HashMap<u32, (u8, u32, &[u64])> = HashMap::new();
        let mut strings: HashMap<u32, &str> = HashMap::new();
        let (mut locations, mut process) = (Vec::new(), HashMap::new());
        let mut world: &[u64] = &[];
        for definition in found {
            match definition {
                Definition::String { id, text } => drop(strings.insert(*id, text)),
                Definition::Clock { ticks_per_second, start } => {
                    (definitions.ticks_per_second, definitions.start) = (*ticks_per_second, *start);
                }
                Definition::Location { id, kind: THREAD, events, group } => {
                    locations.push((*group, *id));
                    process.insert(*id, *group);
                    definitions.events.insert(*id, *events);
                }
                Definition::Group { id, kind, paradigm: MPI, flags, members } => {
                    groups.insert(*id, (*kind, *flags, members));
                    if *kind == COMM_LOCATIONS {
                        world = members;
                    }
                }
                _ => {}
            }
        }
        for &location in world {
            let own = process.get(&location);
            let others = locations.iter().filter(|(group, id)| Some(group) == own && *id != location);
            let threads = std::iter::once(location).chain(others.map(|(_, id)| *id));
            definitions.ranks.push(threads.filter(|id| process.contains_key(id)).collect());
        }
        definitions.functions = functions(found, &strings);
        definitions.comms = comms(found, &groups, world.len());
        definitions
    }
}

fn functions(found: &[Definition], strings: &HashMap<u32, &str>) -> HashMap<u32, Function> {
    let regions = found.iter().filter_map(|definition| match definition {
        Definition::Region { id, name } => Some((*id, *strings.get(name)?)),
        _ => None,
    });
    // Functions without a known name are also MPI functions.
    let functions = regions.filter(|(_, name)| name.starts_with("MPI_"));
    functions.map(|(id, name)| (id, Function::named(name).unwrap_or(Function::Unknown))).collect()
}

/// The first communicator of all ranks without a parent is `MPI_COMM_WORLD`. Communicators of one process are
/// `MPI_COMM_SELF`.
fn comms(found: &[Definition], groups: &HashMap<u32, (u8, u32, &[u64])>, size: usize) -> HashMap<u32, Comm> {
    let mut comms = HashMap::new();
    let mut has_world = false;
    for definition in found {
        let Definition::Comm { id, group, parent } = definition else { continue };
        let Some(&(kind, flags, members)) = groups.get(group) else { continue };
        let members: Arc<[u32]> = members.iter().map(|&member| member as u32).collect();
        let is_all =
            members.len() == size && members.iter().enumerate().all(|(at, &rank)| at == rank as usize);
        let own = match kind {
            COMM_SELF => CommId::SELF,
            COMM_GROUP if is_all && !has_world && *parent == UNDEFINED => {
                has_world = true;
                CommId::WORLD
            }
            COMM_GROUP => CommId(FIRST_OWN.saturating_add(*id)),
            _ => continue,
        };
        comms.insert(*id, Comm { id: own, members, global: flags & GLOBAL_MEMBERS != 0 });
    }
    comms
}
