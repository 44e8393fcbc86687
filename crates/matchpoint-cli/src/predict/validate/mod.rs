//! `matchpoint predict validate`: the benchmark of `matchpoint calibrate` runs the operations under the user's MPI,
//! and reports time and arrival order. The comparison uses the time of the slowest rank.

mod judged;
mod operations;

use std::num::NonZeroU32;
use std::time::SystemTime;

use matchpoint_calibrate::conversation::{Conversation, Hello};
use matchpoint_calibrate::ranks::Ranks;
use matchpoint_calibrate::validation::{Job, Operation, Validated, measured};
use matchpoint_model::{Layout, SearchOrder};
use matchpoint_replay::format;

use self::operations::{Extent, beyond_budget, operations};
use super::amg::Hierarchy;
use super::placement::{Placement, read_machine};
use super::sparse::sizes;
use crate::benchmark::{self, MeasurementProgress, ProgressSender};
use crate::cli::{On, Validate};
use crate::failure::{Failure, fact};
use crate::job;
use crate::load::Load;

pub(super) fn validate(arguments: &Validate) -> Result<Validated, Failure> {
    // Errors of files must be reported before the job starts.
    read_machine(&arguments.on.machine)?;
    let hierarchy = Hierarchy::find(&arguments.levels)?;
    let asked = arguments.clone();
    let (outcome, ended) = benchmark::run(
        &arguments.command,
        arguments.mpicc.as_deref(),
        move |benchmark, progress| -> Result<Validated, Failure> {
            Validation { asked, hierarchy }.run(benchmark, progress)
        },
    )?;
    let status = ended.status;
    match outcome {
        Err(_) if ended.is_interrupted => Err(Failure::Interrupted),
        Ok(validated) => job::exit_result(status).map(|()| validated),
        Err(Failure::Message(why)) if !status.success() => {
            let code =
                status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let fact = fact(&why);
            Err(Failure::Message(format!(
                "{fact} ({code})\nhint: read the messages of the job, and start it again"
            )))
        }
        Err(failure) => Err(failure),
    }
}

struct Validation {
    asked: Validate,
    hierarchy: Hierarchy,
}

impl Validation {
    fn run(&self, mut benchmark: Conversation, progress: &ProgressSender) -> Result<Validated, Failure> {
        let load = Load::now().map(|load| load.average);
        let hello = benchmark.hello()?;
        let ranks = hello.ranks.0.len() as u32;
        let processes = self.processes(ranks)?;
        let placement = Placement::read(&self.on(&hello.ranks))?;
        let layout = placement.layout(NonZeroU32::new(ranks).unwrap_or(NonZeroU32::MIN));
        check_placement(&hello.ranks, &layout)?;
        let extent = Extent { processes, ranks, messages_max: self.asked.max_messages };
        let sizes = sizes(&self.asked.sizes);
        let (operations, mut notes) = operations(&self.hierarchy, sizes, extent, &progress.of_files())?;
        let measured =
            measured::all(&mut benchmark, &operations, self.asked.seconds, &mut |done, total, next| {
                progress.show(MeasurementProgress { done, total, next: title(next) })
            })?;
        drop(benchmark);
        notes.extend(beyond_budget(&measured, self.asked.seconds));
        let setting = placement.setting(layout.processes, SearchOrder::Bound);
        let rows = operations.iter().zip(&measured).map(|(operation, times)| times.row(operation, &setting));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        Ok(Validated {
            subject: self.subject(processes, ranks),
            machine: placement.machine.clone(),
            processes: processes.get(),
            judgements: judged::judge(&rows),
            rows,
            notes: [notes, warnings(&placement, &hello, &layout), placement.machine.provenance.notes.clone()]
                .concat(),
            job: self.job(hello, load, ranks),
        })
    }

    fn processes(&self, ranks: u32) -> Result<NonZeroU32, Failure> {
        let Some(ranks) = NonZeroU32::new(ranks).filter(|ranks| ranks.get() > 1) else {
            let problem =
                "the job has 1 process, but an exchange needs two\nhint: start more, for example with -n 2";
            return Err(Failure::Message(problem.to_owned()));
        };
        let processes = self.asked.processes.unwrap_or(ranks);
        if processes < ranks {
            return Err(Failure::Message(format!(
                "the job has {ranks} ranks, more than the requested {processes} processes\nhint: start {processes} ranks, or \
                 two, which exchange the messages of one process"
            )));
        }
        Ok(processes)
    }

    fn on(&self, ranks: &Ranks) -> On {
        let nodes = ranks.nodes();
        let ppn = nodes.iter().map(|node| node.len() as u32).max().and_then(NonZeroU32::new);
        let packages = ranks.0.first().and_then(|rank| NonZeroU32::new(rank.packages));
        let on = self.asked.on.clone();
        On { ppn: on.ppn.or(ppn), sockets: on.sockets.or(packages), ..on }
    }

    fn subject(&self, processes: NonZeroU32, ranks: u32) -> String {
        let played = match processes.get() == ranks {
            true => "one per rank".to_owned(),
            false => "of which two ranks play one process and its partners".to_owned(),
        };
        let processes = format::counted(processes.get().into(), "process");
        format!(
            "the levels in {}, gather and HighVolumePingPong, {processes}, {played}",
            self.asked.levels.display()
        )
    }

    fn job(&self, hello: Hello, load: Option<f64>, ranks: u32) -> Job {
        Job {
            command: self.asked.command.clone(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            mpi: hello.mpi,
            nodes: hello.ranks.nodes().iter().map(|node| node[0].host.clone()).collect(),
            host: matchpoint_replay::host::host(),
            load,
            ranks,
        }
    }
}

fn title(operation: &Operation) -> String {
    format!("{} {}", operation.application.title(), operation.name)
}

/// The models place ranks node by node, so the job must too.
fn check_placement(ranks: &Ranks, layout: &Layout) -> Result<(), Failure> {
    for (node, here) in ranks.nodes().iter().enumerate() {
        if let Some(rank) = here.iter().find(|rank| layout.node(rank.rank) as usize != node) {
            return Err(Failure::Message(format!(
                "rank {} is on '{}', but with {} ranks per node it should be on node {} of the job\nhint: fill one node after \
                 the other with equal numbers of ranks (MPICH: -ppn N)",
                rank.rank,
                rank.host,
                layout.ppn,
                layout.node(rank.rank) + 1
            )));
        }
    }
    Ok(())
}

fn warnings(placement: &Placement, hello: &Hello, layout: &Layout) -> Vec<String> {
    let (of, mut warnings) = (&placement.machine.provenance, Vec::new());
    let nodes = hello.ranks.nodes();
    if let Some(other) = nodes.iter().find(|node| !of.host.contains(&node[0].host)) {
        warnings.push(format!(
            "The parameters were measured on {}, but the job ran on {}.",
            of.host, other[0].host
        ));
    }
    if of.mpi != hello.mpi {
        warnings.push(format!(
            "The parameters were measured under {}, but the job ran under {}.",
            of.mpi, hello.mpi
        ));
    }
    if let Some(crowded) = nodes.iter().find(|node| node.iter().any(|rank| (rank.cpus as usize) < node.len()))
    {
        warnings.push(format!(
            "{} ranks share {} on {}: times include waits for a core.",
            crowded.len(),
            format::counted(crowded[0].cpus.into(), "core"),
            crowded[0].host
        ));
    }
    if layout.nodes() == 1 {
        warnings.push(
            "All ranks are on one node: without shared links, the comparison does not test δ ℓ, and postal, max-rate and \
             node-aware differ only between sockets."
                .to_owned(),
        );
    }
    warnings
}
