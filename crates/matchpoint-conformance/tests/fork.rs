//! Test: an engine with worker threads works in a child of `fork`, which has no workers. A separate program
//! with one test, because locks of other threads stay locked in the child.

#![cfg(all(unix, not(miri)))]
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, engines,
};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: i32) -> !;
}

/// Runs `what` in a child. The child must not panic, end by a signal, or run longer than a minute.
fn in_child(what: impl FnOnce()) {
    // SAFETY: the functions that the child calls are unsafe only while another thread is inside; no thread
    // is.
    let child = unsafe { fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        // SAFETY: `alarm` only takes a number.
        unsafe { alarm(60) };
        let has_succeeded = catch_unwind(AssertUnwindSafe(what)).is_ok();
        // SAFETY: the child must not run the parent's test harness.
        unsafe { _exit(i32::from(!has_succeeded)) };
    }
    let mut status = 0;
    // SAFETY: a child of this process; `status` is writable.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
}

fn deliver_some(engine: &mut dyn Engine) {
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank((at % 7) as u32), Tag(at));
    for at in 0..100 {
        assert_eq!(engine.post(Receive::new(RecvId(at), Selector::exactly(&envelope(at)))), Ok(None));
    }
    let messages: Vec<Message> = (0..100).map(|at| Message::new(MsgId(at), envelope(at))).collect();
    let (mut out, delivered) = (Vec::new(), Mutex::new(0));
    let deliver = |_, _| *delivered.lock().unwrap() += 1;
    engine.deliver_batch(&messages, &mut out, &deliver).unwrap();
    assert!(out.into_iter().eq((0..100).map(|at| Some(RecvId(at)))));
    assert_eq!(*delivered.lock().unwrap(), 100);
}

#[test]
fn forked_child_matches_and_drops_engine() {
    for by in ["pace", "order", "shares", "optimism"] {
        let mut engine = engines::create(&format!("optimistic_parallel:threads=3,by={by}")).unwrap();
        deliver_some(&mut *engine);
        let mut engine = Some(engine);
        in_child(|| {
            let mut engine = engine.take().expect("the child has a copy of the engine");
            deliver_some(&mut *engine);
            drop(engine);
        });
        deliver_some(&mut **engine.as_mut().expect("the parent has its engine"));
    }
}
