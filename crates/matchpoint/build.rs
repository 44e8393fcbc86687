//! Detects the AVX-512 intrinsics, stable since Rust 1.89 (Debian 13: 1.85). Older compilers omit the AVX-512
//! kernel.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(has_avx512_intrinsics)");
    if minor_version().is_some_and(|minor| minor >= 89) {
        println!("cargo::rustc-cfg=has_avx512_intrinsics");
    }
}

/// 89 for `rustc 1.89.0 (…)`.
fn minor_version() -> Option<u32> {
    let version = Command::new(std::env::var_os("RUSTC")?).arg("--version").output().ok()?;
    String::from_utf8(version.stdout).ok()?.split('.').nth(1)?.parse().ok()
}
