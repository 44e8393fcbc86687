//! Notes about the files of a DUMPI trace.

use std::collections::BTreeMap;

use super::form::Facts;
use super::layout::LAYOUTS;
use super::version::Version;

const NAMED: usize = 5;

#[derive(Default)]
pub(super) struct FileNotes {
    versions: BTreeMap<Version, usize>,
    called: Vec<u64>,
    ignored: Vec<u64>,
    without_wall: usize,
    without_times: usize,
    files: usize,
    meta: Option<Version>,
}

fn add_counts(totals: &mut Vec<u64>, counts: &[u32]) {
    totals.resize(LAYOUTS.len(), 0);
    totals.iter_mut().zip(counts).for_each(|(total, count)| *total += u64::from(*count));
}

impl FileNotes {
    pub fn add_file(&mut self, facts: &Facts) {
        self.files += 1;
        facts.version.into_iter().for_each(|version| *self.versions.entry(version).or_default() += 1);
        if let Some(counts) = &facts.counts {
            add_counts(&mut self.called, &counts.called);
            add_counts(&mut self.ignored, &counts.ignored);
        }
        match facts.timed {
            (true, _) => {}
            (false, true) => self.without_wall += 1,
            (false, false) => self.without_times += 1,
        }
    }

    pub fn meta_version(&mut self, version: Option<Version>) {
        self.meta = version;
    }

    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    pub fn version(&self) -> Option<Version> {
        self.versions.iter().max_by_key(|(_, count)| **count).map(|(version, _)| *version)
    }

    pub fn notes(&self) -> Vec<String> {
        let notes = [self.versions_differ(), self.meta_differs(), self.calls_missing(), self.times_missing()];
        notes.into_iter().flatten().collect()
    }

    pub fn calls_left_out(&self) -> u64 {
        self.ignored.iter().sum()
    }

    fn versions_differ(&self) -> Option<String> {
        let versions: Vec<String> =
            self.versions.iter().map(|(version, count)| format!("{version} ({count})")).collect();
        (versions.len() > 1).then(|| format!("The files are of different versions: {}.", versions.join(", ")))
    }

    fn meta_differs(&self) -> Option<String> {
        let (meta, found) = self.meta.zip(self.version()).filter(|(meta, found)| meta != found)?;
        Some(format!(
            "The .meta file has version {meta}, but the .bin files have version {found}, which is used."
        ))
    }

    fn calls_missing(&self) -> Option<String> {
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

    fn times_missing(&self) -> Option<String> {
        let (wall, all) = (self.without_wall, self.without_times);
        let cpu = "the processor time of the process is used instead";
        match (wall, all) {
            (0, 0) => None,
            (_, 0) => Some(format!("The calls of {wall} ranks have no wall clock times: {cpu}.")),
            _ => Some(format!("The calls of {all} ranks have no times at all.")),
        }
    }
}
