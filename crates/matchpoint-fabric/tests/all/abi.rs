//! The structures of `abi` have the layout of libfabric's headers.
//!
//! The expected numbers are `offsetof` and `sizeof` (gcc 12, x86-64) with the headers of 1.17.0, 1.19.0,
//! 1.22.0, 2.0.0, 2.3.0 and 2.5.1. The first test has the numbers that are equal in all versions.

use std::mem::{offset_of, size_of};

use matchpoint_fabric::abi::peer::{
    FidPeerSrx, Layout, OpsSrxOwner, OpsSrxPeer, PeerMatchAttr, PeerRxEntry, PeerSrxContext,
};
use matchpoint_fabric::abi::{self, *};
use matchpoint_fabric::peer::entry::Entry;

/// The size is given for structures that have not grown since 1.17.
macro_rules! laid_out {
    ($type:ident: size $size:literal; $($field:ident $offset:literal),*) => {
        assert_eq!(size_of::<$type>(), $size, "size of {}", stringify!($type));
        laid_out!($type: $($field $offset),*);
    };
    ($type:ident: $($field:ident $offset:literal),*) => { $(
        assert_eq!(offset_of!($type, $field), $offset, "{}.{}", stringify!($type), stringify!($field));
    )* };
}

#[test]
fn structures_match_all_versions() {
    laid_out!(Fid: size 24; class 0, context 8, ops 16);
    laid_out!(Ops: close 8, bind 16, control 24, ops_open 32);
    laid_out!(Info: next 0, caps 8, mode 16, addr_format 24, src_addrlen 32, src_addr 48, handle 64, tx_attr 72,
        rx_attr 80, ep_attr 88, domain_attr 96, fabric_attr 104, nic 112);
    laid_out!(TxAttr: op_flags 16, inject_size 40, iov_limit 56, rma_iov_limit 64);
    laid_out!(RxAttr: size 64; op_flags 16, size 48, iov_limit 56);
    laid_out!(EpAttr: kind 0, max_msg_size 16, mem_tag_format 56, auth_key 88);
    laid_out!(DomainAttr: name 8, threading 16, av_type 32, mr_mode 36, cq_data_size 48, mr_iov_limit 128,
        caps 136, mode 144);
    laid_out!(FabricAttr: size 32; prov_name 16, api_version 28);
    laid_out!(Provider: version 0, fi_version 4, context 8, name 40, getinfo 48, fabric 56, cleanup 64);
    laid_out!(FidFabric: ops 24, api_version 32);
    laid_out!(OpsFabric: domain 8, trywait 40);
    laid_out!(FidDomain: ops 24, mr 32);
    laid_out!(OpsDomain: av_open 8, cq_open 16, endpoint 24, scalable_ep 32, cntr_open 40, srx_ctx 64);
    laid_out!(AvAttr: size 48; kind 0, count 8, flags 40);
    laid_out!(FidEp: size 80; ops 24, cm 32, msg 40, rma 48, tagged 56, atomic 64, collective 72);
    laid_out!(OpsEp: size 64; cancel 8, getopt 16, setopt 24);
    laid_out!(Msg: size 48; addr 24, context 32, data 40);
    laid_out!(MsgTagged: size 64; iov_count 16, addr 24, tag 32, ignore 40, context 48, data 56);
    laid_out!(OpsTagged: size 80; recv 8, recvv 16, recvmsg 24, send 32, sendv 40, sendmsg 48, inject 56,
        senddata 64, injectdata 72);
    laid_out!(CqTaggedEntry: size 48; flags 8, len 16, buf 24, data 32, tag 40);
    laid_out!(CqErrEntry: size 88; olen 48, err 56, prov_errno 60, err_data 64, err_data_size 72);
    laid_out!(CqAttr: size 40; format 16, wait_obj 20, wait_set 32);
    laid_out!(FidCq: ops 24);
    laid_out!(OpsCq: read 8, readfrom 16, readerr 24, sread 32, sreadfrom 40, signal 48, strerror 56);
    laid_out!(FidCntr: ops 24);
    laid_out!(OpsCntr: read 8, readerr 16, add 24, set 32, wait 40, adderr 48, seterr 56);
    laid_out!(OpsRma: read 8, readv 16, readmsg 24, write 32, writev 40, writemsg 48, inject 56,
        writedata 64, injectdata 72);
    laid_out!(OpsAtomic: write 8, writev 16, writemsg 24, inject 32, readwrite 40, readwritev 48,
        readwritemsg 56, compwrite 64, compwritev 72, compwritemsg 80, writevalid 88, readwritevalid 96,
        compwritevalid 104);
    laid_out!(OpsMr: reg 8, regv 16, regattr 24);
    laid_out!(OpsAv: insert 8, insertsvc 16, insertsym 24, remove 32, lookup 40);
    laid_out!(OpsMsg: recv 8, recvv 16, recvmsg 24, send 32, sendv 40, sendmsg 48, inject 56, senddata 64,
        injectdata 72);
    // 8, 24 and 40 bytes are the other completion formats.
    assert_eq!(offset_of!(CqTaggedEntry, flags), 8);
    assert_eq!(offset_of!(CqTaggedEntry, buf), 24);
    assert_eq!(offset_of!(CqTaggedEntry, tag), 40);
}

#[test]
fn error_tail_is_absent_before_1_20() {
    // The structure has 80 bytes in 1.17.0 and 1.19.0.
    assert_eq!(offset_of!(CqErrEntry, src_addr), 80);
}

#[test]
fn peer_structures_match_libfabric_2_3() {
    laid_out!(PeerRxEntry: size 96; srx 0, addr 8, msg_size 16, tag 24, cq_data 32, flags 40, context 48,
        count 56, desc 64, peer_context 72, owner_context 80, iov 88);
    laid_out!(PeerMatchAttr: size 24; addr 0, msg_size 8, tag 16);
    laid_out!(OpsSrxOwner: size 56; get_msg 8, get_tag 16, queue_msg 24, queue_tag 32, foreach_unspec_addr 40,
        free_entry 48);
    laid_out!(OpsSrxPeer: size 40; start_msg 8, start_tag 16, discard_msg 24, discard_tag 32);
    laid_out!(FidPeerSrx: size 96; owner_ops 80, peer_ops 88);
    laid_out!(PeerSrxContext: size 16; srx 8);
}

#[test]
fn older_peer_entries_begin_with_links() {
    // In 1.19.0, 1.22.0 and 2.0.0 the structure begins with two links (16 bytes) and has 112 bytes.
    assert_eq!(size_of::<PeerRxEntry>() + 16, 112);
    let entry = std::ptr::dangling_mut::<Entry>();
    let (linked, plain) = (Entry::to_core(entry, true) as usize, Entry::to_core(entry, false) as usize);
    assert_eq!(plain - linked, 16, "what the core sees begins 16 bytes earlier");
    for links in [false, true] {
        assert_eq!(Entry::from_core(Entry::to_core(entry, links), links), entry);
    }
    let of =
        |major, minor| Layout::of(abi::version(major, minor)).map(|layout| (layout.links, layout.by_attr));
    assert_eq!(of(1, 17), None);
    assert_eq!(of(1, 18), None);
    assert_eq!(of(1, 19), Some((true, false)));
    assert_eq!(of(1, 22), Some((true, false)));
    assert_eq!(of(2, 0), Some((true, true)));
    assert_eq!(of(2, 2), Some((true, true)));
    assert_eq!(of(2, 3), Some((false, true)));
    assert_eq!(of(2, 5), Some((false, true)));
}

#[test]
fn flags_match_libfabric() {
    let bits = [
        (flags::MSG, 1),
        (flags::TAGGED, 3),
        (flags::RECV, 10),
        (flags::SEND, 11),
        (flags::MULTI_RECV, 16),
        (flags::REMOTE_CQ_DATA, 17),
        (flags::PEEK, 19),
        (flags::COMPLETION, 24),
        (flags::INJECT, 25),
        (flags::REMOTE_COMM, 52),
        (flags::SOURCE, 57),
        (flags::DISCARD, 58),
        (flags::CLAIM, 59),
        (flags::DIRECTED_RECV, 59),
        (flags::SELECTIVE_COMPLETION, 59),
        (flags::PEER, 43),
        (flags::TAGGED_DIRECTED_RECV, 45),
    ];
    for (flag, bit) in bits {
        assert_eq!(flag, 1 << bit);
    }
}

#[test]
fn constants_match_libfabric() {
    assert_eq!(abi::EP_RDM, 3);
    assert_eq!(abi::THREAD_UNSPEC, 0);
    assert_eq!(abi::THREAD_DOMAIN, 3);
    assert_eq!(abi::CQ_FORMAT_CONTEXT, 1);
    assert_eq!(abi::CQ_FORMAT_MSG, 2);
    assert_eq!(abi::CQ_FORMAT_DATA, 3);
    assert_eq!(abi::CQ_FORMAT_TAGGED, 4);
    assert_eq!(abi::CLASS_SRX_CTX, 6);
    assert_eq!(abi::CLASS_AV, 11);
    assert_eq!(abi::CLASS_CQ, 14);
    assert_eq!(abi::ENABLE, 6);
    assert_eq!(abi::OPT_ENDPOINT, 0);
    assert_eq!(abi::OPT_MIN_MULTI_RECV, 0);
    assert_eq!(errno::EAVAIL, 259);
    assert_eq!(errno::ETRUNC, 265);
    assert_eq!(errno::ENOMSG, 42);
    assert_eq!(errno::ENODATA, 61);
    assert_eq!(errno::ECANCELED, 125);
    assert_eq!(errno::ENOPROTOOPT, 92);
}
