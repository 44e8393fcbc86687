//! Ranks and contexts after every way of making a communicator: messages that use the wrong ones do not match.

mod program;

use matchpoint_replay::{Arrivals, Measurements};
use matchpoint_trace::Function;
use matchpoint_trace::call::*;
use program::*;

fn on(comm: CommId, args: SendArgs) -> SendArgs {
    SendArgs { comm, ..args }
}

fn within(comm: CommId, args: ReceiveArgs) -> ReceiveArgs {
    ReceiveArgs { comm, ..args }
}

/// Everything matched, nothing was let go, in every mode.
fn matches_all(program: &Program, messages: u64) -> Measurements {
    for mode in Arrivals::ALL {
        let run = program.replay(mode);
        assert!(run.arrivals.released.is_empty(), "{mode}: {:?}", run.arrivals.released);
        let engine = &run.engines[0];
        let left = (engine.unmatched_receives, engine.unmatched_messages);
        assert_eq!((engine.matched, left), (messages, (0, 0)), "{mode}");
    }
    program.simulated()
}

#[test]
fn split_orders_by_key_then_by_rank() {
    // Colours 0, 1, 0, 1; keys reverse the order within each: ranks 2, 0 and 3, 1.
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
    // World rank 2 sent to world rank 0.
    assert_eq!(run.matrix.messages[2 * 4], 1);
}

#[test]
fn undefined_colours_belong_to_nobody() {
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
fn a_duplicate_is_a_context_of_its_own() {
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
fn an_id_may_be_used_again() {
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
fn create_takes_the_order_of_its_group() {
    // The group is world ranks 2, 0.
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
fn slices_of_a_grid_have_the_ranks_of_their_line() {
    // A 2 × 2 grid; its columns are {0, 2} and {1, 3}.
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
fn both_sides_of_an_inter_communicator_number_from_zero() {
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
            // World rank 1 is rank 1 of its side; world rank 2 is rank 0 of the other.
            1 => merge(made.send(on(comm(2), to(0, 0)))).recv(within(comm(3), from(0, 1)), None),
            2 => merge(made.recv(within(comm(2), from(1, 0)), None)).send(on(comm(3), to(3, 1))),
            _ => merge(made),
        }
    };
    let run = matches_all(&program((0..4).map(member).collect()), 2);
    assert_eq!((run.matrix.messages[4 + 2], run.matrix.messages[2 * 4 + 1]), (1, 1));
}

#[test]
fn a_split_with_members_missing_is_marked() {
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
fn messages_of_a_missing_rank_are_made_up_from_their_receives() {
    let run = program(vec![
        Rank::new().irecv(from(1, 0), 1).recv(from_any(1), status(1, 1)).wait(1, None).send(to(1, 2)),
        Rank::new(),
    ])
    .without(1)
    .simulated();
    assert_eq!((run.arrivals.made_up_messages, run.arrivals.lost_messages), (2, 1));
    assert_eq!(run.engines[0].matched, 2);
    assert_eq!(run.totals.recorded_wildcards, 0, "what was made up proves nothing");
    assert!(run.arrivals.released.is_empty());
}

#[test]
fn a_receive_whose_send_is_not_in_the_trace_is_let_go() {
    let run = program(vec![Rank::new(), Rank::new().recv(from(0, 0), None).barrier(), Rank::new().barrier()])
        .simulated();
    assert_eq!(run.arrivals.released.get("receives whose message does not come"), Some(&1));
    assert_eq!(run.arrivals.released.get("collectives that not all members reach"), Some(&2));
}
