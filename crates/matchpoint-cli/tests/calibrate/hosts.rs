//! Calibrations between hosts with a known latency and rate.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cluster::Cluster;
use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};
use crate::setting::{CommandOutput, Setting};

/// Share of data in an Ethernet frame with 1448 bytes of data.
const FRAME: f64 = 1448.0 / 1514.0;

/// Emulated hosts. The program `line.c` connects the two halves.
struct Hosts {
    cluster: Cluster,
    line: Option<Child>,
    number: u32,
}

struct Between {
    delay_ms: f64,
    rate_mbit: f64,
    line_mbit: Option<f64>,
}

fn limit(interface: &str, rate_mbit: f64) -> String {
    format!(
        "ip link set {interface} gso_max_segs 1 && tc qdisc add dev {interface} root tbf rate {rate_mbit}mbit burst 6kb latency 2s"
    )
}

impl Hosts {
    fn make(number: u32, between: &Between) -> Option<Hosts> {
        let mut hosts = Hosts { cluster: Cluster::of(number)?, line: None, number };
        if !hosts.limit(between.rate_mbit) || !hosts.delay(between) {
            return None;
        }
        Some(hosts)
    }

    fn limit(&self, rate_mbit: f64) -> bool {
        let setup =
            format!("{} && echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle", limit("eth0", rate_mbit));
        (0..self.number).all(|host| {
            let host = format!("host{host}");
            let done = self.cluster.script().args(["exec", &host, "sh", "-c", &setup]).output().unwrap();
            if !done.status.success() {
                let error = String::from_utf8_lossy(&done.stderr);
                leave_out(&format!("no limit of the rate of a network: {error}"), "load the module sch_tbf");
            }
            done.status.success()
        })
    }

    fn delay(&mut self, between: &Between) -> bool {
        let pid = std::fs::read_to_string(self.cluster.state().join("pid")).unwrap();
        let network = format!("--net=/proc/{}/ns/net", pid.trim());
        let micros = format!("{}", (between.delay_ms * 1e3) as u32);
        let mut line = Command::new("nsenter")
            .arg(&network)
            .arg("--")
            .arg(line_program())
            .args(["near", "far", &micros])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answer = String::new();
        BufReader::new(line.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        self.line = Some(line);
        if answer.trim() != "ready" {
            leave_out("no /dev/net/tun", "load the module tun, and run the tests as root");
            return false;
        }
        let mut steps = vec![
            "ip link add beyond type bridge".to_owned(),
            "ip link set beyond up".to_owned(),
            "ip link set near master switch up".to_owned(),
            "ip link set far master beyond up".to_owned(),
        ];
        steps.extend(
            (self.number / 2..self.number).map(|host| format!("ip link set host{host} master beyond")),
        );
        steps.extend(
            between.line_mbit.into_iter().flat_map(|rate| ["near", "far"].map(|end| limit(end, rate))),
        );
        mpi::run(Command::new("nsenter").args([&network, "--", "sh", "-c", &steps.join(" && ")]));
        true
    }

    fn calibrate(&self, setting: &Setting, mpi: &Mpi, ranks: u32, options: &str) -> CommandOutput {
        let mut command = self.cluster.script();
        let cache = format!("XDG_CACHE_HOME={}", mpi::cache().display());
        command
            .args(["exec", "host0", "env", &cache])
            .args(setting.words(&options.split(' ').collect::<Vec<_>>()))
            .arg("--")
            .arg(mpi.mpiexec());
        command.arg("-f").arg(self.cluster.state().join("hostfile"));
        command.args(["-ppn", &(ranks / self.number).to_string(), "-n", &ranks.to_string()]);
        CommandOutput::of(&mut command)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            drop(line.stdin.take());
            let _ = line.wait();
        }
    }
}

fn line_program() -> PathBuf {
    let program = mpi::scratch().join("line");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calibrate/line.c");
    mpi::run(Command::new("cc").args(["-O2", "-Wall", "-o"]).arg(&program).arg(source));
    program
}

/// Asserts that the fitted value differs from the configured one by at most `share`.
fn is_within(share: f64, found: f64, right: f64, what: &str, ran: &CommandOutput) {
    let off = found / right - 1.0;
    eprintln!("{what}: {found:.4e}, put in {right:.4e}, off by {:+.1} %", off * 100.0);
    assert!(off.abs() <= share, "{what}: {found:e} is not {right:e}: {ran}");
}

/// Three rounds of short measurements, because the messages are slow.
const OPTIONS: &str = "--rounds 3 --seconds 0.03 --max-bytes 512K --max-messages 3 --total-bytes 16K";

fn goodput(rate_mbit: f64) -> f64 {
    rate_mbit / 8.0 * 1e6 * FRAME
}

fn recover_latency_and_rate(delay_ms: f64, rate_mbit: f64) {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let Some(hosts) = Hosts::make(2, &Between { delay_ms, rate_mbit, line_mbit: None }) else { return };
    let setting = Setting::new();
    let ran = hosts.calibrate(&setting, &mpi, 2, OPTIONS).succeed();
    let off_node = setting.machine().off_node;
    let first = off_node.short.alpha_s.or(off_node.eager.alpha_s).unwrap();
    is_within(0.1, first.value, delay_ms * 1e-3, "latency", &ran);
    let last = off_node.rendezvous.rate_bytes_per_s.or(off_node.eager.rate_bytes_per_s).unwrap();
    is_within(0.1, last.value, goodput(rate_mbit), "rate", &ran);
}

/// The shortest delay and the highest rate that two processors can emulate.
#[test]
fn latency_and_rate_between_hosts_are_recovered() {
    recover_latency_and_rate(2.0, 200.0);
}

#[test]
#[ignore = "takes a minute: .ci/deep"]
fn long_latency_and_low_rate_are_recovered() {
    recover_latency_and_rate(10.0, 40.0);
}

/// Two pairs of ranks share the link of a node, so R_N is the rate of the link.
#[test]
#[ignore = "takes a minute: .ci/deep"]
fn node_rate_is_recovered() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let between = Between { delay_ms: 2.0, rate_mbit: 40.0, line_mbit: None };
    let Some(hosts) = Hosts::make(2, &between) else { return };
    let setting = Setting::new();
    let ran = hosts.calibrate(&setting, &mpi, 4, OPTIONS).succeed();
    let off_node = setting.machine().off_node;
    // `None`: the measurements do not show R_N.
    let last = off_node.rendezvous.node_rate_bytes_per_s.or(off_node.eager.node_rate_bytes_per_s);
    let found = last.map_or(f64::NAN, |last| last.value);
    is_within(0.1, found, goodput(between.rate_mbit), "rate of a node", &ran);
}

/// Two hosts share the line to two others. One pair needs b ÷ R for b bytes, two pairs need 2 b ÷ R. The difference
/// over the 2 b bytes on the line is 1 ÷ 2 R.
#[test]
#[ignore = "takes two minutes: .ci/deep"]
fn cost_of_shared_link_is_found() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (line_mbit, rate_mbit) = (40.0, 100.0);
    let between = Between { delay_ms: 2.0, rate_mbit, line_mbit: Some(line_mbit) };
    let Some(hosts) = Hosts::make(4, &between) else { return };
    let options = "--seconds 0.03 --max-bytes 16 --max-messages 1 --total-bytes 512K";
    let setting = Setting::new();
    let ran = hosts.calibrate(&setting, &mpi, 4, options).succeed();
    let found = setting.machine().contention.delta_s_per_byte.map_or(f64::NAN, |delta| delta.value);
    // Both pairs start each direction together. TCP shares the link about equally.
    is_within(0.3, found, 0.5 / goodput(line_mbit), "cost of a shared link", &ran);
}
