//! Binary files for tests, with content that no real trace has.

const MAGIC: u64 = 0xffaa_dd44_554d_5049;
const END: u16 = 293;

pub mod mask {
    pub const STATUSES: u8 = 3;
    pub const CPU: u8 = 4;
    pub const WALL: u8 = 8;
    pub const THREAD: u8 = 64;
    pub const COUNTERS: u8 = 128;
    /// Parts that the recorder writes by default.
    pub const USUAL: u8 = STATUSES | CPU | WALL | THREAD;
}

#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn byte(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn half(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn int(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn long(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self.int(values.len() as i32), |bytes, value| bytes.int(*value))
    }

    pub fn statuses(self, statuses: &[(i32, i32, i32)]) -> Self {
        let count = self.int(statuses.len() as i32);
        statuses.iter().fold(count, |bytes, (length, source, tag)| {
            bytes.int(*length).int(*source).byte(0).byte(77).int(*tag)
        })
    }

    pub fn text(mut self, text: &str) -> Self {
        self = self.int(text.len() as i32);
        self.0.extend(text.as_bytes());
        self
    }

    fn then(mut self, more: &Bytes) -> Self {
        self.0.extend(&more.0);
        self
    }
}

#[derive(Clone)]
pub struct Writer {
    version: [u8; 3],
    body: Bytes,
    sizes: Vec<i32>,
    ended: bool,
}

/// In seconds, of processor time and of wall clock time.
pub const BIAS: (i32, i32) = (5, 1000);

impl Writer {
    pub fn new(version: [u8; 3]) -> Self {
        let sizes = (0..30).map(|datatype| if datatype == 9 { 4 } else { 0 }).collect();
        Writer { version, body: Bytes::default().int(BIAS.0).int(BIAS.1), sizes, ended: true }
    }

    pub fn unended(mut self) -> Self {
        self.ended = false;
        self
    }

    /// Adds a call of thread 3, from 1 s and 10 ns to 2 s and 20 ns after the bias. Fields that the DUMPI mask excludes are omitted.
    pub fn call(self, function: u16, arguments: Bytes) -> Self {
        self.masked(function, mask::USUAL, arguments)
    }

    pub fn masked(mut self, function: u16, mask: u8, arguments: Bytes) -> Self {
        let mut record = Bytes::default().half(function).byte(mask);
        if mask & mask::THREAD != 0 {
            record = record.half(3);
        }
        for clock in [mask::CPU, mask::WALL] {
            if mask & clock != 0 {
                record = record.half(1).int(10).half(2).int(20);
            }
        }
        if mask & mask::COUNTERS != 0 {
            record = record.byte(2).long(1).long(2).long(3).long(4);
        }
        self.body = self.body.then(&record).then(&arguments);
        self
    }

    pub fn raw(mut self, bytes: Bytes) -> Self {
        self.body = self.body.then(&bytes);
        self
    }

    /// The file, with an index of `words` words: 5 to 8 words, more words in newer versions.
    pub fn indexed(&self, words: usize) -> Vec<u8> {
        let mut file = Bytes::default().long(MAGIC);
        let body = file.0.len() as u64;
        file = file.then(&self.body);
        if self.ended {
            file = file.half(END);
        }
        let header = file.0.len() as u64;
        file = self
            .version
            .iter()
            .fold(file, |file, part| file.byte(*part))
            .long(0)
            .half(0)
            .half(0)
            .int(0)
            .int(0);
        let footer = file.0.len() as u64;
        file = (0..2 * 291).fold(file.long(0xf007_fee7), |file, count| file.int(i32::from(count % 291 == 0)));
        let sizes = file.0.len() as u64;
        file = file.ints(&self.sizes).long(MAGIC);
        let index = [sizes, 0, 0, header, body, footer, 0];
        index[8 - words..].iter().fold(file, |file, place| file.long(*place)).0
    }

    pub fn file(&self) -> Vec<u8> {
        self.indexed(8)
    }
}
