//! Reference loop: the cost of matching without a search and without Matchpoint's engines.
//!
//! As in C libraries, two linked lists have preallocated nodes. A post searches the unexpected list and appends a node
//! to the posted list. An arrival finds and unlinks the node. Division by the time of this loop makes times of
//! different hosts comparable.

use std::hint::black_box;
use std::time::Instant;

use crate::statistics::median;

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    next: u32,
    source: i32,
    tag: i32,
    context: i32,
    request: u64,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

struct Lists {
    nodes: Vec<Node>,
    free: u32,
    posted: List,
    unexpected: List,
}

impl Lists {
    fn new(nodes: u32) -> Self {
        let node = |at| Node { next: at + 1, source: 0, tag: 0, context: 0, request: 0 };
        let mut nodes: Vec<Node> = (0..nodes).map(node).collect();
        nodes.last_mut().expect("there are nodes").next = NIL;
        let empty = List { head: NIL, tail: NIL };
        Lists { nodes, free: 0, posted: empty, unexpected: empty }
    }

    #[inline]
    fn push(&mut self, list: fn(&mut Self) -> &mut List, filled: Node) {
        let at = self.free;
        self.free = self.nodes[at as usize].next;
        self.nodes[at as usize] = Node { next: NIL, ..filled };
        let ends = list(self);
        let tail = std::mem::replace(&mut ends.tail, at);
        match tail {
            NIL => ends.head = at,
            tail => self.nodes[tail as usize].next = at,
        }
    }

    #[inline]
    fn take(&mut self, list: fn(&mut Self) -> &mut List, wanted: Node) -> Option<u64> {
        let (mut before, mut at) = (NIL, list(self).head);
        while at != NIL {
            let node = self.nodes[at as usize];
            let any_source = wanted.source < 0 || node.source < 0;
            let any_tag = wanted.tag < 0 || node.tag < 0;
            if node.context == wanted.context
                && (any_source || node.source == wanted.source)
                && (any_tag || node.tag == wanted.tag)
            {
                self.unlink(list, before, at);
                return Some(node.request);
            }
            (before, at) = (at, node.next);
        }
        None
    }

    #[inline]
    fn unlink(&mut self, list: fn(&mut Self) -> &mut List, before: u32, at: u32) {
        let next = self.nodes[at as usize].next;
        match before {
            NIL => list(self).head = next,
            before => self.nodes[before as usize].next = next,
        }
        if next == NIL {
            list(self).tail = before;
        }
        self.nodes[at as usize].next = self.free;
        self.free = at;
    }

    #[inline(never)]
    fn post(&mut self, receive: Node) -> Option<u64> {
        let found = self.take(|lists| &mut lists.unexpected, receive);
        if found.is_none() {
            self.push(|lists| &mut lists.posted, receive);
        }
        found
    }

    #[inline(never)]
    fn arrive(&mut self, message: Node) -> Option<u64> {
        let found = self.take(|lists| &mut lists.posted, message);
        if found.is_none() {
            self.push(|lists| &mut lists.unexpected, message);
        }
        found
    }
}

/// Posts and arrivals of a sample, which takes about 100 µs.
const PAIRS: u64 = 25_000;

/// Nanoseconds per post and arrival at queue length 0, the median of `samples`.
pub fn reference_ns(samples: usize) -> f64 {
    let mut lists = black_box(Lists::new(64));
    let mut each: Vec<f64> = (0..samples).map(|_| sample(&mut lists)).collect();
    median(&mut each)
}

fn sample(lists: &mut Lists) -> f64 {
    let started = Instant::now();
    let mut sum = 0;
    for request in 0..PAIRS {
        let node = black_box(Node { next: NIL, source: 1, tag: 7, context: 0, request });
        sum += u64::from(lists.post(node).is_some());
        sum += lists.arrive(node).unwrap_or(0);
    }
    let elapsed_ns = started.elapsed().as_nanos() as f64;
    assert_eq!(black_box(sum), PAIRS * (PAIRS - 1) / 2, "the reference finds what it posted");
    elapsed_ns / PAIRS as f64
}
