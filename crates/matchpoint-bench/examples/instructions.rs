//! Runs engines on workloads, for `cargo xtask instructions`, which counts the instructions of
//! `counted_rounds`.
//!
//! Arguments: pairs of ENGINE and WORKLOAD:N, also `cancel:N`, `close:N`, and sequences of the message-rate
//! benchmark such as `no_conflict:N`.

use matchpoint_bench::instructions::{Counted, counted_rounds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let [engine, workload] = pair else { return Err("a workload is missing".into()) };
        let mut counted = Counted::new(engine, workload)?;
        if !(counted_rounds(&mut counted) && counted.is_right()) {
            return Err(format!("{engine} answers wrongly on {workload}").into());
        }
    }
    Ok(())
}
