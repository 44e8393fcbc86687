//! The benchmark, embedded in the command and compiled for the MPI library in use.

use std::path::Path;
use std::process::Command;

use matchpoint_record::compiler::{self, Compiled, Product};
use matchpoint_record::launcher::Launcher;

use crate::error::CalibrateError;

const BENCHMARK: Product = Product {
    what: "the benchmark",
    file: "matchpoint-calibrate",
    folder: "calibrate",
    sources: &[&[
        ("matchpoint_calibrate.c", include_str!("../program/matchpoint_calibrate.c")),
        ("asleep.h", include_str!("../program/asleep.h")),
        ("place.h", include_str!("../program/place.h")),
        ("measurement.h", include_str!("../program/measurement.h")),
        ("exchange.h", include_str!("../program/exchange.h")),
        ("send.h", include_str!("../program/send.h")),
        ("irregular.h", include_str!("../program/irregular.h")),
        ("input.h", include_str!("../program/input.h")),
    ]],
    main: "matchpoint_calibrate.c",
    flags: &["-std=gnu11", "-O2"],
    is_linked: true,
    standard_abi: None,
};

/// The launcher's command with the benchmark, which is compiled if necessary. Before a compilation,
/// `compiles` gets the name of the library.
///
/// # Errors
/// The launcher is missing, or a compiler for its MPI library.
pub fn command(
    words: &[String],
    mpicc: Option<&Path>,
    compiles: &mut dyn FnMut(&str),
) -> Result<Command, CalibrateError> {
    let Some(first) = words.first() else {
        return Err(CalibrateError(
            "no launcher\nhint: put the launcher with its options after --, as in -- mpiexec -n 4".to_owned(),
        ));
    };
    let Some(launcher) = Launcher::of(words) else {
        return Err(CalibrateError(Launcher::not_found(first)));
    };
    let Compiled { path, .. } = compiler::compiled(&BENCHMARK, Some(&launcher), mpicc, compiles)?;
    let mut command = Command::new(first);
    command.args(&words[1..]).arg(path);
    Ok(command)
}
