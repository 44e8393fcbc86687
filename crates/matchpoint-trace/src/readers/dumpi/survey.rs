//! What the files of a trace say about it, gathered into the notes of its description.

use std::collections::BTreeMap;

use super::layout::LAYOUTS;
use super::version::Version;

/// How many functions a note names at most.
const NAMED: usize = 5;

/// What is gathered, file by file.
#[derive(Default)]
pub(super) struct Survey {
    versions: BTreeMap<Version, usize>,
    called: Vec<u64>,
    ignored: Vec<u64>,
    without_wall: usize,
    without_times: usize,
    files: usize,
}

fn add(totals: &mut Vec<u64>, counts: &[u32]) {
    totals.resize(LAYOUTS.len(), 0);
    totals.iter_mut().zip(counts).for_each(|(total, count)| *total += u64::from(*count));
}

impl Survey {
    /// A file of this version.
    pub fn file(&mut self, version: Option<Version>) {
        self.files += 1;
        version.into_iter().for_each(|version| *self.versions.entry(version).or_default() += 1);
    }

    /// Its footer: how often each function was called, and how often that was not written.
    pub fn counts(&mut self, called: &[u32], ignored: &[u32]) {
        add(&mut self.called, called);
        add(&mut self.ignored, ignored);
    }

    /// Whether its calls have wall clock times, and processor times.
    pub fn timed(&mut self, wall: bool, cpu: bool) {
        self.without_wall += usize::from(!wall && cpu);
        self.without_times += usize::from(!wall && !cpu);
    }

    /// Whether no file could be understood.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// The version that most files have.
    pub fn version(&self) -> Option<Version> {
        self.versions.iter().max_by_key(|(_, count)| **count).map(|(version, _)| *version)
    }

    /// The notes, given the version that the `.meta` file tells.
    pub fn notes(&self, meta: Option<Version>) -> Vec<String> {
        let notes = [self.versions_differ(), self.meta_differs(meta), self.left_out(), self.untimed()];
        notes.into_iter().flatten().collect()
    }

    fn versions_differ(&self) -> Option<String> {
        let versions: Vec<String> =
            self.versions.iter().map(|(version, count)| format!("{version} ({count})")).collect();
        (versions.len() > 1).then(|| format!("The files are of different versions: {}.", versions.join(", ")))
    }

    fn meta_differs(&self, meta: Option<Version>) -> Option<String> {
        let (meta, found) = meta.zip(self.version()).filter(|(meta, found)| meta != found)?;
        Some(format!(
            "The .meta file says version {meta}, but the .bin files are of version {found}, which is used."
        ))
    }

    fn left_out(&self) -> Option<String> {
        let mut functions: Vec<(u64, usize)> =
            self.ignored.iter().enumerate().map(|(function, ignored)| (*ignored, function)).collect();
        functions.retain(|(ignored, _)| *ignored > 0);
        functions.sort_by(|a, b| b.cmp(a));
        let total: u64 = functions.iter().map(|(ignored, _)| ignored).sum();
        let of = |(ignored, function): &(u64, usize)| {
            format!("{} ({ignored} of {})", LAYOUTS[*function].function.name(), self.called[*function])
        };
        let mut named: Vec<String> = functions.iter().take(NAMED).map(of).collect();
        if functions.len() > NAMED {
            named.push(format!("and {} other functions", functions.len() - NAMED));
        }
        (total > 0).then(|| format!("The tracer did not write {total} calls: {}.", named.join(", ")))
    }

    fn untimed(&self) -> Option<String> {
        let (wall, all) = (self.without_wall, self.without_times);
        let cpu = "the processor time that their process had used stands in for it";
        match (wall, all) {
            (0, 0) => None,
            (_, 0) => Some(format!("The calls of {wall} ranks have no wall clock times: {cpu}.")),
            _ => Some(format!("The calls of {all} ranks have no times at all.")),
        }
    }
}
