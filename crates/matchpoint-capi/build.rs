//! Sets the SONAME of the shared library, which has the version of the interface, not of a release.

use std::env::var;

/// `MP_ABI_VERSION`; a test of this crate compares them.
const ABI_VERSION: u32 = 0;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmatchpoint.{ABI_VERSION}.dylib"
            );
        }
        Ok("linux" | "freebsd" | "netbsd" | "openbsd" | "android") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmatchpoint.so.{ABI_VERSION}");
        }
        _ => {}
    }
}
