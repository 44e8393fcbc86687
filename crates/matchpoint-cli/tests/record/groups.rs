//! The recorder keeps the order of the members of a communicator.

use matchpoint_trace::Call;
use matchpoint_trace::call::{Action, NewComm};

use crate::job::Job;
use crate::mpi;

/// The orders of members in `programs/groups.c`. The index is the tag of the communicator.
fn orders(ranks: i32) -> [Vec<i32>; 6] {
    let of = |member: &dyn Fn(i32) -> i32| {
        let members = (0..ranks).map(member);
        members.take_while(|rank| (0..ranks).contains(rank)).collect()
    };
    [
        of(&|place| place),
        of(&|place| ranks - 1 - place),
        of(&|place| 2 * place),
        of(&|place| 7 * place % ranks),
        of(&|place| place ^ 1),
        of(&|place| place / 3 * 5 + place % 3),
    ]
}

#[test]
fn members_are_recorded_in_order() {
    mpi::each(|mpi| {
        // The recorder of Open MPI reads 32 members at once, and 40 ranks exceed this number. Other libraries poll, so
        // many ranks are slow.
        let ranks: i32 = if mpi.is_open_mpi() { 40 } else { 8 };
        let ran = Job::of(mpi, ranks as u32, &mpi.program("groups")).succeed();
        let orders = orders(ranks);
        let trace = matchpoint_trace::open(&ran.trace()).unwrap();
        for rank in 0..ranks {
            let (mut reader, mut call) = (trace.rank(rank as u32).unwrap(), Call::default());
            let mut made = Vec::new();
            while reader.read(&mut call).unwrap() {
                if let Action::CommCreate { how: NewComm::Listed { tag: Some(order), .. }, .. } = call.action
                {
                    assert_eq!(call.integers, orders[order as usize], "rank {rank}, order {order}: {ran}");
                    made.push(order as usize);
                }
            }
            let expected: Vec<usize> =
                (0..orders.len()).filter(|&order| orders[order].contains(&rank)).collect();
            assert_eq!(made, expected, "rank {rank}: {ran}");
        }
    });
}
