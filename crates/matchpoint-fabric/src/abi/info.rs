//! `struct fi_info` and its attributes.

use std::ffi::{c_char, c_int, c_void};

use super::Fid;

/// libfabric's `struct fi_info`.
#[repr(C)]
pub struct Info {
    /// The next element of a list.
    pub next: *mut Info,
    /// Capabilities.
    pub caps: u64,
    /// Requirements of the provider on the application.
    pub mode: u64,
    /// libfabric's `fi_addr_format`.
    pub addr_format: u32,
    /// Bytes at `src_addr`.
    pub src_addrlen: usize,
    /// Bytes at `dest_addr`.
    pub dest_addrlen: usize,
    /// The local address.
    pub src_addr: *mut c_void,
    /// The peer's address.
    pub dest_addr: *mut c_void,
    /// A related object.
    pub handle: *mut Fid,
    /// libfabric's `struct fi_tx_attr`.
    pub tx_attr: *mut TxAttr,
    /// libfabric's `struct fi_rx_attr`.
    pub rx_attr: *mut RxAttr,
    /// libfabric's `struct fi_ep_attr`.
    pub ep_attr: *mut EpAttr,
    /// libfabric's `struct fi_domain_attr`.
    pub domain_attr: *mut DomainAttr,
    /// libfabric's `struct fi_fabric_attr`.
    pub fabric_attr: *mut FabricAttr,
    /// libfabric's `struct fid_nic`.
    pub nic: *mut c_void,
}

/// libfabric's `struct fi_tx_attr`.
#[repr(C)]
#[allow(missing_docs)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

/// libfabric's `struct fi_rx_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

/// libfabric's `struct fi_ep_attr`.
#[repr(C)]
#[allow(missing_docs)]
pub struct EpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

/// The value of libfabric's `FI_EP_RDM`, of [`EpAttr::kind`].
pub const EP_RDM: c_int = 3;

/// libfabric's `struct fi_domain_attr`. Later versions have more fields at the end.
#[repr(C)]
#[allow(missing_docs)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
}

/// The value of libfabric's `FI_THREAD_UNSPEC`, of [`DomainAttr::threading`].
pub const THREAD_UNSPEC: c_int = 0;
/// The value of libfabric's `FI_THREAD_DOMAIN`.
pub const THREAD_DOMAIN: c_int = 3;
/// The value of libfabric's `FI_PROGRESS_AUTO`, of [`DomainAttr::data_progress`].
pub const PROGRESS_AUTO: c_int = 1;
/// The value of libfabric's `FI_PROGRESS_MANUAL`.
pub const PROGRESS_MANUAL: c_int = 2;

/// libfabric's `struct fi_fabric_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}
