//! Objects of the simulated core provider: open, bind, enable and close.

use std::ffi::{c_char, c_int, c_void};
use std::mem::zeroed;
use std::ptr;

use matchpoint_fabric::abi::peer::PeerSrxContext;
use matchpoint_fabric::abi::*;
use matchpoint_fabric::library::Library;

use super::core::*;
use super::*;

/// A leaked table with only these functions.
macro_rules! table {
    ($type:ty; $($name:ident: $function:expr),* $(,)?) => {{
        // SAFETY: an all-zero value is a valid table without functions.
        #[allow(unused_unsafe)]
        let mut table: $type = unsafe { zeroed() };
        table.size = size_of::<$type>();
        $(table.$name = Some($function);)*
        Box::into_raw(Box::new(table))
    }};
}

unsafe extern "C" fn dupinfo(info: *const Info) -> *mut Info {
    // SAFETY: zeros are attributes. The caller's attributes are complete. `freeinfo` frees the copy.
    unsafe {
        let new = Box::into_raw(Box::new(zeroed::<Info>()));
        (*new).tx_attr = Box::into_raw(Box::new(zeroed()));
        (*new).rx_attr = Box::into_raw(Box::new(zeroed()));
        (*new).ep_attr = Box::into_raw(Box::new(zeroed()));
        (*new).domain_attr = Box::into_raw(Box::new(zeroed()));
        (*new).fabric_attr = Box::into_raw(Box::new(zeroed()));
        if let Some(old) = info.as_ref() {
            (*new).caps = old.caps;
            (*new).mode = old.mode;
            ptr::copy_nonoverlapping(old.tx_attr, (*new).tx_attr, 1);
            ptr::copy_nonoverlapping(old.rx_attr, (*new).rx_attr, 1);
            ptr::copy_nonoverlapping(old.ep_attr, (*new).ep_attr, 1);
            ptr::copy_nonoverlapping(old.domain_attr, (*new).domain_attr, 1);
            ptr::copy_nonoverlapping(old.fabric_attr, (*new).fabric_attr, 1);
            let name = (*old.fabric_attr).prov_name;
            (*(*new).fabric_attr).prov_name = if name.is_null() { name } else { libc::strdup(name) };
        }
        new
    }
}

unsafe extern "C" fn freeinfo(info: *mut Info) {
    // SAFETY: allocated by `dupinfo`.
    unsafe {
        libc::free((*(*info).fabric_attr).prov_name.cast());
        drop(Box::from_raw((*info).tx_attr));
        drop(Box::from_raw((*info).rx_attr));
        drop(Box::from_raw((*info).ep_attr));
        drop(Box::from_raw((*info).domain_attr));
        drop(Box::from_raw((*info).fabric_attr));
        drop(Box::from_raw(info));
    }
}

unsafe extern "C" fn getinfo(
    _: u32,
    _: *const c_char,
    _: *const c_char,
    _: u64,
    hints: *const Info,
    to: *mut *mut Info,
) -> c_int {
    // SAFETY: the caller passes valid hints.
    unsafe {
        let info = dupinfo(hints);
        (*(*info).tx_attr).iov_limit = 8;
        (*(*info).rx_attr).iov_limit = 8;
        (*(*info).tx_attr).inject_size = world().inject_bytes;
        (*(*info).ep_attr).mem_tag_format = u64::MAX;
        (*(*info).domain_attr).data_progress = PROGRESS_AUTO;
        *to = info;
    }
    0
}

unsafe extern "C" fn close_any(_: *mut Fid) -> c_int {
    0
}

fn fid_ops() -> *mut Ops {
    table!(Ops; close: close_any)
}

unsafe extern "C" fn open_fabric(_: *mut FabricAttr, to: *mut *mut FidFabric, _: *mut c_void) -> c_int {
    // SAFETY: an all-zero value is a valid object. The caller provides the output pointer.
    unsafe {
        let mut fabric: FidFabric = zeroed();
        fabric.fid.ops = fid_ops();
        fabric.ops = table!(OpsFabric; domain: open_domain, trywait: try_wait);
        world().fabric = Box::into_raw(Box::new(fabric));
        *to = world().fabric;
    }
    0
}

unsafe extern "C" fn try_wait(_: *mut FidFabric, _: *mut *mut Fid, _: c_int) -> c_int {
    0
}

unsafe extern "C" fn open_domain(
    _: *mut FidFabric,
    _: *mut Info,
    to: *mut *mut FidDomain,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an all-zero value is a valid object.
    unsafe {
        let mut domain: FidDomain = zeroed();
        domain.fid.ops = fid_ops();
        let ops = table!(OpsDomain; av_open: open_av, cq_open: open_cq, endpoint: open_ep);
        if world().accepts_peers {
            (*ops).srx_ctx = Some(open_srx);
        }
        domain.ops = ops;
        *to = Box::into_raw(Box::new(domain));
    }
    0
}

unsafe extern "C" fn open_srx(
    _: *mut FidDomain,
    _: *mut RxAttr,
    to: *mut *mut FidEp,
    context: *mut c_void,
) -> c_int {
    if world().queues_left == 0 {
        return -errno::EINVAL;
    }
    world().queues_left -= 1;
    // SAFETY: the context of a peer's queue.
    unsafe {
        let srx = (*context.cast::<PeerSrxContext>()).srx;
        (*srx).peer_ops = peer_ops();
        world().srx = srx;
        let mut own: FidEp = zeroed();
        own.fid.class = CLASS_SRX_CTX;
        own.fid.ops = fid_ops();
        *to = Box::into_raw(Box::new(own));
    }
    0
}

unsafe extern "C" fn open_av(
    _: *mut FidDomain,
    _: *mut AvAttr,
    to: *mut *mut FidAv,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the context of a peer's queue.
    unsafe {
        let mut fid: FidAv = zeroed();
        fid.fid.class = CLASS_AV;
        fid.fid.ops = fid_ops();
        fid.ops = table!(OpsAv; insert: insert, remove: remove, lookup: lookup);
        *to = Box::into_raw(Box::new(Av { fid, knows: HashSet::new() })).cast();
    }
    0
}

unsafe extern "C" fn insert(
    av: *mut FidAv,
    addresses: *const c_void,
    count: usize,
    to: *mut Addr,
    _: u64,
    _: *mut c_void,
) -> c_int {
    for at in 0..count {
        // SAFETY: the address vector is an object of this module, and the caller's arrays.
        unsafe {
            let addr = addresses.cast::<u64>().add(at).read_unaligned();
            (*av.cast::<Av>()).knows.insert(addr);
            if !to.is_null() {
                *to.add(at) = addr;
            }
        }
    }
    for &ep in world().endpoints.iter() {
        // SAFETY: endpoints and their peers' queues live until they are closed.
        unsafe {
            if (*ep).av == av.cast() && !(*ep).srx.is_null() {
                ((*(*(*ep).srx).owner_ops).foreach_unspec_addr)((*ep).srx, sender_of);
            }
        }
    }
    count as c_int
}

unsafe extern "C" fn sender_of(pointer: *mut c_void) -> Addr {
    // SAFETY: an entry that this core provider queued.
    unsafe {
        let entry = &*entry_of(pointer);
        (*entry.owner_context.cast::<Ep>()).source_of((*entry.peer_context.cast::<Message>()).from)
    }
}

unsafe extern "C" fn remove(av: *mut FidAv, addrs: *mut Addr, count: usize, _: u64) -> c_int {
    for at in 0..count {
        // SAFETY: the address vector is an object of this module, and the caller's array.
        unsafe { (*av.cast::<Av>()).knows.remove(&*addrs.add(at)) };
    }
    0
}

unsafe extern "C" fn lookup(_: *mut FidAv, addr: Addr, to: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: the caller provides the output buffers.
    unsafe {
        to.cast::<u64>().write_unaligned(addr);
        *length = 8;
    }
    0
}

unsafe extern "C" fn open_cq(
    _: *mut FidDomain,
    attr: *mut CqAttr,
    to: *mut *mut FidCq,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the caller provides the output buffers.
    unsafe {
        assert_eq!((*attr).format, CQ_FORMAT_TAGGED, "the core's entries are the longest");
        let mut fid: FidCq = zeroed();
        fid.fid.class = CLASS_CQ;
        fid.fid.ops = fid_ops();
        fid.ops = table!(OpsCq; readfrom: readfrom, readerr: readerr, sreadfrom: sreadfrom, signal: signal);
        *to = Box::into_raw(Box::new(Cq { fid, ring: VecDeque::new(), endpoints: Vec::new() })).cast();
    }
    0
}

unsafe extern "C" fn open_ep(_: *mut FidDomain, _: *mut Info, to: *mut *mut FidEp, _: *mut c_void) -> c_int {
    // SAFETY: an all-zero value is a valid object. All other fields are set here.
    unsafe {
        let mut fid: FidEp = zeroed();
        fid.fid.ops = table!(Ops; close: close_ep, bind: bind, control: control);
        fid.ops = table!(OpsEp; cancel: cancel);
        fid.msg = table!(OpsMsg; send: untagged_send);
        fid.rma = table!(OpsRma; write: write);
        fid.tagged = table!(OpsTagged; recvmsg: trecvmsg, send: tsend, sendmsg: tsendmsg, senddata: tsenddata,
            inject: tinject, injectdata: tinjectdata);
        let at = world().endpoints.len();
        let ep = Box::into_raw(Box::new(Ep {
            fid,
            at,
            av: ptr::null_mut(),
            rx_cq: ptr::null_mut(),
            tx_cq: ptr::null_mut(),
            tx_selective: false,
            rx_selective: false,
            srx: ptr::null_mut(),
            peer_msg_ops: ptr::null_mut(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            inbox: VecDeque::new(),
            started: VecDeque::new(),
            sent: Vec::new(),
        }));
        world().endpoints.push(ep);
        *to = ep.cast();
    }
    0
}

unsafe extern "C" fn bind(fid: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: objects of this module.
    unsafe {
        let ep = &mut *fid.cast::<Ep>();
        match (*to).class {
            CLASS_AV => ep.av = to.cast(),
            CLASS_SRX_CTX => ep.srx = world().srx,
            CLASS_CQ => {
                let (cq, selective) = (to.cast::<Cq>(), flags & flags::SELECTIVE_COMPLETION != 0);
                if flags & flags::RECV != 0 {
                    (ep.rx_cq, ep.rx_selective) = (cq, selective);
                }
                if flags & flags::SEND != 0 {
                    (ep.tx_cq, ep.tx_selective) = (cq, selective);
                }
                if !(*cq).endpoints.contains(&fid.cast()) {
                    (*cq).endpoints.push(fid.cast());
                }
            }
            _ => {}
        }
    }
    0
}

unsafe extern "C" fn control(fid: *mut Fid, _: c_int, _: *mut c_void) -> c_int {
    // SAFETY: an object of this module.
    let ep = unsafe { &mut *fid.cast::<Ep>() };
    if ep.av.is_null() || ep.rx_cq.is_null() && ep.tx_cq.is_null() {
        return -errno::EINVAL;
    }
    if !ep.srx.is_null() {
        ep.peer_msg_ops = table!(OpsMsg; send: untagged_send);
        ep.fid.msg = ep.peer_msg_ops;
    }
    0
}

unsafe extern "C" fn close_ep(fid: *mut Fid) -> c_int {
    // SAFETY: an object of this module. Its slot stays: other endpoints keep their numbers.
    unsafe {
        let ep = &mut *fid.cast::<Ep>();
        // A core provider detects the owner of a queue by this table.
        assert!(
            ep.srx.is_null() || ep.fid.msg == ep.peer_msg_ops,
            "the core closes a queue that is not its own"
        );
        if world().refuses_close {
            return -libc::EBUSY;
        }
        for cq in [ep.rx_cq, ep.tx_cq] {
            if !cq.is_null() {
                (*cq).endpoints.retain(|&bound| bound != fid.cast());
            }
        }
    }
    0
}

pub fn install(version: u32) {
    Library { getinfo, open_fabric, freeinfo, dupinfo, version }.install();
}
