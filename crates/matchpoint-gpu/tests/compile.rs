//! Every kernel is CUDA C++ that NVRTC takes, for every architecture that it is meant for.

use std::path::Path;

use libloading::Library;
use matchpoint_gpu::batch::Layout;
use matchpoint_gpu::compile::{CompileError, compile};
use matchpoint_gpu::kernels::Program;

/// Volta, Ampere, Hopper.
const ARCHITECTURES: [&str; 3] = ["sm_70", "sm_80", "sm_90"];

/// Whether NVRTC must be there: then this says in which folder.
#[allow(unsafe_code)]
fn is_required() -> bool {
    let Some(folder) = std::env::var_os("MATCHPOINT_REQUIRE_NVRTC") else { return false };
    let path = Path::new(&folder).join("libnvrtc.so.12");
    // SAFETY: NVIDIA's library, which does nothing as it is loaded. Who loads it by its name later gets this.
    std::mem::forget(
        unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    );
    true
}

#[test]
fn every_kernel_compiles_for_every_architecture() {
    let is_required = is_required();
    for architecture in ARCHITECTURES {
        for (program, layout) in
            Program::ALL.into_iter().flat_map(|program| Layout::ALL.map(|layout| (program, layout)))
        {
            match compile(program, layout, architecture) {
                Ok(ptx) => {
                    let text = ptx.to_src();
                    for kernel in program.kernels() {
                        assert!(text.contains(&format!(".entry {}", kernel.name())), "{text}");
                    }
                    assert!(text.contains(&format!(".target {architecture}")), "{text}");
                }
                Err(CompileError::Missing) if !is_required => return,
                Err(error) => panic!("{program:?}, {layout:?}, {architecture}: {error}"),
            }
        }
    }
}

#[test]
fn an_architecture_that_nvrtc_does_not_know_is_an_error() {
    let is_required = is_required();
    match compile(Program::Matrix, Layout::Packed, "sm_1") {
        Err(CompileError::Missing) if !is_required => {}
        Err(error @ CompileError::Refused(_)) => assert!(error.to_string().contains("NVRTC"), "{error}"),
        other => panic!("{other:?}"),
    }
}
