//! Plays engines on workloads, one after another, for a simulator that counts what `counted_rounds` executes:
//! `cargo xtask instructions` runs it. Arguments: ENGINE WORKLOAD:N, any number of pairs; beside workloads there are
//! `cancel:N` and `close:N`, and sequences of the message-rate benchmark (`no_conflict:N` and the like).

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
