//! The machine that measures the engines.

pub fn host() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    format!("{}, {cores} core{plural}, {} {}", processor(), std::env::consts::OS, std::env::consts::ARCH)
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    named.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.trim().to_owned())
}
