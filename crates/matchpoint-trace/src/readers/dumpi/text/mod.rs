//! The text that `dumpi2ascii` prints.

/// Whether a file that begins so is such text.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first.starts_with(b"version=")
        || (first.starts_with(b"MPI_") && first.windows(22).any(|at| at == b" entering at walltime "))
}
