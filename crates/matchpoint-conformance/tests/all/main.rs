//! Tests of engines under the laws that need no separate process.

mod against_list;
mod concurrent;
mod hybrid;
mod instruction_sets;
mod laws;
mod mutant;
mod mutants;
mod offload;
mod optimistic_parallel;
mod oracle;
mod partner;
mod published;
mod refusals;
mod scripts;
mod searching_first;
mod software;
mod stand_ins;
mod terms;
mod work;
