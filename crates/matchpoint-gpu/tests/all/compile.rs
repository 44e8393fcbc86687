//! NVRTC compiles every kernel for every supported architecture.

use std::path::Path;

use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use libloading::Library;
use matchpoint_gpu::batch::Layout;
use matchpoint_gpu::compile::{CompileError, compile};
use matchpoint_gpu::kernels::Program;

use crate::left_out;

const ARCHITECTURES: [&str; 3] = ["sm_70", "sm_80", "sm_90"];

/// Loads NVRTC from the folder in `MATCHPOINT_NVRTC`. Without the variable, the tests use the system's NVRTC,
/// or are omitted.
#[allow(unsafe_code)]
fn load_nvrtc() {
    let Some(folder) = std::env::var_os("MATCHPOINT_NVRTC") else { return };
    let path = Path::new(&folder).join("libnvrtc.so.12");
    // SAFETY: NVIDIA's library, without effects at load time. A later load by name gets it.
    std::mem::forget(
        unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    );
}

fn leave_out_nvrtc() {
    left_out::leave_out("no NVRTC", "`scripts/nvrtc`");
}

/// Machine of an ELF file with NVIDIA's instructions (`EM_CUDA`).
const CUDA: Option<u16> = Some(190);

fn machine(file: &[u8]) -> Option<u16> {
    let machine = file.strip_prefix(b"\x7fELF")?.get(14..16)?;
    Some(u16::from_le_bytes(machine.try_into().expect("two bytes")))
}

#[test]
fn every_kernel_compiles_for_every_architecture() {
    load_nvrtc();
    for architecture in ARCHITECTURES {
        for (program, layout) in
            Program::ALL.into_iter().flat_map(|program| Layout::ALL.map(|layout| (program, layout)))
        {
            match compile(program, layout, architecture) {
                Ok(instructions) => {
                    assert_eq!(machine(&instructions), CUDA, "{program:?} is not what a card executes");
                    for kernel in program.kernels() {
                        let section = format!("\0.text.{}\0", kernel.name());
                        let found =
                            instructions.windows(section.len()).any(|bytes| bytes == section.as_bytes());
                        assert!(found, "{program:?}, {layout:?}, {architecture}: no {}", kernel.name());
                    }
                }
                Err(CompileError::Missing) => return leave_out_nvrtc(),
                Err(error) => panic!("{program:?}, {layout:?}, {architecture}: {error}"),
            }
        }
    }
}

/// Each word of the ring moves alone, with acquire and release. Two words of one read have no order, nor has
/// a volatile word relative to other reads.
#[test]
fn ring_words_move_whole_in_order() {
    load_nvrtc();
    if let Err(CompileError::Missing) = compile(Program::Resident, Layout::Packed, "sm_70") {
        return leave_out_nvrtc();
    }
    for (arch, layout) in ARCHITECTURES.into_iter().flat_map(|arch| Layout::ALL.map(|layout| (arch, layout)))
    {
        // For a virtual architecture, NVRTC returns PTX, which is text.
        let arch = format!("--gpu-architecture={}", arch.replace("sm", "compute"));
        let options = CompileOptions { options: vec!["--std=c++17".to_owned(), arch], ..Default::default() };
        let text = compile_ptx_with_opts(Program::Resident.source(layout), options).unwrap().to_src();
        let (stays, feeds) = text.split_once(".entry feed_resident").expect("it comes last");
        let stays = stays.split_once(".entry match_resident").expect("it is there").1;
        for (kernel, moved) in [
            (stays, ["ld.acquire.sys.u64", "st.release.sys.u32"]),
            (feeds, ["ld.acquire.sys.u32", "st.release.sys.u64"]),
        ] {
            for word in moved {
                assert!(kernel.contains(word), "{layout:?} has no {word}");
            }
        }
        // A block reads its table in shared memory with volatile accesses.
        let volatile = text.lines().filter(|line| line.contains(".volatile.") && !line.contains(".shared."));
        assert_eq!(volatile.collect::<Vec<_>>(), Vec::<&str>::new(), "{layout:?}");
    }
}

#[test]
fn unknown_nvrtc_architecture_is_error() {
    load_nvrtc();
    match compile(Program::Matrix, Layout::Packed, "sm_1") {
        Err(CompileError::Missing) => leave_out_nvrtc(),
        Err(error @ CompileError::Refused(_)) => assert!(error.to_string().contains("NVRTC"), "{error}"),
        other => panic!("{other:?}"),
    }
}
