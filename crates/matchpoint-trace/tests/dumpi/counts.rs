//! Known counts of real traces, from an independent list.

use std::collections::BTreeSet;

use matchpoint_trace::Call;
use matchpoint_trace::call::{Action, CommId, Peer, ReceiveArgs, RequestId, TagArg};

use crate::traces::{REAL, calls, opened};

/// Name; streams and ranks; version. Numbers of: sends and receives; persistent receives, and calls that start
/// persistent receives; receives from any source and with any tag; cancels. Tags of sends, receives and probes;
/// communicators without `Sendrecv`; threads; largest number of receives posted at once.
type Known = (
    &'static str,
    (usize, u32),
    &'static str,
    (u32, u32),
    (u32, u32),
    (u32, u32),
    u32,
    usize,
    usize,
    usize,
    usize,
);

const KNOWN: &[Known] = &[
    ("nersc-amg-27", (27, 27), "1.1.0", (15524, 15524), (0, 0), (0, 0), 0, 1, 1, 1, 26),
    ("nersc-multigrid-rank0", (1, 125), "1.1.0", (1144, 1144), (0, 0), (0, 0), 0, 104, 1, 1, 19),
    ("nersc-bigfft-rank0", (1, 9), "1.1.0", (0, 0), (0, 0), (0, 0), 0, 0, 0, 1, 0),
    ("sstdumpi-testtrace-4", (4, 4), "1.0.0", (4, 4), (0, 0), (0, 0), 0, 1, 1, 1, 0),
    ("sstmacro-testbgp-7", (7, 7), "1.1.0", (588, 588), (0, 0), (0, 0), 0, 1, 1, 1, 12),
    ("taufer-alltoall-4", (4, 4), "8.1.0", (48, 48), (0, 0), (0, 0), 0, 1, 1, 1, 3),
    ("lulesh-8", (8, 8), "13.0.0", (1136, 1136), (0, 0), (0, 0), 0, 3, 1, 1, 7),
    ("lulesh-27", (27, 27), "13.0.0", (6136, 6136), (0, 0), (0, 0), 0, 3, 1, 1, 26),
    ("lulesh-64", (64, 64), "13.0.0", (14472, 14472), (0, 0), (0, 0), 0, 3, 1, 1, 26),
    ("amg-8", (8, 8), "13.0.0", (16272, 16272), (0, 0), (27, 0), 0, 8, 1, 1, 21),
    ("amg-persistent-27", (27, 27), "13.0.0", (33434, 33434), (1064, 5865), (63, 0), 0, 8, 1, 1, 63),
    ("miniFE-27", (27, 27), "13.0.0", (11088, 11088), (0, 0), (264, 0), 0, 3, 1, 1, 16),
    ("miniAMR-16", (16, 16), "13.0.0", (784, 784), (0, 0), (0, 0), 0, 6, 1, 1, 2),
    ("npb-lu-16", (16, 16), "13.0.0", (27108, 27108), (0, 0), (0, 0), 0, 4, 1, 1, 1),
    ("npb-mg-32", (32, 32), "13.0.0", (13088, 13088), (0, 0), (0, 0), 0, 6, 1, 1, 2),
    ("npb-bt-16", (16, 16), "13.0.0", (23520, 23520), (0, 0), (0, 0), 0, 96, 2, 1, 6),
    ("npb-is-16", (16, 16), "13.0.0", (15, 15), (0, 0), (0, 0), 0, 1, 1, 1, 1),
    ("cloverleaf-16", (16, 16), "13.0.0", (1776, 1776), (0, 0), (0, 0), 0, 4, 1, 1, 2),
    ("fillboundary-27", (27, 27), "13.0.0", (7584, 7584), (0, 0), (0, 0), 0, 24, 1, 1, 26),
    ("multigrid_c-8", (8, 8), "13.0.0", (1176, 1176), (0, 0), (0, 0), 0, 49, 1, 1, 3),
    ("taskbench-a2a-16", (16, 16), "13.0.0", (9120, 9120), (0, 0), (0, 0), 0, 1, 1, 1, 15),
    ("taskbench-nearest-16", (16, 16), "13.0.0", (1820, 1820), (0, 0), (0, 0), 0, 4, 1, 1, 4),
    ("osu_mbw_mr-8", (8, 8), "13.0.0", (18980, 18980), (0, 0), (0, 0), 0, 2, 1, 1, 64),
    ("osu_latency_mt-2", (2, 2), "13.0.0", (576, 576), (0, 0), (0, 0), 0, 2, 1, 3, 0),
    ("imb-mpi1-4", (4, 4), "13.0.0", (2022, 2022), (0, 0), (672, 2016), 0, 3, 4, 1, 0),
    ("imb-mt-4", (4, 4), "13.0.0", (4224, 4224), (0, 0), (0, 0), 0, 1, 2, 2, 16),
    ("quicksilver-8", (8, 8), "13.0.0", (42, 168), (0, 0), (0, 0), 126, 2, 1, 1, 7),
    ("quicksilver-27", (27, 27), "13.0.0", (234, 936), (0, 0), (0, 0), 702, 2, 1, 1, 16),
    ("dumpi-testmpi-4", (4, 4), "13.0.0", (1572, 1572), (0, 0), (0, 0), 24, 10, 1, 1, 6),
    ("nersc-crystalrouter-rank0", (1, 10), "1.1.0", (16000, 16000), (0, 0), (0, 0), 0, 8, 1, 1, 1),
    ("nersc-minidft-rank0", (1, 9), "1.1.0", (641, 2276), (0, 0), (1822, 0), 0, 1229, 5, 1, 0),
];

#[derive(Default)]
struct Counts {
    sends: u32,
    receives: u32,
    persistent: u32,
    starts: u32,
    any_source: u32,
    any_tag: u32,
    cancels: u32,
    tags: BTreeSet<Option<i32>>,
    comms: BTreeSet<CommId>,
    threads: BTreeSet<u16>,
    posted: usize,
}

#[derive(Default)]
struct Posted {
    persistent: BTreeSet<RequestId>,
    now: BTreeSet<RequestId>,
}

impl Counts {
    fn send(&mut self, tag: i32) {
        self.sends += 1;
        self.tags.insert(Some(tag));
    }

    fn receive(&mut self, args: &ReceiveArgs) {
        self.receives += 1;
        self.any_source += u32::from(args.source == Peer::Any);
        self.any_tag += u32::from(args.tag == TagArg::Any);
        self.tag(args.tag);
    }

    fn tag(&mut self, tag: TagArg) {
        self.tags.insert(match tag {
            TagArg::Is(tag) => Some(tag),
            TagArg::Any => None,
        });
    }

    fn call(&mut self, call: &Call, posted: &mut Posted) {
        self.threads.insert(call.thread);
        match &call.action {
            Action::Send { args, .. } | Action::SendInit { args, .. } => {
                self.send(args.tag);
                self.comms.insert(args.comm);
            }
            Action::Receive { args, request, .. } => {
                self.receive(args);
                self.comms.insert(args.comm);
                posted.now.extend(*request);
            }
            Action::ReceiveInit { args, request } => {
                self.persistent += 1;
                self.receive(args);
                posted.persistent.insert(*request);
            }
            Action::SendReceive { send, receive, .. } => {
                self.send(send.tag);
                self.receive(receive);
            }
            Action::Probe { args, .. } => self.tag(args.tag),
            Action::Start => {
                self.starts += 1;
                posted.now.extend(call.requests.iter().filter(|request| posted.persistent.contains(request)));
            }
            Action::Cancel => self.cancels += 1,
            Action::Complete { .. } => {
                for done in &call.completions {
                    posted.now.remove(&call.requests[done.index as usize]);
                }
            }
            _ => {}
        }
        self.posted = self.posted.max(posted.now.len());
    }
}

#[test]
fn real_traces_have_known_counts() {
    for &(name, (streams, ranks), version, sent, persistent, any, cancels, tags, comms, threads, most) in
        KNOWN
    {
        let Some(real) = REAL.get(name) else { continue };
        let trace = opened(&real.folder);
        let mut counts = Counts::default();
        for rank in trace.present() {
            let mut posted = Posted::default();
            calls(&*trace, *rank).iter().for_each(|call| counts.call(call, &mut posted));
        }
        let description = trace.description();
        assert_eq!((trace.present().len(), description.ranks), (streams, ranks), "{name}");
        assert_eq!(description.format, format!("DUMPI {version}"), "{name}");
        assert_eq!((counts.sends, counts.receives), sent, "{name}");
        assert_eq!((counts.persistent, counts.starts), persistent, "{name}");
        assert_eq!((counts.any_source, counts.any_tag), any, "{name}");
        assert_eq!(counts.cancels, cancels, "{name}");
        assert_eq!(counts.tags.len(), tags, "{name}");
        assert_eq!(counts.comms.len(), comms, "{name}");
        assert_eq!((counts.threads.len(), counts.posted), (threads, most), "{name}");
    }
}
