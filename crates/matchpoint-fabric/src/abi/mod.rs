//! libfabric's public interface: the structures and constants of `rdma/*.h` and `rdma/providers/*.h`.
//!
//! Names have no prefix `fi_`. libfabric's manual pages describe the items. This crate neither links
//! libfabric nor needs its headers. The declared fields exist in all versions from 1.17 on, because new
//! versions add fields only at the end of structures. The exception is `fi_peer_rx_entry`, in [`peer`].
#![allow(missing_docs)]

/// Declares a table of functions with the object as first argument, and implements [`crate::lock::Lockable`].
macro_rules! table {
    ($(#[$doc:meta])* $table:ident in $object:ident.$slot:ident {
        $($name:ident($($argument:ident: $kind:ty),* $(,)?) -> $result:ty;)*
    }) => {
        $(#[$doc])*
        #[repr(C)]
        #[allow(clippy::type_complexity)]
        pub struct $table {
            pub size: usize,
            $(pub $name: Option<unsafe extern "C" fn(*mut $object, $($kind),*) -> $result>,)*
        }

        // SAFETY: a size, then only function pointers.
        unsafe impl crate::patch::Table for $table {}

        impl crate::lock::Lockable for $table {
            fn add_locking(&mut self) {
                $({
                    #[allow(clippy::too_many_arguments)]
                    unsafe extern "C" fn locked(object: *mut $object, $($argument: $kind),*) -> $result {
                        // SAFETY: called through the object's patched table.
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

/// Index of a peer in the address vector.
pub type Addr = u64;

/// Any peer, or an unknown peer (`FI_ADDR_UNSPEC`, `FI_ADDR_NOTAVAIL`).
pub const ADDR_UNSPEC: Addr = u64::MAX;

pub const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}
