//! Chores of the repository: `cargo xtask --help`.

mod amplify;

use std::path::PathBuf;

use clap::Parser;

/// Chores of the repository.
#[derive(Parser)]
enum Chore {
    /// Make a long DUMPI trace of a short one, by repeating what happens between MPI_Init and MPI_Finalize.
    Amplify {
        /// Folder of a DUMPI trace, unpacked.
        from: PathBuf,
        /// Folder to write to; made if it is not there.
        to: PathBuf,
        /// How often.
        #[arg(long, default_value_t = 60)]
        times: u32,
    },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Chore::parse() {
        Chore::Amplify { from, to, times } => amplify::amplify(&from, &to, times),
    }
}
