//! The Python class `Machine`: the parameters of a machine for the cost models.

use std::path::{Path, PathBuf};

use matchpoint_cli::predict::placement::read_machine;
use matchpoint_cli::report::columns::Columns;
use matchpoint_model::estimate::ParameterEstimate;
use matchpoint_model::{Locality, Machine as Parameters, Protocol};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::table::Table;

/// Parameters of a machine: a file of `matchpoint calibrate`, or "blue-waters", the machine of the models' paper.
///
/// >>> import matchpoint_mpi as mp
/// >>> machine = mp.Machine("blue-waters")
/// >>> machine.name
/// 'Blue Waters'
/// >>> machine.parameters[0]["parameter"]
/// 'on_socket.short.alpha_s'
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Machine {
    path: PathBuf,
    machine: Parameters,
}

#[pymethods]
impl Machine {
    #[new]
    fn read(path: PathBuf) -> PyResult<Self> {
        let machine = read_machine(&path).map_err(exception)?;
        Ok(Machine { path, machine })
    }

    /// Name of the machine.
    #[getter]
    fn name(&self) -> &str {
        &self.machine.name
    }

    /// File of the machine, or "blue-waters".
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// Origin of the numbers: host, MPI library, date and method.
    #[getter]
    fn provenance(&self) -> std::collections::BTreeMap<&'static str, String> {
        let from = &self.machine.provenance;
        let members = [
            ("host", &from.host),
            ("mpi", &from.mpi),
            ("when", &from.when),
            ("who", &from.who),
            ("how", &from.how),
        ];
        members.into_iter().map(|(name, value)| (name, value.clone())).collect()
    }

    /// Measured parameters: key in the file, value, and the interval if known. The key contains the unit.
    #[getter]
    fn parameters(&self) -> PyResult<Table> {
        let rows = parameters(&self.machine);
        Columns::default()
            .text("parameter", rows.iter().map(|(name, _)| name.clone()))
            .float("value", rows.iter().map(|(_, transport)| transport.value))
            .optional_float("low", rows.iter().map(|(_, transport)| transport.interval.map(|(low, _)| low)))
            .optional_float(
                "high",
                rows.iter().map(|(_, transport)| transport.interval.map(|(_, high)| high)),
            )
            .try_into()
    }

    fn __repr__(&self) -> String {
        format!("<Machine '{}': {} parameters>", self.machine.name, parameters(&self.machine).len())
    }
}

/// Returns the keys and values of all parameters that the machine's file has.
fn parameters(machine: &Parameters) -> Vec<(String, ParameterEstimate)> {
    let mut all: Vec<(String, Option<ParameterEstimate>)> = Vec::new();
    for locality in Locality::ALL {
        let link = machine.link(locality);
        for protocol in Protocol::ALL {
            let transport = link.transport(protocol);
            let key = |name: &str| format!("{}.{}.{name}", locality.key(), protocol.key());
            all.push((key("alpha_s"), transport.alpha_s));
            all.push((key("rate_bytes_per_s"), transport.rate_bytes_per_s));
            all.push((key("node_rate_bytes_per_s"), transport.node_rate_bytes_per_s));
        }
    }
    all.push(("queue_search.gamma_s".to_owned(), machine.queue_search.gamma_s));
    all.push(("queue_search.attempt_s".to_owned(), machine.queue_search.attempt_s));
    all.push(("contention.delta_s_per_byte".to_owned(), machine.contention.delta_s_per_byte));
    all.push(("logp.overhead_s".to_owned(), machine.logp.overhead_s));
    all.push(("logp.gap_s".to_owned(), machine.logp.gap_s));
    all.into_iter().filter_map(|(name, transport)| Some((name, transport?))).collect()
}
