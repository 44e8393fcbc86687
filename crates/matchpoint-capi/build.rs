//! Sets the SONAME of the shared library. The SONAME contains the version of the C interface, not of the
//! release.

use std::env::var;

/// A test compares this number with `MP_ABI_VERSION`.
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
