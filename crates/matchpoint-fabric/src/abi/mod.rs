//! libfabric's public interface: the structures of `rdma/*.h` and `rdma/providers/*.h` without the prefix
//! `fi_`, and constants.
//!
//! The MPI library loads libfabric, in versions from 1.17 on. This crate neither links libfabric nor needs
//! its headers. New versions of libfabric add fields only at the end of structures. The fields declared here
//! exist in all versions from 1.17 on. One structure changed in place: `fi_peer_rx_entry`, in [`peer`].

/// Declares a table of functions that take the same object first. Implements [`crate::lock::Lockable`] for
/// the table.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident in $object:ident.$slot:ident {
        $($name:ident($($argument:ident: $kind:ty),* $(,)?) -> $result:ty;)*
    }) => {
        $(#[$doc])*
        #[repr(C)]
        #[allow(missing_docs, clippy::type_complexity)]
        pub struct $table {
            pub size: usize,
            $(pub $name: Option<unsafe extern "C" fn(*mut $object, $($kind),*) -> $result>,)*
        }

        // SAFETY: the structure begins with a size and has only function pointers after the size, as `Table`
        // requires.
        unsafe impl crate::patch::Table for $table {}

        impl crate::lock::Lockable for $table {
            fn add_locking(&mut self) {
                $({
                    #[allow(clippy::too_many_arguments)]
                    unsafe extern "C" fn locked(object: *mut $object, $($argument: $kind),*) -> $result {
                        // SAFETY: the call went through a patched table that is installed in the object.
                        unsafe {
                            let (_guard, below) = crate::lock::enter((*object).$slot);
                            below.$name.expect("only what is there is made to wait")(object, $($argument),*)
                        }
                    }
                    if self.$name.is_some() {
                        self.$name = Some(locked);
                    }
                })*
            }
        }
    };
}

pub mod completion;
pub mod domain;
pub mod endpoint;
pub mod errno;
pub mod fabric;
pub mod fid;
pub mod flags;
pub mod info;
pub mod internal;
pub mod peer;

pub use completion::*;
pub use domain::*;
pub use endpoint::*;
pub use fabric::*;
pub use fid::*;
pub use info::*;

/// `fi_addr_t`: a peer's number in the address vector.
pub type Addr = u64;

/// `FI_ADDR_UNSPEC`, `FI_ADDR_NOTAVAIL`: any peer, or an unknown peer.
pub const ADDR_UNSPEC: Addr = u64::MAX;

/// The value of libfabric's `FI_VERSION`.
pub const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}
