//! libfabric's public interface, as far as a provider between an application and a core provider meets it: the
//! structures of `rdma/*.h` and `rdma/providers/*.h` under their own names without `fi_`, and the constants.
//!
//! libfabric is loaded by the MPI library, in versions from 1.17 on, so nothing here is linked against and no header is
//! needed to build. Structures only ever grow at their end; what is read here exists in all of those versions. The one
//! structure that changed in place, `fi_peer_rx_entry`, is in [`peer`].

/// A table of functions that take the same object first: the structure, and how each of them is made to wait for a lock
/// ([`crate::lock`]).
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

        // SAFETY: declared so above.
        unsafe impl crate::patch::Table for $table {}

        impl crate::lock::Lockable for $table {
            fn wait_for_lock(&mut self) {
                $({
                    #[allow(clippy::too_many_arguments)]
                    unsafe extern "C" fn locked(object: *mut $object, $($argument: $kind),*) -> $result {
                        // SAFETY: called through a table of ours that is installed in the object.
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

/// `fi_addr_t`: a peer, as the address vector numbers it.
pub type Addr = u64;

/// `FI_ADDR_UNSPEC`, `FI_ADDR_NOTAVAIL`: any peer, or one that is not known.
pub const ADDR_UNSPEC: Addr = u64::MAX;

/// `FI_VERSION`.
pub const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}
