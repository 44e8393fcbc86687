//! Writer of the binary form: the file of one rank, and the `.meta` file of a trace. Calls without a record
//! are omitted, or written as equivalent calls, and counted in [`Deviations`].

mod deviations;
mod fill;
mod lengths;
mod members;
mod numbers;
mod record;
mod replaced;
mod times;

use std::io::{self, Write};
use std::sync::LazyLock;

pub use self::deviations::Deviations;
use self::fill::ArgumentWriter;
use self::lengths::Datatypes;
use self::members::Members;
use self::numbers::{Numbers, NumbersExhausted, Requests};
use self::record::{Head, Values, int, ints};
use self::replaced::Replacements;
use self::times::Times;
use super::layout::{LAYOUTS, Name, label};
use super::sections::{FOOTER_MAGIC, MAGIC};
use super::version::Version;
use crate::call::{Action, Call, CommId, RequestId};
use crate::function::{Class, Function};

const VERSION: Version = Version(13, 0, 0);

const BODY: u64 = 8;

static NUMBERS: LazyLock<Vec<Option<u16>>> = LazyLock::new(|| {
    let position = |function: &Function| LAYOUTS.iter().position(|layout| layout.function == *function);
    Function::ALL
        .iter()
        .map(|function| position(function).and_then(|number| u16::try_from(number).ok()))
        .collect()
});

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub rank: u32,
    pub size: u32,
    pub host: String,
    /// Start of the job in seconds since 1970; 0 if unknown.
    pub started_s: u64,
}

/// Content of the `.meta` file for `ranks` files named `PREFIX-0000.bin`, ….
pub fn meta(prefix: &str, ranks: u32, started_s: u64) -> String {
    let Version(version, subversion, subsubversion) = VERSION;
    format!(
        "hostname=\nnumprocs={ranks}\nusername=\nstartime={started_s}\nfileprefix={prefix}\nversion={version}\n\
         subversion={subversion}\nsubsubversion={subsubversion}\n"
    )
}

pub fn file_name(prefix: &str, rank: u32) -> String {
    format!("{prefix}-{rank:04}.bin")
}

pub struct Writer<W: Write> {
    out: W,
    settings: Settings,
    at: u64,
    times: Option<Times>,
    values: Values,
    record: Vec<u8>,
    comms: Numbers,
    groups: Numbers,
    requests: Requests,
    lengths: Datatypes,
    members: Members,
    replaced: Replacements,
    called: Vec<u32>,
    deviations: Deviations,
}

impl<W: Write> Writer<W> {
    pub fn new(mut out: W, settings: Settings) -> io::Result<Self> {
        out.write_all(&MAGIC.to_be_bytes())?;
        Ok(Writer {
            out,
            members: Members::of(settings.rank, settings.size),
            settings,
            at: BODY,
            times: None,
            values: Values::default(),
            record: Vec::new(),
            comms: Numbers::of_comms(),
            groups: Numbers::of_groups(),
            requests: Requests::default(),
            lengths: Datatypes::default(),
            replaced: Replacements::default(),
            called: vec![0; usize::from(label::TOTALS) + 1],
            deviations: Deviations::default(),
        })
    }

    /// Writes a call. Calls of several threads may be out of order by up to an hour.
    ///
    /// # Errors
    /// The file cannot be written, or more communicators exist at the same time than the format has numbers.
    pub fn call(&mut self, call: &Call) -> io::Result<()> {
        if self.times.is_none() {
            self.write_biases(call.enter_ns)?;
        }
        match self.written_function(call) {
            Some(function) if function == call.function => {
                self.deviations.written += 1;
                self.write(function, call)
            }
            Some(function) => self.stand_in(function, call),
            None => {
                self.leave_out(call);
                Ok(())
            }
        }
    }

    pub fn finish(mut self) -> io::Result<(W, Deviations)> {
        if self.times.is_none() {
            self.write_biases(0)?;
        }
        let end = self.tables_and_index();
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok((self.out, self.deviations))
    }

    fn write_biases(&mut self, first_ns: i64) -> io::Result<()> {
        let times = Times::from(first_ns);
        let mut biases = Vec::new();
        int(&mut biases, 0);
        int(&mut biases, times.bias());
        self.times = Some(times);
        self.write_bytes(&biases)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn written_function(&self, call: &Call) -> Option<Function> {
        let function = match call.action {
            Action::CommCreate { parent, how, .. } => {
                replaced::creation(self.members.function(call, parent, how))
            }
            // A record of zeros would mean a message or a communicator.
            Action::Other if call.function.class() == Class::PointToPoint || creates_comm(call.function) => {
                return None;
            }
            _ => self.replaced.by(call),
        };
        number_of(function).map(|_| function)
    }

    fn stand_in(&mut self, function: Function, call: &Call) -> io::Result<()> {
        *self.deviations.stand_ins.entry((call.function, function)).or_default() += 1;
        if let Action::CommCreate { request: Some(request), .. } = call.action {
            self.requests.omit(request);
        }
        for call in self.replaced.calls(function, call) {
            match call.action {
                // The application has no request for the send that the writer added.
                Action::RequestFree => self.write_freed(&call)?,
                _ => self.write(call.function, &call)?,
            }
        }
        Ok(())
    }

    fn write_freed(&mut self, call: &Call) -> io::Result<()> {
        let raw = self.requests.extra();
        self.values.clear();
        self.values.set(Name::request, raw);
        self.put_record(Function::Request_free, call)
    }

    fn leave_out(&mut self, call: &Call) {
        *self.deviations.left_out.entry(call.function).or_default() += 1;
        self.replaced.left_out(call);
        if let Action::CommCreate { comm, .. } = call.action {
            self.deviations.members += u64::from(comm != CommId::NULL);
        }
        let started: Option<RequestId> = match call.action {
            Action::Collective { request, .. } | Action::CommCreate { request, .. } => request,
            Action::MatchedReceive { request, .. } | Action::SendReceive { request, .. } => request,
            Action::CollectiveInit { request, .. } => Some(request),
            _ => None,
        };
        started.into_iter().for_each(|request| self.requests.omit(request));
    }

    fn write(&mut self, function: Function, call: &Call) -> io::Result<()> {
        self.values.clear();
        let mut fill = ArgumentWriter {
            values: &mut self.values,
            comms: &mut self.comms,
            groups: &mut self.groups,
            requests: &mut self.requests,
            lengths: &mut self.lengths,
            members: &mut self.members,
            deviations: &mut self.deviations,
        };
        fill.call(function, call).map_err(|NumbersExhausted| {
            let problem = format!(
                "{}: more communicators or groups live at once than DUMPI has numbers for (65,531)",
                call.function.name()
            );
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        self.put_record(function, call)
    }

    fn put_record(&mut self, function: Function, call: &Call) -> io::Result<()> {
        let (Some(number), Some(times)) = (number_of(function), &mut self.times) else { return Ok(()) };
        let (enter, leave, right) = times.write(call.enter_ns, call.leave_ns);
        self.deviations.times += u64::from(!right);
        let called = &mut self.called[usize::from(number)];
        *called = called.saturating_add(1);
        let head = Head { number, thread: call.thread, enter, leave };
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        self.values.write(&mut record, &head, &LAYOUTS[usize::from(number)]);
        let put = self.write_bytes(&record);
        self.record = record;
        put
    }

    fn tables_and_index(&self) -> Vec<u8> {
        let mut bytes = label::END.to_be_bytes().to_vec();
        let place = |bytes: &[u8]| self.at + bytes.len() as u64;
        let header = place(&bytes);
        bytes.extend([VERSION.0, VERSION.1, VERSION.2]);
        bytes.extend(self.settings.started_s.to_be_bytes());
        for text in [self.settings.host.as_str(), ""] {
            let text = &text.as_bytes()[..text.len().min(1000)];
            bytes.extend((text.len() as u16).to_be_bytes());
            bytes.extend(text);
        }
        ints(&mut bytes, &[]);
        ints(&mut bytes, &[]);
        let footer = place(&bytes);
        bytes.extend(FOOTER_MAGIC.to_be_bytes());
        let counts = self.called.iter().map(|&called| called as i32);
        counts.chain(self.called.iter().map(|_| 0)).for_each(|count| int(&mut bytes, count));
        int(&mut bytes, 0);
        let counters = place(&bytes);
        ints(&mut bytes, &[]);
        let sizes = place(&bytes);
        ints(&mut bytes, self.lengths.table());
        let addresses = place(&bytes);
        ints(&mut bytes, &[]);
        let index = [MAGIC, sizes, addresses, counters, header, BODY, footer, 0];
        index.into_iter().for_each(|place| bytes.extend(place.to_be_bytes()));
        bytes
    }
}

fn creates_comm(function: Function) -> bool {
    let fields = number_of(function).map_or(&[][..], |number| LAYOUTS[usize::from(number)].fields);
    fields.iter().any(|field| field.name == Name::newcomm)
}

fn number_of(function: Function) -> Option<u16> {
    NUMBERS.get(function as usize).copied().flatten()
}
