//! Ranks and contexts of every kind of communicator: messages with a wrong rank or context do not match.

use crate::program::*;
use matchpoint_replay::{Arrivals, Measurements};
use matchpoint_trace::Function;
use matchpoint_trace::call::*;

fn on(comm: CommId, args: SendArgs) -> SendArgs {
    SendArgs { comm, ..args }
}

fn within(comm: CommId, args: ReceiveArgs) -> ReceiveArgs {
    ReceiveArgs { comm, ..args }
}

/// Replays a program under every arrival order, and checks that all messages match.
fn matches_all(program: &Program, messages: u64) -> Measurements {
    for mode in Arrivals::ASSUMED {
        let run = program.replay(mode);
        assert!(run.arrivals.ended_calls.is_empty(), "{mode}: {:?}", run.arrivals.ended_calls);
        let engine = &run.engines[0];
        let left = (engine.unmatched_receives, engine.unmatched_messages);
        assert_eq!((engine.matched, left), (messages, (0, 0)), "{mode}");
    }
    program.simulated()
}

#[test]
fn split_orders_by_key_then_by_rank() {
    // Keys reverse the order within each color: ranks 2, 0 and 3, 1.
    let member = |rank: u32| {
        let made = Rank::new().split(CommId::WORLD, rank as i32 % 2, -(rank as i32), comm(1));
        if rank < 2 {
            made.recv(within(comm(1), from(0, 5)), status(0, 5))
        } else {
            made.send(on(comm(1), to(1, 5)))
        }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 2);
    assert_eq!(run.communicators.len(), 2);
    assert!(run.communicators.iter().all(|used| used.size == 2 && used.messages == 1 && used.resolved));
    assert_eq!(run.matrix.messages[2 * 4], 1);
}

#[test]
fn undefined_color_gives_no_communicator() {
    let excluded = NewComm::Split { color: None, key: 0 };
    let run = matches_all(
        &program(vec![
            Rank::new().create(Function::Comm_split, CommId::WORLD, excluded, CommId::NULL, &[]),
            Rank::new().split(CommId::WORLD, 0, 0, comm(1)).send(on(comm(1), to(1, 0))),
            Rank::new().split(CommId::WORLD, 0, 0, comm(1)).recv(within(comm(1), from(0, 0)), None),
        ]),
        1,
    );
    assert_eq!(run.communicators[0].size, 2);
}

#[test]
fn duplicate_has_separate_context() {
    let dup = |rank: Rank| rank.create(Function::Comm_dup, CommId::WORLD, NewComm::Dup, comm(1), &[]);
    let run = matches_all(
        &program(vec![
            dup(Rank::new()).send(on(comm(1), to(1, 0))).send(to(1, 0)),
            dup(Rank::new()).irecv(from(0, 0), 1).irecv(within(comm(1), from(0, 0)), 2).waitall(&[1, 2]),
        ]),
        2,
    );
    assert_eq!(run.communicators.len(), 2);
}

#[test]
fn reused_id_has_new_communicator() {
    let twice = |rank: Rank, color: i32| {
        let first = rank.split(CommId::WORLD, color, 0, comm(1));
        first.call(Function::Comm_free, Action::CommFree { comm: comm(1) }).split(
            CommId::WORLD,
            0,
            0,
            comm(1),
        )
    };
    matches_all(
        &program(vec![
            twice(Rank::new(), 0).send(on(comm(1), to(1, 0))),
            twice(Rank::new(), 1).recv(within(comm(1), from(0, 0)), None),
        ]),
        1,
    );
}

#[test]
fn create_uses_group_order() {
    let grouped = |rank: Rank, new: CommId| {
        let whole = Action::GroupCreate { how: NewGroup::OfComm(CommId::WORLD), group: GroupId(10) };
        let some = Action::GroupCreate { how: NewGroup::Include(GroupId(10)), group: GroupId(11) };
        rank.call(Function::Comm_group, whole).full(Function::Group_incl, some, &[], &[], &[2, 0]).create(
            Function::Comm_create,
            CommId::WORLD,
            NewComm::Group(GroupId(11)),
            new,
            &[],
        )
    };
    let run = matches_all(
        &program(vec![
            grouped(Rank::new(), comm(1)).recv(within(comm(1), from(0, 0)), None),
            grouped(Rank::new(), CommId::NULL),
            grouped(Rank::new(), comm(1)).send(on(comm(1), to(1, 0))),
        ]),
        1,
    );
    assert_eq!(run.communicators[0].size, 2);
}

#[test]
fn grid_slices_have_ranks_of_line() {
    // The columns of a 2 × 2 grid are {0, 2} and {1, 3}.
    let member = |rank: u32| {
        let grid = Rank::new()
            .create(Function::Cart_create, CommId::WORLD, NewComm::Cart { reorder: false }, comm(1), &[2, 2])
            .create(Function::Cart_sub, comm(1), NewComm::CartSub, comm(2), &[1, 0]);
        if rank < 2 { grid.send(on(comm(2), to(1, 0))) } else { grid.recv(within(comm(2), from(0, 0)), None) }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 2);
    assert_eq!((run.matrix.messages[2], run.matrix.messages[4 + 3]), (1, 1));
}

#[test]
fn intercommunicator_sides_number_from_zero() {
    let member = |rank: u32| {
        let inter = NewComm::Inter {
            local_leader: 0,
            peer_comm: CommId::WORLD,
            remote_leader: if rank < 2 { 2 } else { 0 },
            tag: 99,
        };
        let made = Rank::new().split(CommId::WORLD, rank as i32 / 2, 0, comm(1)).create(
            Function::Intercomm_create,
            comm(1),
            inter,
            comm(2),
            &[],
        );
        let merged = NewComm::Merge { high: rank < 2 };
        let merge = |rank: Rank| rank.create(Function::Intercomm_merge, comm(2), merged, comm(3), &[]);
        match rank {
            // World rank 1 is rank 1 of its group; world rank 2 is rank 0 of the other.
            1 => merge(made.send(on(comm(2), to(0, 0)))).recv(within(comm(3), from(0, 1)), None),
            2 => merge(made.recv(within(comm(2), from(1, 0)), None)).send(on(comm(3), to(3, 1))),
            _ => merge(made),
        }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 2);
    assert_eq!((run.matrix.messages[4 + 2], run.matrix.messages[2 * 4 + 1]), (1, 1));
}

#[test]
fn split_without_members_is_unresolved() {
    let member = |rank: u32| {
        let made = Rank::new().split(CommId::WORLD, 0, 0, comm(1));
        match rank {
            0 => made.send(on(comm(1), to(1, 0))),
            1 => made.recv(within(comm(1), from(0, 0)), None),
            _ => made,
        }
    };
    let run = program((0..3).map(member).collect()).without(2).simulated();
    assert_eq!(run.engines[0].matched, 1);
    assert!(!run.communicators[0].resolved);
    assert!(run.trace.notes.iter().any(|note| note.contains("does not determine")), "{:?}", run.trace.notes);
}

#[test]
fn receives_supply_messages_of_missing_rank() {
    let run = program(vec![
        Rank::new().irecv(from(1, 0), 1).recv(from_any(1), status(1, 1)).wait(1, None).send(to(1, 2)),
        Rank::new(),
    ])
    .without(1)
    .simulated();
    assert_eq!((run.arrivals.made_up_messages, run.arrivals.lost_messages), (2, 1));
    assert_eq!(run.engines[0].matched, 2);
    assert_eq!(run.totals.recorded_wildcards, 0, "what was made up proves nothing");
    assert!(run.arrivals.ended_calls.is_empty());
}

#[test]
fn receive_without_recorded_send_is_dropped() {
    let run = program(vec![Rank::new(), Rank::new().recv(from(0, 0), None).barrier(), Rank::new().barrier()])
        .simulated();
    assert_eq!(run.arrivals.ended_calls.get("receives without a message"), Some(&1));
    assert_eq!(run.arrivals.ended_calls.get("collectives that some members do not reach"), Some(&2));
}

fn listed(
    rank: Rank,
    function: Function,
    parent: CommId,
    made: CommId,
    own: &[i32],
    tag: Option<i64>,
) -> Rank {
    rank.create(function, parent, NewComm::Listed { own: own.len() as u32, tag }, made, own)
}

#[test]
fn listed_members_have_listed_ranks() {
    // The color groups have the ranks 2, 0 and 3, 1 in this order, which the keys do not contain.
    let member = |rank: u32| {
        let own: &[i32] = if rank % 2 == 0 { &[2, 0] } else { &[3, 1] };
        let made = listed(Rank::new(), Function::Comm_split_type, CommId::WORLD, comm(1), own, None);
        if rank < 2 {
            made.recv(within(comm(1), from(0, 5)), status(0, 5))
        } else {
            made.send(on(comm(1), to(1, 5)))
        }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 2);
    let names: Vec<&str> = run.communicators.iter().map(|used| used.origin.as_str()).collect();
    assert_eq!(names, ["MPI_Comm_split_type of 0"; 2]);
    assert!(run.communicators.iter().all(|used| used.size == 2 && used.messages == 1 && used.resolved));
    assert_eq!(run.matrix.messages[2 * 4], 1);
}

#[test]
fn equal_members_have_separate_communicators() {
    // Rank 1 receives from the second communicator first. Messages of the first communicator must not match.
    let made = |rank| {
        let once = listed(rank, Function::Comm_create, CommId::WORLD, comm(1), &[0, 1], None);
        listed(once, Function::Comm_create, CommId::WORLD, comm(2), &[0, 1], None)
    };
    let other = || {
        let null = |rank| listed(rank, Function::Comm_create, CommId::WORLD, CommId::NULL, &[], None);
        null(null(Rank::new()))
    };
    let run = matches_all(
        &program(vec![
            made(Rank::new()).send(on(comm(1), to(1, 5))).send(on(comm(2), to(1, 5))),
            made(Rank::new()).recv(within(comm(2), from(0, 5)), None).recv(within(comm(1), from(0, 5)), None),
            other(),
        ]),
        2,
    );
    assert_eq!(run.communicators.iter().map(|used| used.messages).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn tag_and_members_identify_group_communicator() {
    // Ranks 1 and 3 create the group in another order than ranks 0 and 2.
    let group = |rank, made, own: &[i32], tag| {
        listed(rank, Function::Comm_create_group, CommId::WORLD, made, own, Some(tag))
    };
    let ranks = vec![
        group(Rank::new(), comm(1), &[0, 1], 7).send(on(comm(1), to(1, 5))),
        group(group(Rank::new(), comm(2), &[1, 2], 7), comm(1), &[0, 1], 7)
            .recv(within(comm(1), from(0, 5)), None)
            .recv(within(comm(2), from(1, 5)), None),
        group(Rank::new(), comm(1), &[1, 2], 7).send(on(comm(1), to(0, 5))),
        // These ranks have only a communicator over `MPI_COMM_WORLD`.
        Rank::new(),
    ];
    let ranks = ranks.into_iter().enumerate().map(|(rank, calls)| {
        let all = calls.create(Function::Comm_dup, CommId::WORLD, NewComm::Dup, comm(3), &[]);
        match rank {
            3 => all.send(on(comm(3), to(0, 9))),
            0 => all.recv(within(comm(3), from(3, 9)), None),
            _ => all,
        }
    });
    matches_all(&program(ranks.collect()), 3);
}

#[test]
fn mutually_listed_sides_are_one_intercommunicator() {
    let member = |rank: u32| {
        let (own, remote): ([i32; 2], [i32; 2]) = if rank < 2 { ([0, 1], [2, 3]) } else { ([2, 3], [0, 1]) };
        let how = NewComm::Listed { own: 2, tag: Some(3) };
        let both = [own, remote].concat();
        let made =
            Rank::new().create(Function::Intercomm_create_from_groups, CommId::NULL, how, comm(1), &both);
        match rank {
            0 => made.send(on(comm(1), to(1, 5))),
            3 => made.recv(within(comm(1), from(0, 5)), status(0, 5)),
            _ => made,
        }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 1);
    assert_eq!(run.matrix.messages[3], 1);
}

#[test]
fn accept_and_connect_share_new_communicator() {
    let end = |function, rank: i32, other: i32| {
        let how = NewComm::Listed { own: 1, tag: None };
        Rank::new().create(function, CommId::SELF, how, comm(1), &[rank, other])
    };
    let run = matches_all(
        &program(vec![
            end(Function::Comm_accept, 0, 1).send(on(comm(1), to(0, 5))),
            end(Function::Comm_connect, 1, 0).recv(within(comm(1), from(0, 5)), status(0, 5)),
        ]),
        1,
    );
    assert_eq!(run.matrix.messages[1], 1);
}

#[test]
fn spawned_processes_have_no_stream() {
    // The spawned processes have no stream: messages to them are lost, messages from them are invented.
    let rank = |rank: u32| {
        let how = NewComm::Listed { own: 2, tag: None };
        let made = Rank::new().create(Function::Comm_spawn, CommId::WORLD, how, comm(1), &[0, 1, -1, -1]);
        match rank {
            0 => made.send(on(comm(1), to(1, 5))).recv(within(comm(1), from(1, 6)), status(1, 6)),
            _ => made,
        }
    };
    let run = program((0..2).map(rank).collect()).simulated();
    assert_eq!((run.arrivals.lost_messages, run.arrivals.made_up_messages), (1, 1));
    assert_eq!(run.engines[0].unmatched_receives, 0);
}
