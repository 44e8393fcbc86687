//! Data of a recorded trace other than MPI calls: facts about the run, call sites, arrival times.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use matchpoint_replay::format;
use matchpoint_trace::Trace;
use matchpoint_trace::native::manifest::{self, Manifest};

use crate::cli::Format;
use crate::failure::folder_of;

pub(super) struct Origin {
    manifest: Option<Manifest>,
    has_arrivals: bool,
    sites: AtomicU64,
}

impl Origin {
    pub fn of(trace: &dyn Trace) -> Origin {
        let path = &trace.description().path;
        let folder = if path.is_dir() { path } else { folder_of(path) };
        let text = fs::read(folder.join(manifest::FILE)).ok();
        let manifest = text.and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
        let is_complete =
            |manifest: &Manifest| manifest.format == manifest::FORMAT && !manifest.mpi.is_empty();
        // An unreadable file of arrivals is lost too.
        let arrives = |&rank: &u32| !matches!(trace.arrivals(rank), Ok(None));
        Origin {
            manifest: manifest.filter(is_complete),
            has_arrivals: trace.present().iter().any(arrives),
            sites: AtomicU64::new(0),
        }
    }

    pub fn saw_sites(&self, calls: u64) {
        self.sites.fetch_add(calls, Relaxed);
    }

    pub fn manifest(&self) -> Manifest {
        let Manifest { command, mpi, started, ended, exit_status, .. } =
            self.manifest.clone().unwrap_or_default();
        Manifest { command, mpi, started, ended, exit_status, ..Manifest::default() }
    }

    pub fn lost(&self, to: Format) -> Vec<String> {
        let mut lost = Vec::new();
        let sites = self.sites.load(Relaxed);
        if sites > 0 {
            lost.push(format!(
                "The call sites of {} are omitted: keep the original.",
                format::counted(sites, "call")
            ));
        }
        if self.has_arrivals {
            lost.push("Arrival times are omitted: --arrivals recorded needs the original.".to_owned());
        }
        if self.manifest.is_some() {
            let run = if to == Format::Native {
                "Hosts and processes"
            } else {
                "Command, MPI library, time and hosts"
            };
            lost.push(format!("{run} of the run are omitted: keep the original."));
        }
        lost
    }
}
