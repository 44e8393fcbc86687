//! Compiles the C driver of `matchpoint bench engines --through c`, optimized in every profile, as an MPI
//! library is.

fn main() {
    println!("cargo::rerun-if-changed=driver");
    println!("cargo::rerun-if-changed={INTERFACE}");
    cc::Build::new()
        .file("driver/driver.c")
        .include(INTERFACE)
        .opt_level(2)
        .debug(false)
        .std("gnu11")
        .extra_warnings(true)
        .compile("matchpoint_driver");
}

const INTERFACE: &str = "../matchpoint-capi/include";
