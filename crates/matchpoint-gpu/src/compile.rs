//! Compilation of kernels by NVRTC, which is loaded at the first use: a build needs no part of CUDA.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fmt::{self, Display};

use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys;

use crate::batch::Layout;
use crate::kernels::Program;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    Missing,
    /// NVRTC refused the source. The text is NVRTC's log.
    Refused(String),
}

impl Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Missing => f.write_str(
                "libnvrtc, which compiles kernels, is not installed\nhint: install the CUDA toolkit, or the Python \
                 package nvidia-cuda-nvrtc-cu12, and add the folder of libnvrtc.so.12 to LD_LIBRARY_PATH",
            ),
            CompileError::Refused(log) => write!(f, "NVRTC cannot compile the kernel: {log}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Compiles a program for an architecture such as `sm_90` into machine code (a CUBIN). A driver would compile
/// PTX again, and refuses PTX of a newer CUDA than its own.
///
/// # Errors
/// NVRTC is missing, does not know the architecture, or refuses the source.
pub fn compile(program: Program, layout: Layout, architecture: &str) -> Result<Vec<u8>, CompileError> {
    // Without this check, the first call of an NVRTC function panics if the library is missing. SAFETY: loads
    // the library, as that call does.
    if !unsafe { sys::is_culib_present() } {
        return Err(CompileError::Missing);
    }
    let refused = |error: NvrtcError| CompileError::Refused(format!("{:?}", error.0));
    let text = |text: String| CString::new(text).expect("sources and options have no zeros");
    let source = text(program.source(layout));
    let name = text(program.kernels()[0].name().to_owned());
    let created = result::create_program(&source, Some(&name)).map_err(refused)?;
    let compiled = Compilation(created);
    let options = ["--std=c++17".to_owned(), format!("--gpu-architecture={architecture}")];
    // SAFETY: the program was created and is not destroyed yet.
    if let Err(error) = unsafe { result::compile_program(compiled.0, &options) } {
        // SAFETY: the program is not destroyed yet. NVRTC ends a log with a zero.
        let log = unsafe { result::get_program_log(compiled.0) }.map_err(refused)?;
        let log: Vec<u8> =
            log.into_iter().map(|letter| letter as u8).take_while(|&letter| letter != 0).collect();
        let log = String::from_utf8_lossy(&log).trim().to_owned();
        return Err(if log.is_empty() { refused(error) } else { CompileError::Refused(log) });
    }
    let mut bytes = 0;
    // SAFETY: the program is valid; the function writes one number.
    unsafe { sys::nvrtcGetCUBINSize(compiled.0, &raw mut bytes) }.result().map_err(refused)?;
    let mut instructions = vec![0u8; bytes];
    // SAFETY: the program is valid; the vector has `bytes` bytes.
    unsafe { sys::nvrtcGetCUBIN(compiled.0, instructions.as_mut_ptr().cast()) }.result().map_err(refused)?;
    Ok(instructions)
}

/// Major and minor version of NVRTC's CUDA, or `None` without NVRTC.
pub(crate) fn version() -> Option<(i32, i32)> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is present; the function writes two numbers.
    let asked = unsafe {
        sys::is_culib_present().then(|| sys::nvrtcVersion(&raw mut major, &raw mut minor).result())
    };
    asked?.ok().map(|()| (major, minor))
}

struct Compilation(sys::nvrtcProgram);

impl Drop for Compilation {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once. A failure only leaks memory.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}
