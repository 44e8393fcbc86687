use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use matchpoint::concurrent::{Concurrent, create};
use matchpoint::{
    ContextId, Drained, Entry, Envelope, Footprint, Hints, Message, MsgId, Pair, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag,
};

use super::*;

#[test]
fn engines_answer_rightly_whatever_is_posted_meanwhile() {
    let names = ["locked:engine=list", "split:engine=list", "split:engine=optimistic_parallel:threads=2"];
    let options = BatchOptions {
        engines: names.map(str::to_owned).to_vec(),
        callers: vec![1, 3],
        // One caller of three has a receive less; more than one is late.
        batch: 50,
        batches: 20,
        repetitions: 2,
    };
    let found = batches(&options, &mut |_, _, _| true).unwrap().unwrap();
    assert_eq!(found.rates.len(), 3 * 2 * 3);
    for rate in &found.rates {
        assert!(rate.is_right && rate.p25 > 0.0 && rate.p25 <= rate.p75, "{rate:?}");
        assert!(rate.post.is_none_or(|post| post.median_ns <= post.p99_ns && post.timed > 0), "{rate:?}");
    }
    assert!(batches(&options, &mut |_, _, _| false).unwrap().is_none());
}

/// Where an engine departs from the contract, or takes its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Batches last until all receives that can be posted beside them are.
    Slow,
    /// The first two messages of a batch have each other's receive.
    Swaps,
    /// Of each batch the receive with this number is lost, and its message.
    Loses(usize),
    /// A receive is left that nobody posted.
    Leaves,
    /// The same is posted, and its caller told that it found another message.
    FindsAnother(usize),
    /// Of the last message of a batch nothing is told.
    Short,
    /// A post panics.
    Panics,
    /// The table is full from the fourth batch on, for receives or for messages; before that messages swap receives, or not.
    Fills { receives: bool, swaps: bool },
}

/// A lock around a list, but for that.
struct Bent {
    inside: Box<dyn Concurrent>,
    way: Way,
    traffic: Traffic,
    posts: AtomicUsize,
    batches: AtomicUsize,
}

impl Concurrent for Bent {
    fn post_open(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        let number = receive.id.0 as usize % self.traffic.batch;
        let answer = match self.way {
            Way::Loses(which) if which == number => Ok(None),
            Way::FindsAnother(which) if which == number => {
                self.inside.post(receive).map(|_| Some(MsgId(u64::MAX)))
            }
            Way::Panics => panic!("as the test wants it"),
            Way::Fills { receives: true, .. } if receive.id.0 as usize / self.traffic.batch >= 3 => {
                Err(Refused::Full)
            }
            _ => self.inside.post(receive),
        };
        self.posts.fetch_add(1, Ordering::Relaxed);
        answer
    }

    fn arrive_batch(&self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        let batch = self.batches.fetch_add(1, Ordering::Relaxed);
        if self.way == Way::Slow {
            let posts = self.traffic.batch * (batch + 2).min(self.traffic.batches);
            let late = (0..self.traffic.batch).filter(|&number| self.traffic.is_late(number)).count();
            let last = if batch + 1 < self.traffic.batches { late } else { 0 };
            while self.posts.load(Ordering::Relaxed) < posts - last {
                thread::yield_now();
            }
        }
        if matches!(self.way, Way::Fills { receives: false, .. } if batch >= 3) {
            return Err(Refused::Full);
        }
        let answer = self.inside.arrive_batch(messages, out);
        match self.way {
            Way::Swaps | Way::Fills { swaps: true, .. } => out.swap(0, 1),
            Way::Short => drop(out.pop()),
            Way::Loses(number) => assert!(self.inside.retract(&messages[number])),
            Way::Leaves if batch == 0 => {
                let stray = Selector::exactly(&Envelope::new(ContextId(1), Rank(0), Tag(0)));
                assert_eq!(self.inside.post(Receive::new(RecvId(u64::MAX), stray)), Ok(None));
            }
            _ => {}
        }
        answer
    }

    fn posted_len(&self) -> usize {
        self.inside.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.inside.unexpected_len()
    }

    fn arrive(&self, _: MsgId, _: Pair, _: Tag) -> Result<Option<RecvId>, Refused> {
        unreachable!("messages come in batches")
    }

    fn probe(&self, _: &Selector) -> Option<MsgId> {
        unreachable!("nobody probes")
    }

    fn matched_probe(&self, _: &Selector) -> Option<MsgId> {
        unreachable!("nobody probes")
    }

    fn cancel(&self, _: &Receive) -> bool {
        unreachable!("nobody cancels")
    }

    fn retract(&self, _: &Message) -> bool {
        unreachable!("nobody retracts")
    }

    fn readdress(&self, _: &Message, _: Rank) -> Result<Readdressed, Refused> {
        unreachable!("all sources are known")
    }

    fn set_hints(&self, _: ContextId, _: Hints) -> Result<(), Refused> {
        unreachable!("nothing is asserted")
    }

    fn close(&self, _: ContextId, _: &mut Drained) {
        unreachable!("the context stays")
    }

    fn fail_source(&self, _: ContextId, _: Rank, _: &mut Drained) {
        unreachable!("nobody dies")
    }

    fn visit(&self, _: Queue, _: &mut dyn FnMut(Entry)) {
        unreachable!("nobody looks")
    }

    fn substitute(&self) -> Option<String> {
        self.inside.substitute()
    }

    fn footprint(&self) -> Footprint {
        unreachable!("nobody asks")
    }
}

fn played(posts: Posts, way: Way) -> Played {
    let traffic = Traffic { posts, callers: 2, batch: 32, batches: 5 };
    let inside = create("locked:engine=list").unwrap();
    let bent = Bent { inside, way, traffic, posts: AtomicUsize::new(0), batches: AtomicUsize::new(0) };
    traffic.play(&bent)
}

/// Of each of five batches but the last, the next one's receives; and those that are late, but for the next one's.
#[test]
fn posts_beside_a_batch_are_timed_and_no_others() {
    for (posts, beside) in
        [(Posts::OtherEnvelopes, 4 * 32), (Posts::SameEnvelopes, 4 * 32), (Posts::SomeLate, 5 * 4 + 4 * 28)]
    {
        let played = played(posts, Way::Slow);
        assert!(played.is_right && played.messages == 5 * 32, "{posts:?}");
        assert_eq!(played.post_ns.len(), beside, "{posts:?}");
    }
}

#[test]
fn wrong_answers_are_noticed_and_keep_nobody_waiting() {
    // Number 0 is late where any is, number 3 never.
    for way in [Way::Swaps, Way::Loses(3), Way::Leaves, Way::FindsAnother(3), Way::Short, Way::Panics] {
        assert!(!played(Posts::OtherEnvelopes, way).is_right, "{way:?}");
    }
    for way in [Way::Loses(0), Way::FindsAnother(0)] {
        assert!(!played(Posts::SomeLate, way).is_right, "{way:?}");
    }
}

/// Nobody waits for what was refused, or takes what comes of it for wrong; what was wrong before stays so.
#[test]
fn a_full_table_ends_it_and_hides_nothing_wrong() {
    for posts in Posts::ALL {
        for (receives, swaps) in [(true, false), (false, false), (true, true), (false, true)] {
            // Of those that swap none is late.
            let swaps = swaps && posts != Posts::SomeLate;
            let played = played(posts, Way::Fills { receives, swaps });
            assert_eq!(played.full, Some(Full("in batch 4 of 5".to_owned())), "{posts:?}");
            assert_eq!(played.is_right, !swaps, "{posts:?}, receives {receives}");
        }
    }
}
