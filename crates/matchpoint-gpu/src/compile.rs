//! Kernels compiled by NVRTC, which is looked for when it is first needed: nothing of CUDA is needed to build this.

use std::fmt::{self, Display};

use cudarc::nvrtc::{self, CompileOptions, Ptx};

use crate::batch::Layout;
use crate::kernels::Program;

/// Why a kernel was not compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// There is no NVRTC.
    Missing,
    /// It refused the source: what it said.
    Refused(String),
}

impl Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Missing => f.write_str(
                "libnvrtc, which compiles kernels, is not among the libraries of this system: install the CUDA toolkit, or \
                 the Python package nvidia-cuda-nvrtc-cu12, and add the folder of libnvrtc.so.12 to LD_LIBRARY_PATH",
            ),
            CompileError::Refused(log) => write!(f, "NVRTC does not compile the kernel: {log}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Compiles a program for an architecture, as `sm_90`.
///
/// # Errors
/// There is no NVRTC, or it does not know the architecture or refuses the source.
pub fn compile(program: Program, layout: Layout, architecture: &str) -> Result<Ptx, CompileError> {
    // Where there is none, the first call of a function of it would panic.
    // SAFETY: loads a library of that name, as the call below would; NVRTC's initialisation asks nothing of us.
    #[allow(unsafe_code)]
    let is_there = unsafe { nvrtc::sys::is_culib_present() };
    if !is_there {
        return Err(CompileError::Missing);
    }
    let options = CompileOptions {
        options: vec!["--std=c++17".to_owned(), format!("--gpu-architecture={architecture}")],
        name: Some(program.kernels()[0].name().to_owned()),
        ..CompileOptions::default()
    };
    nvrtc::compile_ptx_with_opts(program.source(layout), options).map_err(|error| match error {
        nvrtc::CompileError::CompileError { log, .. } => {
            CompileError::Refused(log.to_string_lossy().into_owned())
        }
        other => CompileError::Refused(format!("{other:?}")),
    })
}
