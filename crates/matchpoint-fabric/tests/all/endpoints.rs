//! Endpoints and queues, as applications other than MPI libraries open, use and close them.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;
use std::sync::Once;

use crate::mock;
use crate::mock::opened::{BOTH, Opened, close, open, open_domain, open_endpoint};
use crate::mock::world;
use matchpoint_fabric::abi::*;

const VERSION: u32 = version(2, 5);
/// Value of libfabric's `FI_THREAD_SAFE`.
const THREAD_SAFE: i32 = 1;

fn install_core() {
    static CHOICE: Once = Once::new();
    // SAFETY: only Rust functions read the environment of a test.
    CHOICE.call_once(|| unsafe { std::env::set_var("MATCHPOINT_CORE", "mock") });
    mock::objects::install(VERSION);
    mock::begin(3, true, VERSION, 0);
}

fn open_endpoints(count: usize) -> Vec<Opened> {
    // SAFETY: the core provider is initialized.
    unsafe { open(count, CQ_FORMAT_TAGGED, BOTH) }
}

fn send_message(from: &Opened, to: Addr, tag: Option<u64>) {
    let (buf, len, none) = (b"eight by".as_ptr().cast(), 8, ptr::null_mut());
    // SAFETY: the endpoint is enabled. The bytes are static.
    let rc = unsafe {
        match tag {
            Some(tag) => (*(*from.ep).tagged).send.expect("it sends")(from.ep, buf, len, none, to, tag, none),
            None => (*(*from.ep).msg).send.expect("it sends")(from.ep, buf, len, none, to, none),
        }
    };
    assert_eq!(rc, 0);
}

fn post_receive(at: &Opened, from: Addr, tag: Option<u64>, context: usize) {
    let (room, context) = ([0_u8; 8].to_vec().leak(), context as *mut c_void);
    let (buf, len, none) = (room.as_mut_ptr().cast(), room.len(), ptr::null_mut());
    // SAFETY: the endpoint is enabled. The buffer is leaked.
    let rc = unsafe {
        match tag {
            Some(tag) => {
                let receive = (*(*at.ep).tagged).recv.expect("it receives");
                receive(at.ep, buf, len, none, from, tag, 0, context)
            }
            None => (*(*at.ep).msg).recv.expect("it receives")(at.ep, buf, len, none, from, context),
        }
    };
    assert_eq!(rc, 0);
}

/// Reads completions of all endpoints `times` times.
fn read_contexts(all: &[Opened], times: usize) -> Vec<usize> {
    let mut complete = Vec::new();
    for at in all.iter().cycle().take(all.len() * times) {
        // SAFETY: zeros are valid entries. The queue is open, and the buffer is large enough.
        unsafe {
            let mut entries: [CqTaggedEntry; 8] = zeroed();
            let read = (*(*at.cq).ops).readfrom.expect("it reads");
            let rc = read(at.cq, entries.as_mut_ptr().cast(), 8, ptr::null_mut());
            let read = usize::try_from(rc).unwrap_or(0);
            complete.extend(entries[..read].iter().map(|entry| entry.op_context as usize));
        }
    }
    complete.retain(|&context| context != 0);
    complete
}

#[test]
fn getinfo_accepts_own_info() {
    install_core();
    // SAFETY: valid calls of an application.
    let rc = unsafe {
        let (info, _) = open_domain();
        let mut again = ptr::null_mut();
        let getinfo = (*matchpoint_fabric::fi_prov_ini()).getinfo.expect("a provider has it");
        getinfo(version(2, 0), ptr::null(), ptr::null(), 0, info, &raw mut again)
    };
    assert_eq!(rc, 0);
}

#[test]
fn device_buffers_are_refused() {
    install_core();
    // SAFETY: valid calls of an application. The first `fi_info` is complete.
    let rc = unsafe {
        let (info, _) = open_domain();
        (*info).caps |= flags::HMEM;
        let mut again = ptr::null_mut();
        let getinfo = (*matchpoint_fabric::fi_prov_ini()).getinfo.expect("a provider has it");
        getinfo(version(2, 0), ptr::null(), ptr::null(), 0, info, &raw mut again)
    };
    assert_eq!(rc, -errno::ENODATA);
}

#[test]
fn undirected_receives_take_any_source() {
    for tag in [Some(5), None] {
        install_core();
        world().caps = flags::TAGGED | flags::MSG;
        let all = open_endpoints(3);
        let to = all[1].insert(&all[0]);
        let (_, other) = (all[0].insert(&all[1]), all[0].insert(&all[2]));
        post_receive(&all[0], other, tag, 21);
        send_message(&all[1], to, tag);
        assert_eq!(read_contexts(&all, 100), [21], "{tag:?}");
    }
}

#[test]
fn only_tagged_receives_may_name_sources() {
    install_core();
    world().caps = flags::TAGGED | flags::MSG | flags::TAGGED_DIRECTED_RECV;
    let all = open_endpoints(3);
    let to = all[1].insert(&all[0]);
    let (_, other) = (all[0].insert(&all[1]), all[0].insert(&all[2]));
    post_receive(&all[0], other, None, 21);
    post_receive(&all[0], other, Some(5), 22);
    send_message(&all[1], to, None);
    send_message(&all[1], to, Some(5));
    assert_eq!(read_contexts(&all, 100), [21]);
}

#[test]
fn signal_wakes_waiting_reader() {
    for threading in [THREAD_DOMAIN, THREAD_SAFE] {
        install_core();
        world().threading = threading;
        let cq = open_endpoints(1)[0].cq;
        // SAFETY: an all-zero entry is valid. The queue is open, and a buffer for one entry.
        let rc = unsafe {
            let mut entry: CqTaggedEntry = zeroed();
            assert_eq!((*(*cq).ops).signal.expect("it can be signaled")(cq), 0);
            let sleep = (*(*cq).ops).sread.expect("it sleeps");
            sleep(cq, (&raw mut entry).cast(), 1, ptr::null(), 60_000)
        };
        assert_eq!(rc, -(errno::EAGAIN as isize), "{threading}");
        assert_eq!(world().slept, []);
    }
}

/// The core provider has no event that would wake the thread.
#[test]
fn pending_completion_prevents_sleep() {
    install_core();
    let all = open_endpoints(1);
    let may_sleep = || {
        let fabric = world().fabric;
        let mut fid = all[0].cq.cast::<Fid>();
        // SAFETY: an open fabric, and one of its queues.
        unsafe { (*(*fabric).ops).trywait.expect("it can be tried")(fabric, &raw mut fid, 1) == 0 }
    };
    assert!(may_sleep());
    let mut context = [0_usize; 8];
    let context = context.as_mut_ptr().cast();
    assert_eq!(receive_with(flags::PEEK, &all[0], 5, context), 0);
    assert!(!may_sleep());
    assert_eq!(read_error(&all[0]).op_context, context);
    assert!(may_sleep());
}

#[test]
fn never_enabled_endpoint_can_be_closed() {
    install_core();
    // SAFETY: valid calls of an application.
    unsafe {
        let (info, domain) = open_domain();
        let ep = open_endpoint(info, domain);
        close(&raw mut (*ep).fid);
    }
}

#[test]
fn second_endpoint_is_left_to_core() {
    install_core();
    world().queues_left = 1;
    let all = open_endpoints(2);
    let to = all[1].insert(&all[0]);
    all[0].insert(&all[1]);
    post_receive(&all[0], ADDR_UNSPEC, Some(5), 21);
    send_message(&all[1], to, Some(5));
    assert_eq!(read_contexts(&all, 100), [21]);
}

#[test]
fn core_without_queue_keeps_tables() {
    install_core();
    world().threading = THREAD_SAFE;
    world().queues_left = 0;
    let ep = open_endpoints(1)[0].ep;
    // SAFETY: the endpoint is enabled.
    let rc = unsafe {
        let write = (*(*ep).rma).write.expect("it writes");
        write(ep, ptr::null(), 0, ptr::null_mut(), 0, 0, 0, ptr::null_mut())
    };
    assert_eq!((rc, world().writes), (0, 1));
}

fn receive_with(flags: u64, at: &Opened, tag: u64, context: *mut c_void) -> isize {
    let room = [0_u8; 8].to_vec().leak();
    let iov = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let (msg_iov, desc, addr) = (&raw const iov, ptr::null_mut(), ADDR_UNSPEC);
    let msg = MsgTagged { msg_iov, desc, iov_count: 1, addr, tag, ignore: 0, context, data: 0 };
    // SAFETY: the endpoint is enabled. The buffer is leaked.
    unsafe { (*(*at.ep).tagged).recvmsg.expect("it receives")(at.ep, &raw const msg, flags) }
}

#[test]
fn claim_without_message_returns_enomsg() {
    const NOTHING: isize = -(errno::ENOMSG as isize);
    install_core();
    let all = open_endpoints(2);
    let to = all[1].insert(&all[0]);
    all[0].insert(&all[1]);
    let mut contexts = [[usize::MAX; 8]; 2];
    let [one, other] = contexts.each_mut().map(|context| context.as_mut_ptr().cast::<c_void>());
    assert_eq!(receive_with(flags::CLAIM, &all[0], 5, one), NOTHING, "nobody has looked for it");
    assert_eq!(receive_with(flags::PEEK | flags::CLAIM, &all[0], 5, one), 0);
    assert_eq!(receive_with(flags::CLAIM, &all[0], 5, one), NOTHING, "nothing was found");
    assert_eq!(read_error(&all[0]).op_context, one);
    send_message(&all[1], to, Some(5));
    read_contexts(&all, 100);
    assert_eq!(receive_with(flags::PEEK | flags::CLAIM, &all[0], 5, one), 0);
    assert_eq!(receive_with(flags::CLAIM, &all[0], 5, other), NOTHING, "another has it");
    assert_eq!(receive_with(flags::CLAIM, &all[0], 5, one), 0);
    assert_eq!(receive_with(flags::CLAIM, &all[0], 5, one), NOTHING, "it was received");
    assert_eq!(read_contexts(&all, 100), [one as usize; 2]);
}

fn read_error(at: &Opened) -> CqErrEntry {
    // SAFETY: an all-zero entry is valid. The queue is open.
    unsafe {
        let mut error: CqErrEntry = zeroed();
        assert_eq!((*(*at.cq).ops).readerr.expect("it reads errors")(at.cq, &raw mut error, 0), 1);
        error
    }
}

#[test]
fn endpoint_works_after_failed_close() {
    install_core();
    let all = open_endpoints(2);
    let to = all[1].insert(&all[0]);
    all[0].insert(&all[1]);
    let ep = all[0].ep;
    // SAFETY: the endpoint is open.
    let close = || unsafe {
        let fid = &raw mut (*ep).fid;
        (*(*fid).ops).close.expect("every object can be closed")(fid)
    };
    world().refuses_close = true;
    assert_eq!(close(), -libc::EBUSY);
    post_receive(&all[0], ADDR_UNSPEC, Some(5), 21);
    send_message(&all[1], to, Some(5));
    assert_eq!(read_contexts(&all, 100), [21]);
    world().refuses_close = false;
    assert_eq!(close(), 0);
}
