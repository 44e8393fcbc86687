//! The layered front end where peers die that owe it an answer.
#![allow(unsafe_code)]

mod mock;

use std::mem::zeroed;
use std::ptr;
use std::sync::Once;
use std::time::{Duration, Instant};

use matchpoint_fabric::abi::*;
use mock::opened::{BOTH, Opened};
use mock::talk::{LONG, acquainted, look, receive, send, send_with};
use mock::world;

/// Who owes an answer for a millisecond is asked after.
fn endpoints(count: usize) -> Vec<Opened> {
    static PATIENCE: Once = Once::new();
    // SAFETY: nothing but Rust's own functions reads the environment of a test.
    PATIENCE.call_once(|| unsafe { std::env::set_var("MATCHPOINT_PATIENCE", "0.001") });
    mock::talk::endpoints(count, BOTH)
}

/// Looks until something has failed: its context. MPI libraries would take `FI_ECANCELED` for what the application did.
fn failure(at: &Opened) -> usize {
    until(|| {
        // SAFETY: zeros are entries; an open queue, and room for as many.
        unsafe {
            let (mut entry, mut error): (CqTaggedEntry, CqErrEntry) = (zeroed(), zeroed());
            let rc = (*(*at.cq).ops).readfrom.expect("it reads")(
                at.cq,
                (&raw mut entry).cast(),
                1,
                ptr::null_mut(),
            );
            assert!(rc <= 0, "nothing is there to be completed");
            (rc == -(errno::EAVAIL as isize)).then(|| {
                (*(*at.cq).ops).readerr.expect("it reads errors")(at.cq, &raw mut error, 0);
                assert_ne!(error.err, errno::ECANCELED);
                error.op_context as usize
            })
        }
    })
}

/// Looks again and again until something comes of it.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never comes");
    }
}

/// What is under way to a peer reaches its core, and no further: it looks for nothing.
fn reaches(from: &Opened, at: &Opened) {
    // SAFETY: an endpoint of the core's.
    let core = unsafe { &mut *world().endpoints[at.number() as usize] };
    while core.under_way() > 0 {
        // SAFETY: open.
        unsafe { core.progress() };
    }
    look(from, 100);
}

/// All that is under way from one to the other arrives.
fn arrives(from: &Opened, at: &Opened) {
    for _ in 0..100 {
        look(from, 1);
        look(at, 1);
    }
}

/// A long message that is announced: 11. Its receiver's core has the announcement.
fn announced(all: &[Opened], to: Addr) {
    send(&all[0], to, 5, &[3; LONG], 11);
    reaches(&all[0], &all[1]);
}

/// It is received after all.
fn is_received(all: &[Opened], from: Addr) {
    let mut room = vec![0; LONG];
    receive(&all[1], from, 5, &mut room, 21);
    let mut complete = Vec::new();
    until(|| {
        all.iter().for_each(|at| complete.extend(look(at, 1).0));
        (complete.len() == 2).then_some(())
    });
    complete.sort_unstable();
    assert_eq!(complete, [11, 21]);
    assert!(room == [3; LONG]);
}

#[test]
fn a_send_to_a_peer_that_dies_before_it_asks_for_the_message_fails() {
    let all = endpoints(2);
    let (to, _) = acquainted(&all[0], &all[1]);
    send(&all[0], to, 5, &[1; LONG], 11);
    arrives(&all[0], &all[1]);
    world().gone.insert(to);
    assert_eq!(failure(&all[0]), 11);
    assert_eq!(look(&all[0], 500), (vec![], vec![]), "once");
}

#[test]
fn a_send_that_is_complete_on_delivery_to_a_peer_that_dies_before_it_says_so_fails() {
    let all = endpoints(2);
    let (to, from) = acquainted(&all[0], &all[1]);
    // They know each other by their messages.
    let mut room = [0; 8];
    for (sender, receiver, to, from) in [(0, 1, to, from), (1, 0, from, to)] {
        receive(&all[receiver], from, 1, &mut room, 2);
        send(&all[sender], to, 1, &[7; 8], 1);
        arrives(&all[sender], &all[receiver]);
    }
    send_with(flags::DELIVERY_COMPLETE | flags::COMPLETION, &all[0], to, 5, &[1; 8], 11);
    reaches(&all[0], &all[1]);
    world().gone.insert(to);
    assert_eq!(failure(&all[0]), 11);
}

#[test]
fn a_receive_of_a_message_whose_sender_dies_before_it_sends_the_data_fails() {
    let all = endpoints(2);
    let (to, from) = acquainted(&all[0], &all[1]);
    let mut room = vec![0; LONG];
    receive(&all[1], from, 5, &mut room, 21);
    send(&all[0], to, 5, &[1; LONG], 11);
    // SAFETY: an endpoint of the core's. The private endpoints are behind the application's, in their order.
    let is_asked = || unsafe { (*world().endpoints[2]).under_way() } > 0;
    until(|| {
        look(&all[1], 1);
        is_asked().then_some(())
    });
    world().gone.insert(2);
    assert_eq!(failure(&all[1]), 21);
    assert_eq!(look(&all[1], 500), (vec![], vec![]), "once");
}

#[test]
fn a_peer_that_is_only_silent_is_waited_for_and_hears_little() {
    let all = endpoints(2);
    let (to, from) = acquainted(&all[0], &all[1]);
    announced(&all, to);
    // SAFETY: an endpoint of the core's.
    let under_way = || unsafe { (*world().endpoints[1]).under_way() };
    until(|| {
        assert_eq!(look(&all[0], 1), (vec![], vec![]), "nobody says that the peer has died");
        (under_way() >= 6).then_some(())
    });
    assert_eq!(look(&all[0], 100_000), (vec![], vec![]));
    // The time between two of them doubles: of thirty, the last would come after ten days.
    assert!(under_way() < 30, "{} messages", under_way());
    is_received(&all, from);
}

/// As cores say it that drop what a broken connection had under way: of a message that is announced, of its data, and of the request
/// for it.
#[test]
fn what_a_core_drops_is_no_cancellation() {
    for dies_before in [true, false] {
        let all = endpoints(2);
        let (to, from) = acquainted(&all[0], &all[1]);
        world().gone_error = errno::ECANCELED;
        let mut room = vec![0; LONG];
        receive(&all[1], from, 5, &mut room, 21);
        if dies_before {
            world().gone.insert(to);
            send(&all[0], to, 5, &[1; LONG], 11);
            assert_eq!(failure(&all[0]), 11);
        }
        world().gone.clear();
        send(&all[0], to, 5, &[1; LONG], 12);
        if !dies_before {
            // The sender's private endpoint: nobody can ask it.
            world().gone.insert(2);
            look(&all[0], 1);
            assert_eq!(failure(&all[1]), 21);
        }
    }
}

#[test]
fn who_was_taken_out_of_the_vector_is_not_asked_after() {
    let all = endpoints(2);
    let (to, from) = acquainted(&all[0], &all[1]);
    announced(&all, to);
    all[0].remove(to);
    // The core takes nothing for who is not there.
    assert_eq!(look(&all[0], 1_000_000), (vec![], vec![]));
    is_received(&all, from);
}
