//! What applications are told, and what is refused.

use super::*;

/// It is kept for one by the receiver, and that is enough, unless the sender wants to know that it has its receive.
#[test]
fn what_is_complete_on_delivery_needs_no_receive_and_what_is_complete_on_match_does() {
    for (flag, is_complete) in [(flags::DELIVERY_COMPLETE, true), (flags::MATCH_COMPLETE, false)] {
        for bytes in [0, 8, SHORT] {
            let all = endpoints(2, BOTH);
            let (to, from) = acquainted(&all[0], &all[1]);
            known(&all[0], &all[1], to);
            let look_at_both = || {
                let all = [&all[0], &all[1]];
                let mut complete: Vec<usize> =
                    all.iter().cycle().take(400).flat_map(|at| look(at, 1).0).collect();
                complete.sort_unstable();
                complete
            };
            look_at_both();
            send_with(flag, &all[0], to, 5, &vec![9; bytes], 11);
            assert_eq!(look_at_both() == [11], is_complete, "{bytes}");
            let mut room = vec![0; bytes];
            receive(&all[1], from, 5, &mut room, 21);
            assert_eq!(look_at_both(), if is_complete { vec![21] } else { vec![11, 21] });
            assert!(room == vec![9; bytes]);
        }
    }
}

#[test]
fn who_is_told_of_no_completion_has_none_to_wait_for() {
    let all = endpoints(2, &[BOTH[0] | flags::SELECTIVE_COMPLETION]);
    let (to, _) = acquainted(&all[0], &all[1]);
    known(&all[0], &all[1], to);
    send_with(flags::DELIVERY_COMPLETE, &all[0], to, 5, &[9; 8], 11);
    assert_eq!(sent_last(&all[1]).tag, 5, "as it is");
    send_with(flags::DELIVERY_COMPLETE | flags::COMPLETION, &all[0], to, 5, &[9; 8], 11);
    assert!(sent_last(&all[1]).tag & ANNOUNCED != 0);
}

/// The core cannot say whom it is from, so the answer goes another way.
#[test]
fn what_is_complete_on_delivery_is_so_at_a_peer_that_has_forgotten_the_sender() {
    let all = endpoints(2, BOTH);
    let (to, from) = acquainted(&all[0], &all[1]);
    known(&all[0], &all[1], to);
    look(&all[1], 100);
    look(&all[0], 100);
    all[1].remove(from);
    send_with(flags::DELIVERY_COMPLETE, &all[0], to, 5, &[9; 8], 11);
    let mut complete = Vec::new();
    for _ in 0..200 {
        look(&all[1], 1);
        complete.extend(look(&all[0], 1).0);
    }
    assert_eq!(complete, [11]);
}

#[test]
fn what_arrives_together_is_acknowledged_together_and_goes_from_where_it_lies() {
    const TOGETHER: usize = 8;
    let all = endpoints(2, BOTH);
    let (to, _) = acquainted(&all[0], &all[1]);
    known(&all[0], &all[1], to);
    look(&all[1], 100);
    look(&all[0], 100);
    for context in 0..TOGETHER {
        send_with(flags::DELIVERY_COMPLETE, &all[0], to, 5, &[9; SHORT], context);
    }
    let parts: Vec<usize> = sent_last(&all[1]).parts.iter().map(|part| part.iov_len).collect();
    assert_eq!(parts[1..], [SHORT], "its beginning, and the application's buffer");
    let_arrive(&all[1]);
    look(&all[1], 1);
    // SAFETY: an endpoint of the core's; tests look at it before they go on.
    let answers = unsafe { (*world().endpoints[all[0].number() as usize]).under_way() };
    assert_eq!(answers, 1);
    let complete = look(&all[0], 100).0;
    assert_eq!(complete, (0..TOGETHER).collect::<Vec<_>>());
}

/// Applications may ask for errors without having been told that there are some.
#[test]
fn errors_of_our_operations_are_not_the_applications() {
    let all = endpoints(2, BOTH);
    let (to, _) = acquainted(&all[0], &all[1]);
    for (tag, known_as) in [(ANNOUNCED | 1, -errno::EIO), (5, mock::core::CORE_ERROR)] {
        if tag == 5 {
            known(&all[0], &all[1], to);
            look(&all[1], 100);
            look(&all[0], 100);
        }
        world().failing_tag = Some(tag);
        send(&all[0], to, 5, &[7; 8], 11);
        // SAFETY: zeros are an entry.
        let mut error: CqErrEntry = unsafe { zeroed() };
        let mut rc = 0;
        for _ in 0..100 {
            let_arrive(&all[1]);
            // SAFETY: endpoints of the core's; an open queue.
            rc = unsafe {
                (*world().endpoints[all[0].number() as usize]).progress();
                (*(*all[0].cq).ops).readerr.expect("it reads errors")(all[0].cq, &raw mut error, 0)
            };
            if rc != -(errno::EAGAIN as isize) {
                break;
            }
        }
        assert_eq!((rc, error.op_context as usize, error.err), (1, 11, errno::EIO), "{tag:x}");
        assert_eq!(error.prov_errno, known_as);
    }
}

#[test]
fn tags_that_are_ours_are_refused() {
    let all = endpoints(2, BOTH);
    let (to, _) = acquainted(&all[0], &all[1]);
    for _ in 0..2 {
        // SAFETY: an enabled endpoint; nothing is sent.
        let rc = unsafe {
            let inject = (*(*all[0].ep).tagged).inject.expect("it sends");
            inject(all[0].ep, ptr::null(), 0, to, ANNOUNCED | 3)
        };
        assert_eq!(rc, -(errno::EINVAL as isize));
        known(&all[0], &all[1], to);
    }
}
