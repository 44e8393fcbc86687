use std::num::NonZeroU32;
use std::path::Path;

use matchpoint_model::{Layout, Machine, machine};

pub fn blue_waters() -> Machine {
    machine::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/blue-waters.toml")).unwrap()
}

pub fn layout(processes: u32, ppn: u32, sockets: u32) -> Layout {
    let number = |count| NonZeroU32::new(count).unwrap();
    Layout { processes: number(processes), ppn: number(ppn), sockets: number(sockets) }
}
