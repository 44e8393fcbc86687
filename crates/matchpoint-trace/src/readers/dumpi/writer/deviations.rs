//! Deviations of a written DUMPI file from its source.

use std::collections::BTreeMap;

use crate::function::Function;

const NAMED: usize = 8;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Deviations {
    /// Number of calls written without a change.
    pub written: u64,
    /// Numbers of omitted calls, by function: the format does not have these functions.
    pub left_out: BTreeMap<Function, u64>,
    /// Numbers of calls written as calls of another function: source function, written function.
    pub stand_ins: BTreeMap<(Function, Function), u64>,
    /// Number of lengths written as unknown, because they are no product of two 31-bit numbers.
    pub lengths: u64,
    /// Number of statuses that are ambiguous or unknown.
    pub statuses: u64,
    /// Number of calls that completed some requests, where the format has only all or none.
    pub partial: u64,
    /// Number of times that readers convert to other times, because seconds have 16 bits.
    pub times: u64,
    /// Number of communicators without members in the file.
    pub members: u64,
}

impl Deviations {
    pub fn add(&mut self, other: &Deviations) {
        let Deviations { written, left_out, stand_ins, lengths, statuses, partial, times, members } = other;
        left_out.iter().for_each(|(function, count)| *self.left_out.entry(*function).or_default() += count);
        stand_ins.iter().for_each(|(pair, count)| *self.stand_ins.entry(*pair).or_default() += count);
        self.written += written;
        self.lengths += lengths;
        self.statuses += statuses;
        self.partial += partial;
        self.times += times;
        self.members += members;
    }

    pub fn notes(&self) -> Vec<String> {
        let counted = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        let notes = [
            self.left_out_note(),
            self.stand_ins_note(),
            counted(
                self.members,
                "communicators are created in ways without a DUMPI record: their members are lost.",
            ),
            counted(
                self.lengths,
                "lengths have no form in DUMPI (above 2 GiB, and no product): written as unknown.",
            ),
            counted(self.statuses, "statuses have no form in DUMPI: omitted, or empty."),
            counted(self.partial, "calls completed some of their requests, but DUMPI records all or none."),
            counted(
                self.times,
                "calls lasted, or began after, more than 17 hours: DUMPI cannot represent their times.",
            ),
        ];
        notes.into_iter().flatten().collect()
    }

    fn left_out_note(&self) -> Option<String> {
        let total: u64 = self.left_out.values().sum();
        let named =
            list_names(self.left_out.iter().map(|(function, count)| (*count, function.name().to_owned())));
        (total > 0).then(|| {
            format!(
                "{total} calls are omitted, because DUMPI has no such functions: {named}; their requests are \
                     null."
            )
        })
    }

    fn stand_ins_note(&self) -> Option<String> {
        let total: u64 = self.stand_ins.values().sum();
        let pairs = self.stand_ins.iter();
        let named =
            list_names(pairs.map(|((of, by), count)| (*count, format!("{} as {}", of.name(), by.name()))));
        (total > 0).then(|| format!("{total} calls are written as equivalent functions: {named}."))
    }
}

fn list_names(counted: impl Iterator<Item = (u64, String)>) -> String {
    let mut counted: Vec<(u64, String)> = counted.collect();
    counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut names: Vec<String> =
        counted.iter().take(NAMED).map(|(count, name)| format!("{name} ({count})")).collect();
    if counted.len() > NAMED {
        names.push(format!("and {} others", counted.len() - NAMED));
    }
    names.join(", ")
}
