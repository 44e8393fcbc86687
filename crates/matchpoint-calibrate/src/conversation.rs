//! Protocol between the command and the benchmark `program/matchpoint_calibrate.c`, which lists the messages.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::error::CalibrateError;
use crate::irregular::{Arrived, Irregular, arrived};
use crate::plan::Measurement;
use crate::ranks::{Pair, RankPlace, Ranks};

/// Prefix of the benchmark's lines, to separate them from a launcher's output.
const MARK: &str = "MPCAL1 ";

/// Longer than any measurement. Afterwards, the launcher is assumed not to forward standard input.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// Data that the benchmark reports before the measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Hello {
    pub mpi: String,
    /// Resolution of the MPI library's clock.
    pub tick_s: f64,
    pub ranks: Ranks,
}

pub struct Conversation {
    lines: Receiver<String>,
    input: Box<dyn Write + Send>,
    timeout: Duration,
}

impl Conversation {
    /// Starts a thread that reads `output` until its end. Lines of other programs go to `others`.
    pub fn new(
        output: impl Read + Send + 'static,
        input: impl Write + Send + 'static,
        mut others: impl FnMut(&str) + Send + 'static,
    ) -> Conversation {
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end();
                match text.split_once(MARK) {
                    Some((_, said)) if sender.send(said.to_owned()).is_err() => return,
                    Some(_) => {}
                    None => others(text),
                }
                line.clear();
            }
        });
        Conversation { lines, input: Box::new(input), timeout: ANSWER_TIMEOUT }
    }

    /// Waits for the first report, without a time limit, because a batch system may delay the job.
    ///
    /// # Errors
    /// The benchmark ends, refuses, or sends an unexpected line.
    pub fn hello(&mut self) -> Result<Hello, CalibrateError> {
        let first = self.lines.recv().map_err(|_| benchmark_missing())?;
        let words = first.strip_prefix("hello ").ok_or_else(|| unexpected(&first))?;
        let (fields, mpi) = words.split_once("mpi=").ok_or_else(|| unexpected(&first))?;
        let tick_s = field(fields, "tick_s").ok_or_else(|| unexpected(&first))?;
        let mut ranks = Ranks::default();
        loop {
            let line = self.next()?;
            if line == "ready" {
                break;
            }
            ranks.0.push(place(&line).ok_or_else(|| unexpected(&line))?);
        }
        let are_all = ranks.0.iter().enumerate().all(|(index, place)| place.rank as usize == index);
        if field::<usize>(fields, "ranks") != Some(ranks.0.len()) || !are_all {
            return Err(unexpected(&first));
        }
        Ok(Hello { mpi: library(mpi), tick_s, ranks })
    }

    /// Makes one measurement. The answer repeats `number`.
    ///
    /// # Errors
    /// The benchmark ends, refuses, sends an unexpected line, or does not answer.
    pub fn measure(
        &mut self,
        number: usize,
        measurement: &Measurement,
        batch_s: f64,
        budget_s: f64,
    ) -> Result<Vec<f64>, CalibrateError> {
        self.ask(&request(number, measurement, batch_s, budget_s))?;
        self.seconds("measured", number)
    }

    /// True for an eager message of this size: its send completes before a receive is posted.
    pub fn is_eager(&mut self, number: usize, pair: Pair, bytes: u32) -> Result<bool, CalibrateError> {
        self.ask(&format!("send {number} {bytes} {}-{}\n", pair.0, pair.1))?;
        let answer = self.next()?;
        let said = answer.strip_prefix("sent ").and_then(|words| words.split_once(' '));
        match said.filter(|(of, _)| *of == number.to_string()) {
            Some((_, "1")) => Ok(true),
            Some((_, "0")) => Ok(false),
            _ => Err(unexpected(&answer)),
        }
    }

    /// Repeats an exchange for about `budget_s`. Returns the time of the slowest rank for each repetition,
    /// from the barrier that releases the rank.
    pub fn exchange(
        &mut self,
        number: usize,
        exchange: &Irregular,
        budget_s: f64,
    ) -> Result<Vec<f64>, CalibrateError> {
        self.ask(&format!("{}exchange {number} {budget_s}\n", exchange.lines()))?;
        self.seconds("exchanged", number)
    }

    /// Makes an exchange once, without posted receives. Returns the order of arrival for every receiving
    /// rank, in ascending order of ranks.
    pub fn arrivals(&mut self, number: usize, exchange: &Irregular) -> Result<Vec<Arrived>, CalibrateError> {
        let receivers = exchange.receivers();
        if receivers.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(&format!("{}arrivals {number}\n", exchange.lines()))?;
        receivers.into_iter().map(|rank| self.arrived(number, exchange, rank)).collect()
    }

    fn arrived(&mut self, number: usize, of: &Irregular, rank: u32) -> Result<Arrived, CalibrateError> {
        let answer = self.next()?;
        let arrived = answer.strip_prefix("arrived ").and_then(|words| arrived(words, number, of));
        arrived.filter(|arrived| arrived.rank == rank).ok_or_else(|| unexpected(&answer))
    }

    fn ask(&mut self, lines: &str) -> Result<(), CalibrateError> {
        self.input.write_all(lines.as_bytes()).and_then(|()| self.input.flush()).map_err(|_| ended())
    }

    fn seconds(&mut self, what: &str, number: usize) -> Result<Vec<f64>, CalibrateError> {
        let answer = self.next()?;
        let mut words = answer.split(' ');
        let is_answer = words.next() == Some(what) && words.next() == Some(&number.to_string());
        let seconds: Result<Vec<f64>, _> = words.map(str::parse).collect();
        seconds.ok().filter(|seconds| is_answer && !seconds.is_empty()).ok_or_else(|| unexpected(&answer))
    }

    fn next(&mut self) -> Result<String, CalibrateError> {
        let line = self.lines.recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Disconnected => ended(),
            RecvTimeoutError::Timeout => CalibrateError(format!(
                "no answer of the benchmark for {} s\nhint: check that the launcher forwards standard input to rank 0",
                self.timeout.as_secs()
            )),
        })?;
        match line.strip_prefix("refused ") {
            Some(why) => Err(CalibrateError(format!("the benchmark failed: {why}"))),
            None => Ok(line),
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Open MPI's launcher does not forward the end of the input. The benchmark may have ended already.
        let _ = self.input.write_all(b"quit\n").and_then(|()| self.input.flush());
    }
}

fn library(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().collect();
    let whole = words.join(" ");
    let ends = [" MPICH Release date", ", package:", ", ident:"];
    let end = ends.iter().filter_map(|end| whole.find(end)).min();
    whole[..end.unwrap_or(whole.len())].replace("Version: ", "")
}

fn request(number: usize, measurement: &Measurement, batch_s: f64, budget_s: f64) -> String {
    let test = measurement.test();
    let pairs: Vec<String> =
        measurement.pairs.iter().map(|(first, second)| format!("{first}-{second}")).collect();
    format!(
        "measure {number} {test} {} {} {} {batch_s} {budget_s} {}\n",
        measurement.order.name(),
        measurement.messages,
        measurement.bytes,
        pairs.join(",")
    )
}

/// Parses a line such as `rank 0 node=0 package=0 packages=2 cpus=1 host=n001`.
fn place(line: &str) -> Option<RankPlace> {
    let (fields, host) = line.strip_prefix("rank ")?.split_once("host=")?;
    Some(RankPlace {
        rank: fields.split(' ').next()?.parse().ok()?,
        node: field(fields, "node")?,
        host: host.to_owned(),
        // A negative number means several packages, or an unknown package.
        package: u32::try_from(field::<i32>(fields, "package")?).ok(),
        packages: field(fields, "packages")?,
        cpus: field(fields, "cpus")?,
    })
}

fn field<T: std::str::FromStr>(words: &str, name: &str) -> Option<T> {
    words.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

fn ended() -> CalibrateError {
    CalibrateError("the job ended before the last measurement".to_owned())
}

/// A program in the launcher's options starts instead, with the benchmark as an argument.
fn benchmark_missing() -> CalibrateError {
    CalibrateError(
        "the job ended before the last measurement: the benchmark did not start\nhint: give the launcher without a \
         program, as in -- mpiexec -n 2"
            .to_owned(),
    )
}

fn unexpected(line: &str) -> CalibrateError {
    CalibrateError(format!("unexpected output of the benchmark: '{line}'\nhint: start one program, once"))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, sink};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::irregular::Message;
    use crate::plan::{Part, PostOrder};

    const HELLO: &str = "MPCAL1 hello ranks=2 tick_s=1.000e-09 mpi=MPICH Version:      5.0.2  MPICH Release date: x\n\
                         noise of a launcher\n\
                         [1,0]<stdout>: MPCAL1 rank 0 node=0 package=-1 packages=2 cpus=4 host=n 1\n\
                         MPCAL1 rank 1 node=0 package=1 packages=2 cpus=1 host=n1\n\
                         MPCAL1 ready\n";

    fn measurement() -> Measurement {
        Measurement {
            part: Part::Queue,
            placement: None,
            pairs: vec![(0, 1), (2, 3)],
            order: PostOrder::Reversed,
            messages: 10,
            bytes: 8,
        }
    }

    fn heard(said: &str) -> Conversation {
        Conversation::new(Cursor::new(said.to_owned().into_bytes()), sink(), |_| {})
    }

    #[test]
    fn benchmark_reports_ranks_first() {
        let noise = Arc::new(Mutex::new(String::new()));
        let others = noise.clone();
        let mut conversation =
            Conversation::new(Cursor::new(HELLO), sink(), move |line| others.lock().unwrap().push_str(line));
        let hello = conversation.hello().unwrap();
        assert_eq!((hello.mpi.as_str(), hello.tick_s), ("MPICH 5.0.2", 1e-9));
        let [first, second] = &hello.ranks.0[..] else { panic!("{hello:?}") };
        assert_eq!((first.package, first.host.as_str(), first.cpus), (None, "n 1", 4));
        assert_eq!((second.package, second.rank), (Some(1), 1));
        assert_eq!(*noise.lock().unwrap(), "noise of a launcher");
    }

    #[test]
    fn request_fits_on_one_line() {
        assert_eq!(
            request(7, &measurement(), 0.002, 0.1),
            "measure 7 high_volume reversed 10 8 0.002 0.1 0-1,2-3\n"
        );
    }

    #[test]
    fn invalid_answer_is_refused() {
        let asked = |said: &str| heard(said).measure(7, &measurement(), 0.1, 0.1);
        assert_eq!(asked("MPCAL1 measured 7 1e-6 2.5e-6\n").unwrap(), [1e-6, 2.5e-6]);
        for (said, told) in [
            ("", "ended before"),
            ("MPCAL1 measured 8 1e-6\n", "expected"),
            ("MPCAL1 measured 7\n", "expected"),
            ("MPCAL1 measured 7 1e-6 soon\n", "expected"),
            ("MPCAL1 refused there is no memory\n", "the benchmark failed: there is no memory"),
        ] {
            let error = asked(said).unwrap_err().to_string();
            assert!(error.contains(told), "{said:?}: {error}");
        }
    }

    #[test]
    fn eager_send_is_tested() {
        let asked = |said: &str| heard(said).is_eager(7, (0, 1), 4096);
        assert_eq!((asked("MPCAL1 sent 7 1\n"), asked("MPCAL1 sent 7 0\n")), (Ok(true), Ok(false)));
        for said in ["MPCAL1 sent 8 1\n", "MPCAL1 sent 7\n", "MPCAL1 sent 7 2\n", "MPCAL1 measured 7 1\n", ""]
        {
            assert!(asked(said).is_err(), "{said}");
        }
    }

    #[test]
    fn exchange_returns_times() {
        let message = |from, to, place| Message { from, to, bytes: 8, place };
        let three = Irregular { messages: vec![message(0, 1, 1), message(2, 1, 0), message(1, 0, 0)] };
        assert_eq!(heard("MPCAL1 exchanged 7 1e-6 2e-6\n").exchange(7, &three, 0.1).unwrap(), [1e-6, 2e-6]);
        assert!(heard("MPCAL1 measured 7 1e-6\n").exchange(7, &three, 0.1).is_err());
        let both = heard("MPCAL1 arrived 7 0 0\nMPCAL1 arrived 7 1 1 0\n").arrivals(7, &three).unwrap();
        assert_eq!(both[1], Arrived { rank: 1, places: vec![1, 0] });
        for said in ["MPCAL1 arrived 7 1 1 0\n", "MPCAL1 arrived 7 0 0\nMPCAL1 arrived 7 1 0 0\n", ""] {
            assert!(heard(said).arrivals(7, &three).is_err(), "{said}");
        }
        assert_eq!(heard("").arrivals(7, &Irregular::default()).unwrap(), []);
    }

    #[test]
    fn truncated_greeting_is_refused() {
        for end in 0..HELLO.len() - 1 {
            assert!(heard(&HELLO[..end]).hello().is_err(), "{}", &HELLO[..end]);
        }
        let twice = HELLO.replace("rank 1", "rank 0");
        assert!(heard(&twice).hello().is_err());
    }

    #[test]
    fn drop_ends_benchmark() {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(Conversation::new(Cursor::new(Vec::new()), ours, |_| {}));
        let mut heard = String::new();
        theirs.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "quit\n");
    }

    #[test]
    fn missing_answer_times_out() {
        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut conversation = Conversation::new(reader, sink(), |_| {});
        conversation.timeout = Duration::from_millis(10);
        let error = conversation.measure(0, &measurement(), 0.1, 0.1).unwrap_err();
        assert!(error.to_string().contains("standard input"), "{error}");
        drop(writer);
    }
}
