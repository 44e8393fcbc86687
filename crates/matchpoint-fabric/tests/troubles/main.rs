//! The layered front end where something goes wrong below it, or applications do what MPI libraries seldom do.
#![allow(unsafe_code)]

#[path = "../mock/mod.rs"]
mod mock;

mod answers;

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;

use matchpoint_fabric::abi::*;
use mock::opened::{BOTH, Opened};
use mock::talk::{LONG, acquainted, endpoints, endpoints_that_inject, look, receive, send, send_with};
use mock::world;

/// What may go as it is, at most.
const SHORT: usize = 16 << 10;
/// Set in the tags of messages that do not go as they are (`layered::wire`).
const ANNOUNCED: u64 = 1 << 63;
/// What is under way, and not received, as it is.
const WINDOW: usize = 1 << 20;

fn inject(from: &Opened, to: Addr, tag: u64, bytes: &[u8]) {
    // SAFETY: an enabled endpoint.
    let rc = unsafe {
        let inject = (*(*from.ep).tagged).inject.expect("it sends");
        inject(from.ep, bytes.as_ptr().cast(), bytes.len(), to, tag)
    };
    assert_eq!(rc, 0);
}

/// What was sent to there last, and is under way.
fn sent_last(to: &Opened) -> &'static mock::Message {
    // SAFETY: an endpoint of the core's; tests look at it before they go on.
    unsafe { (*world().endpoints[to.number() as usize]).sent_last() }.expect("something is under way")
}

/// A short message; the tag that it travels under.
fn travels_as(from: &Opened, at: &Opened, to: Addr) -> u64 {
    look(from, 50);
    look(at, 50);
    send(from, to, 1, &[7; 8], 1);
    sent_last(at).tag
}

#[test]
fn an_endpoint_that_only_sends_is_left_alone() {
    let all = endpoints(2, &[flags::SEND]);
    let to = all[0].insert(&all[1]);
    assert_eq!(travels_as(&all[0], &all[1], to), 1, "not announced to who would not understand");
}

#[test]
fn a_peer_that_forgets_learns_again() {
    let all = endpoints(2, BOTH);
    let (to, _) = acquainted(&all[0], &all[1]);
    for _ in 0..10 {
        travels_as(&all[0], &all[1], to);
    }
    assert_eq!(travels_as(&all[0], &all[1], to), 1, "goes as it is by now");
    all[0].remove(to);
    let to = all[0].insert(&all[1]);
    for _ in 0..500 {
        travels_as(&all[0], &all[1], to);
    }
    assert_eq!(travels_as(&all[0], &all[1], to), 1, "and again");
}

/// Until a short message goes as it is.
fn known(from: &Opened, at: &Opened, to: Addr) {
    assert!((0..100).any(|_| travels_as(from, at, to) & ANNOUNCED == 0), "it never does");
}

/// The request for its data reaches a sender in its queue of receives.
#[test]
fn a_program_may_look_into_the_queue_of_its_sends_only() {
    let all = endpoints(2, &[flags::SEND, flags::RECV]);
    let (to, from) = acquainted(&all[0], &all[1]);
    let receiver = Opened { cq: all[1].last_cq, ..all[1] };
    let (sent, mut room) = (vec![7; LONG], vec![0; LONG]);
    receive(&receiver, from, 5, &mut room, 21);
    send(&all[0], to, 5, &sent, 11);
    let mut complete = Vec::new();
    for _ in 0..300 {
        complete.extend(look(&all[0], 1).0);
        complete.extend(look(&receiver, 1).0);
    }
    complete.sort_unstable();
    assert_eq!(complete, [11, 21]);
    assert_eq!(room, sent);
}

#[test]
fn data_that_cannot_be_asked_for_is_an_error() {
    let all = endpoints(2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    let (sent, mut room) = (vec![7; LONG], vec![0; LONG]);
    receive(&all[1], from, 5, &mut room, 21);
    send(&all[0], to, 5, &sent, 11);
    world().refused_tag = Some(1 << 63 | 2);
    let (complete, failed) = look(&all[1], 300);
    assert_eq!((complete, failed), (vec![], vec![21]));
}

/// The core may say so when the message has long been received, and its place is another's.
#[test]
fn what_fails_late_is_not_taken_for_what_came_after_it() {
    // The announcement of a message; the request for its data.
    for tag in [ANNOUNCED | 1, ANNOUNCED | 2] {
        let all = endpoints(2, BOTH);
        let (to, from) = acquainted(&all[0], &all[1]);
        known(&all[0], &all[1], to);
        let look_at_both = |times: usize| {
            let (mut complete, mut failed) = (Vec::new(), Vec::new());
            for at in all.iter().cycle().take(2 * times) {
                let (more, less) = look(at, 1);
                complete.extend(more);
                failed.extend(less);
            }
            complete.sort_unstable();
            (complete, failed)
        };
        look_at_both(100);
        let (mut one, mut two) = (vec![0; LONG], vec![0; LONG]);
        (world().failing_tag, world().keeps_failures) = (Some(tag), true);
        receive(&all[1], from, 5, &mut one, 21);
        send(&all[0], to, 5, &[7; LONG], 11);
        assert_eq!(look_at_both(100), (vec![11, 21], vec![]));
        assert_eq!(world().failing_tag, None);
        // The sender's private endpoint: the second message is asked for, but not yet.
        world().busy_to = Some(all[0].number() + 2);
        receive(&all[1], from, 6, &mut two, 22);
        send(&all[0], to, 6, &[8; LONG], 12);
        assert_eq!(look_at_both(100), (vec![], vec![]));
        world().keeps_failures = false;
        assert_eq!(look_at_both(100), (vec![], vec![]));
        world().busy_to = None;
        assert_eq!(look_at_both(200), (vec![12, 22], vec![]));
    }
}

#[test]
fn a_peer_that_does_not_answer_keeps_back_no_other() {
    let all = endpoints(3, BOTH);
    let (root, silent, other) = (&all[0], &all[1], &all[2]);
    let ((from_silent, to_root), (from_other, other_to_root)) =
        (acquainted(root, silent), acquainted(root, other));
    let (one, two) = (vec![1; LONG], vec![2; LONG]);
    let (mut of_silent, mut of_other) = (vec![0; LONG], vec![0; LONG]);
    receive(root, from_silent, 5, &mut of_silent, 21);
    receive(root, from_other, 5, &mut of_other, 22);
    send(silent, to_root, 5, &one, 11);
    // Private endpoints were opened after those of the application, in their order.
    world().busy_to = Some(silent.number() + 3);
    look(root, 200);
    send(other, other_to_root, 5, &two, 12);
    let mut complete = Vec::new();
    for _ in 0..300 {
        complete.extend(look(root, 3).0);
        look(other, 3);
    }
    assert_eq!(complete, [22]);
    world().busy_to = None;
    for _ in 0..300 {
        complete.extend(look(root, 3).0);
        look(silent, 3);
    }
    assert_eq!(complete, [22, 21]);
    assert!(of_silent == one && of_other == two);
}

/// How it becomes known that peers have died.
#[derive(PartialEq)]
enum Known {
    /// It does not.
    Never,
    /// The application takes them out of its vector.
    TakenOut,
    /// Something is sent to them, and the core says that it has failed.
    SentTo,
    /// The core says that what they were sending has ended.
    ReceivedFrom,
}

/// As many messages as may be under way at once are asked for, of peers that never send them; and then, one by one, more of
/// another.
fn dead_peers_and_another(death: &Known) -> (usize, usize) {
    const DEAD: usize = 16;
    const OF_ONE: usize = 64;
    const BYTES: usize = SHORT + 1;
    let all = endpoints(DEAD + 2, BOTH);
    let (root, dead, other) = (&all[0], &all[1..=DEAD], &all[DEAD + 1]);
    let mut room = vec![0; BYTES];
    let known: Vec<Addr> = dead.iter().map(|peer| acquainted(root, peer).0).collect();
    let (from_other, to_root) = acquainted(root, other);
    for (peer, &from) in dead.iter().zip(&known) {
        for _ in 0..OF_ONE {
            receive(root, from, 5, &mut room, 21);
            send(peer, root.number(), 5, &[1; BYTES], 11);
        }
    }
    // The last of all endpoints are the private ones, in the order of those of the application.
    // SAFETY: an endpoint of the core's; tests look at it before they go on.
    let asked = |number: usize| unsafe { (*world().endpoints[all.len() + number]).under_way() };
    let asked_of_dead = || (1..=DEAD).map(asked).sum::<usize>();
    while asked_of_dead() < DEAD * OF_ONE {
        look(root, 10);
    }
    match death {
        Known::Never => {}
        Known::TakenOut => known.iter().for_each(|&peer| root.remove(peer)),
        Known::SentTo => {
            world().gone.extend(known.iter().copied());
            known.iter().for_each(|&peer| send(root, peer, 6, &[3; LONG], 13));
            let mut failed = 0;
            while failed < DEAD {
                failed += look(root, 1).1.len();
            }
        }
        // Of one of them, which frees as many places as another needs.
        Known::ReceivedFrom => {
            while asked(0) == 0 {
                look(&dead[0], 1);
            }
            // Endpoints of a number beyond those of the application are private.
            world().gone.insert((all.len() + 1) as Addr);
            while asked(0) > 0 {
                look(root, 1);
            }
        }
    }
    for _ in 0..OF_ONE {
        receive(root, from_other, 5, &mut room, 22);
        send(other, to_root, 5, &[2; BYTES], 12);
    }
    look(root, 1000);
    let at_once = asked(DEAD + 1);
    let mut complete = 0;
    for _ in 0..1000 {
        look(other, 1);
        complete += look(root, 1).0.iter().filter(|&&context| context == 22).count();
    }
    (at_once, complete)
}

#[test]
fn peers_that_have_died_keep_back_no_other() {
    assert_eq!(dead_peers_and_another(&Known::Never), (4, 64), "asked for at once; received");
}

#[test]
fn places_of_peers_that_are_taken_out_of_the_vector_are_free() {
    assert_eq!(dead_peers_and_another(&Known::TakenOut), (64, 64), "asked for at once; received");
}

#[test]
fn places_of_peers_that_the_core_cannot_reach_are_free() {
    assert_eq!(dead_peers_and_another(&Known::SentTo), (64, 64), "asked for at once; received");
}

#[test]
fn places_of_peers_whose_connection_breaks_are_free() {
    assert_eq!(dead_peers_and_another(&Known::ReceivedFrom), (64, 64), "asked for at once; received");
}

#[test]
fn short_messages_take_no_private_addresses() {
    let all = endpoints(40, BOTH);
    // SAFETY: an endpoint of the core's, and its vector.
    let known = || unsafe { (*(*world().endpoints[all.len()]).av).knows.len() };
    let before = known();
    for sender in &all[1..] {
        let (to, _) = acquainted(sender, &all[0]);
        send(sender, to, 5, &[1; 8], 11);
    }
    look(&all[0], 500);
    assert_eq!(known(), before);
}

#[test]
fn a_message_whose_sender_is_named_late_finds_the_receive_that_waits_for_it() {
    let all = endpoints(2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    for length in [8, LONG] {
        let mut room = vec![0; length];
        receive(&all[1], from, 9, &mut room, 21);
        all[1].remove(from);
        let sent = vec![7; length];
        send(&all[0], to, 9, &sent, 11);
        look(&all[1], 200);
        assert_eq!(all[1].insert(&all[0]), from);
        let mut complete = Vec::new();
        for _ in 0..200 {
            complete.extend(look(&all[1], 2).0);
            look(&all[0], 2);
        }
        assert_eq!(complete, [21]);
        assert!(room == sent);
        // The sender forgets too: else what it sends next would be without a name.
        all[0].remove(to);
        all[0].insert(&all[1]);
    }
}

#[test]
fn messages_whose_sender_is_named_late_keep_their_order() {
    let all = endpoints(2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    // What is given back last is used first: of the messages below, the first has not the first place.
    let mut rooms = [[0; 8]; 3];
    for (tag, room) in rooms.iter_mut().enumerate() {
        receive(&all[1], from, tag as u64, room, 1);
    }
    for tag in 0..rooms.len() {
        send(&all[0], to, tag as u64, &[7; 8], 2);
    }
    assert_eq!(look(&all[1], 200).0, [1; 3]);
    let (mut first, mut second) = ([0; 8], [0_u8; 8]);
    receive(&all[1], from, 9, &mut first, 21);
    all[1].remove(from);
    all[0].remove(to);
    all[0].insert(&all[1]);
    for (tag, what) in [(9, 1), (9, 2), (8, 3)] {
        send(&all[0], to, tag, &[what; 8], 11);
    }
    look(&all[1], 200);
    assert_eq!(all[1].insert(&all[0]), from);
    let (_, ignore) = (look(&all[1], 10), 0xFF);
    // SAFETY: an enabled endpoint; the room outlives the call.
    let rc = unsafe {
        let receive = (*(*all[1].ep).tagged).recv.expect("it receives");
        let (room, context) = (second.as_mut_ptr().cast(), 22 as *mut c_void);
        receive(all[1].ep, room, second.len(), ptr::null_mut(), from, 0, ignore, context)
    };
    assert_eq!(rc, 0);
    look(&all[1], 200);
    assert_eq!((first, second), ([1; 8], [2; 8]));
}

#[test]
fn what_is_injected_is_accounted_for() {
    let all = endpoints_that_inject(4096, 2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    known(&all[0], &all[1], to);
    let (sent, mut room) = (vec![7; SHORT], vec![0; 2048]);
    let goes_as_it_is = || {
        send(&all[0], to, 5, &sent, 11);
        let is = sent_last(&all[1]).tag & ANNOUNCED == 0;
        look(&all[1], 20);
        look(&all[0], 20);
        is
    };
    for _ in 0..WINDOW / SHORT {
        assert!(goes_as_it_is());
    }
    assert!(!goes_as_it_is(), "nothing of that was received");
    for _ in 0..WINDOW / 2048 {
        receive(&all[1], from, 6, &mut room, 21);
        inject(&all[0], to, 6, &sent[..2048]);
        look(&all[1], 20);
        look(&all[0], 20);
    }
    assert!(!goes_as_it_is(), "still nothing");
}

#[test]
fn what_is_injected_and_too_long_to_be_within_its_announcement_is_kept() {
    let longest = SHORT + 4000;
    let all = endpoints_that_inject(longest, 2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    let (mut sent, mut room) = (vec![7; longest], vec![0; longest]);
    receive(&all[1], from, 5, &mut room, 21);
    inject(&all[0], to, 5, &sent);
    assert!(sent_last(&all[1]).length() < SHORT, "not in pieces, which others could overtake");
    sent.fill(8);
    let mut complete = Vec::new();
    for _ in 0..200 {
        complete.extend(look(&all[1], 1).0);
        complete.extend(look(&all[0], 1).0);
    }
    assert_eq!(complete, [21], "and the sender is told nothing");
    assert!(room.iter().all(|&byte| byte == 7));
}

#[test]
fn what_nobody_in_particular_has_sent_narrows_no_window() {
    let all = endpoints(2, BOTH);
    let to = all[0].insert(&all[1]);
    let (sent, mut room) = (vec![7; SHORT], vec![0; SHORT]);
    for _ in 0..2 * WINDOW / SHORT {
        receive(&all[1], ADDR_UNSPEC, 5, &mut room, 21);
        send(&all[0], to, 5, &sent, 11);
        let mut complete = Vec::new();
        for _ in 0..100 {
            complete.extend(look(&all[1], 1).0);
            look(&all[0], 1);
        }
        assert_eq!(complete, [21]);
    }
    all[1].insert(&all[0]);
    known(&all[0], &all[1], to);
    send(&all[0], to, 5, &sent, 11);
    assert_eq!(sent_last(&all[1]).tag, 5);
}

/// Nothing else wakes it up: the core says nothing when it has room again.
#[test]
fn a_program_that_sleeps_does_not_sleep_through_what_is_deferred() {
    let all = endpoints(2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    let (sent, mut room) = (vec![7; LONG], vec![0; LONG]);
    receive(&all[1], from, 5, &mut room, 21);
    send(&all[0], to, 5, &sent, 11);
    // The sender's private endpoint.
    world().busy_to = Some(all[0].number() + 2);
    look(&all[1], 100);
    // SAFETY: zeros are an entry; an open queue, and room for one.
    let rc = unsafe {
        let mut entry: CqTaggedEntry = zeroed();
        let sleep = (*(*all[1].cq).ops).sreadfrom.expect("it sleeps");
        sleep(all[1].cq, (&raw mut entry).cast(), 1, ptr::null_mut(), ptr::null(), -1)
    };
    assert_eq!(rc, -(libc::EINTR as isize));
    assert!(world().slept[0] >= 0, "for ever");
    look(&all[0], 100);
    assert_eq!(look(&all[1], 100).0, [21]);
}

#[test]
fn an_announcement_has_the_fence_of_its_message() {
    const FENCE: u64 = 1 << 21;
    let all = endpoints(2, BOTH);
    let (to, _) = acquainted(&all[0], &all[1]);
    for bytes in [8, LONG] {
        send_with(FENCE, &all[0], to, 5, &vec![7; bytes], 11);
        assert!(sent_last(&all[1]).tag & ANNOUNCED != 0 && sent_last(&all[1]).flags & FENCE != 0);
    }
}

#[test]
fn a_receive_without_context_and_room_is_told_that_it_is_too_short() {
    let all = endpoints(2, &[BOTH[0] | flags::SELECTIVE_COMPLETION]);
    let (to, from) = acquainted(&all[0], &all[1]);
    let sent = vec![7; LONG];
    receive(&all[1], from, 5, &mut [], 0);
    send(&all[0], to, 5, &sent, 11);
    let mut failed = Vec::new();
    for _ in 0..100 {
        failed.extend(look(&all[1], 1).1);
        look(&all[0], 1);
    }
    assert_eq!(failed, [0]);
}

/// All that is under way to an endpoint reaches the core there, which nobody looks at.
fn let_arrive(at: &Opened) {
    // SAFETY: an endpoint of the core's; tests look at it before they go on.
    let core = unsafe { &mut *world().endpoints[at.number() as usize] };
    while core.under_way() > 0 {
        // SAFETY: open.
        unsafe { core.progress() };
    }
}

/// fi_endpoint(3): "if an application buffer was ready to receive the results of the message when it arrived, then delivery
/// complete indicates that the data was placed into the application's buffer".
#[test]
fn what_is_complete_on_delivery_lies_in_the_buffer_of_its_receive() {
    for (knows, bytes) in [(true, 8), (true, SHORT), (true, LONG), (false, 8)] {
        let all = endpoints(2, BOTH);
        let to = all[0].insert(&all[1]);
        if knows {
            all[1].insert(&all[0]);
            known(&all[0], &all[1], to);
            look(&all[1], 100);
            look(&all[0], 100);
        }
        let mut room = vec![0; bytes];
        receive(&all[1], ADDR_UNSPEC, 5, &mut room, 21);
        send_with(flags::DELIVERY_COMPLETE, &all[0], to, 5, &vec![9; bytes], 11);
        let_arrive(&all[1]);
        assert_eq!(look(&all[0], 100).0, [], "{bytes}: only the core has it");
        let mut complete = Vec::new();
        while !complete.contains(&11) {
            look(&all[1], 1);
            complete.extend(look(&all[0], 1).0);
        }
        assert!(complete == [11] && room == vec![9; bytes], "{knows}, {bytes}");
    }
}
