//! Writer of one record, according to its layout.

use super::super::layout::{Field, Kind, Layout, Name};

mod mask_bits {
    pub const STATUSES: u8 = 0b11;
    pub const WALL_TIMES: u8 = 1 << 3;
    pub const THREAD: u8 = 1 << 6;
}

pub(super) type RawStatus = (i32, i32, i32, bool);

pub(super) struct Head {
    pub number: u16,
    pub thread: u16,
    pub enter: (u16, i32),
    pub leave: (u16, i32),
}

pub(super) struct Values {
    scalars: [i32; Name::COUNT],
    pub requests: Vec<i32>,
    pub indices: Vec<i32>,
    pub integers: Vec<i32>,
    pub counts: Vec<i32>,
    pub statuses: Option<Vec<RawStatus>>,
}

impl Default for Values {
    fn default() -> Self {
        Values {
            scalars: [0; Name::COUNT],
            requests: Vec::new(),
            indices: Vec::new(),
            integers: Vec::new(),
            counts: Vec::new(),
            statuses: None,
        }
    }
}

impl Values {
    pub fn clear(&mut self) {
        self.scalars = [0; Name::COUNT];
        self.requests.clear();
        self.indices.clear();
        self.integers.clear();
        self.counts.clear();
        self.statuses = None;
    }

    pub fn set(&mut self, name: Name, value: impl Into<i32>) {
        self.scalars[name as usize] = value.into();
    }

    pub fn copy(&mut self, from: Name, to: Name) {
        self.scalars[to as usize] = self.scalars[from as usize];
    }

    fn list(&self, name: Name) -> &[i32] {
        match name {
            Name::requests => &self.requests,
            Name::indices => &self.indices,
            Name::ranks | Name::ranges | Name::dims | Name::remain_dims => &self.integers,
            Name::sendcounts | Name::recvcounts => &self.counts,
            _ => &[],
        }
    }

    pub fn write(&self, out: &mut Vec<u8>, head: &Head, layout: &Layout) {
        let statuses = if self.statuses.is_some() { mask_bits::STATUSES } else { 0 };
        out.extend(head.number.to_be_bytes());
        out.push(mask_bits::THREAD | mask_bits::WALL_TIMES | statuses);
        out.extend(head.thread.to_be_bytes());
        for (seconds, nanoseconds) in [head.enter, head.leave] {
            out.extend(seconds.to_be_bytes());
            int(out, nanoseconds);
        }
        // The last fields are always written: the root's rank in the trace never equals `NOT_KNOWN`, the written own rank.
        let parts = [layout.fields, layout.last];
        parts.into_iter().for_each(|fields| self.fields(out, fields));
    }

    fn fields(&self, out: &mut Vec<u8>, fields: &[Field]) {
        // Some readers take one count for all arrays of a call.
        let mut length = 0;
        for (at, Field { kind, name }) in fields.iter().enumerate() {
            match kind {
                Kind::Ints if *name == Name::unused => {
                    int(out, length as i32);
                    (0..length).for_each(|_| int(out, 0));
                }
                Kind::Int => int(out, self.int(*name, fields.get(at + 1))),
                Kind::Half => out.extend((self.scalars[*name as usize] as u16).to_be_bytes()),
                Kind::Byte => out.push(0),
                Kind::Long => out.extend([0; 8]),
                Kind::Ints | Kind::IntsSince068 | Kind::IntsSince069 => {
                    length = self.list(*name).len();
                    ints(out, self.list(*name));
                }
                Kind::Matrix => {
                    let rows = self.list(*name).chunks(3);
                    int(out, rows.len() as i32);
                    rows.for_each(|row| ints(out, row));
                }
                Kind::Statuses => self.each_status(out),
                Kind::Bytes | Kind::Halves | Kind::Text | Kind::Texts | Kind::TextTable | Kind::Arguments => {
                    int(out, 0);
                }
            }
        }
    }

    /// Value of a field. A field without a name is the number of elements in the next field, or unknown.
    fn int(&self, name: Name, next: Option<&Field>) -> i32 {
        match (name, next) {
            (Name::unused, Some(Field { kind: Kind::Ints, name })) => self.list(*name).len() as i32,
            (Name::unused, Some(Field { kind: Kind::Matrix, name })) => self.list(*name).len() as i32 / 3,
            (Name::unused, _) => 0,
            _ => self.scalars[name as usize],
        }
    }

    fn each_status(&self, out: &mut Vec<u8>) {
        let Some(statuses) = &self.statuses else { return };
        int(out, statuses.len() as i32);
        for &(bytes, source, tag, cancelled) in statuses {
            int(out, bytes);
            int(out, source);
            // The second byte is the error of the status, which calls in traces do not have.
            out.extend([cancelled.into(), 0]);
            int(out, tag);
        }
    }
}

pub(super) fn int(out: &mut Vec<u8>, value: i32) {
    out.extend(value.to_be_bytes());
}

pub(super) fn ints(out: &mut Vec<u8>, values: &[i32]) {
    int(out, values.len() as i32);
    values.iter().for_each(|&value| int(out, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Function;
    use crate::readers::dumpi::layout::LAYOUTS;

    #[test]
    fn arrays_of_call_have_one_length() {
        let layout = LAYOUTS.iter().find(|layout| layout.function == Function::Alltoallv).unwrap();
        let mut values = Values { counts: vec![7, 8], ..Values::default() };
        values.set(Name::sendtype, 5u16);
        let mut record = Vec::new();
        let head = Head { number: 60, thread: 0, enter: (0, 0), leave: (0, 0) };
        values.write(&mut record, &head, layout);
        let mut expected = Vec::new();
        ints(&mut expected, &[7, 8]);
        ints(&mut expected, &[0, 0]);
        expected.extend(5u16.to_be_bytes());
        ints(&mut expected, &[0, 0]);
        ints(&mut expected, &[0, 0]);
        expected.extend([0; 4]);
        assert_eq!(record[17..21], [0, 0, 0, 2]);
        assert_eq!(record[21..], expected);
    }
}
