//! Sources that the application inserts after their messages arrived.

use crate::mock::talk::{LONG, endpoints, exchange_addresses, read_contexts, receive, send};

#[test]
fn late_source_completes_posted_receive() {
    let all = endpoints(2, true);
    let (to, from) = exchange_addresses(&all[0], &all[1]);
    for length in [8, LONG] {
        let (sent, mut room) = (vec![7; length], vec![0; length]);
        receive(&all[1], from, (9, 0), &mut room, 21);
        all[1].remove(from);
        send(&all[0], to, 9, &sent, 11);
        assert_eq!(read_contexts(&all[1], 200), []);
        assert_eq!(all[1].insert(&all[0]), from);
        assert_eq!(read_contexts(&all[1], 200), [21]);
        assert!(room == sent);
    }
}

#[test]
fn late_source_keeps_message_order() {
    let all = endpoints(2, true);
    let (to, from) = exchange_addresses(&all[0], &all[1]);
    // The pool reuses the last free entry first: the messages have descending addresses.
    let mut rooms = [[0; 8]; 3];
    for (tag, room) in rooms.iter_mut().enumerate() {
        receive(&all[1], from, (tag as u64, 0), room, 1);
    }
    for tag in 0..rooms.len() {
        send(&all[0], to, tag as u64, &[7; 8], 2);
    }
    assert_eq!(read_contexts(&all[1], 200), [1; 3]);
    let (mut first, mut second) = ([0; 8], [0; 8]);
    receive(&all[1], from, (9, 0), &mut first, 21);
    all[1].remove(from);
    for (tag, content) in [(9, 1), (9, 2), (8, 3)] {
        send(&all[0], to, tag, &[content; 8], 11);
    }
    assert_eq!(read_contexts(&all[1], 200), []);
    assert_eq!(all[1].insert(&all[0]), from);
    receive(&all[1], from, (0, 0xFF), &mut second, 22);
    let mut complete = read_contexts(&all[1], 200);
    complete.sort_unstable();
    assert_eq!((complete, first, second), (vec![21, 22], [1; 8], [2; 8]));
}
