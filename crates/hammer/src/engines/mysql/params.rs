//! Parameters of a statement in the protocol's binary format, written straight into the request.
//!
//! Source: MySQL "Client/Server Protocol", `COM_STMT_EXECUTE`.

use std::io::Write;

use super::packet::put_length;
use super::value::kind;
use crate::date::Date;
use crate::engines::{self, Value};

/// Bytes of the length before a list, whatever it is.
const LIST_LENGTH_BYTES: usize = 4;

/// The parameters of one statement, in order: a map of nulls and the types go before the values, so how many
/// there are is known from the start.
pub struct Params<'a> {
    out: &'a mut Vec<u8>,
    nulls_at: usize,
    types_at: usize,
    written: usize,
    count: usize,
}

impl<'a> Params<'a> {
    /// Makes room for `count` parameters.
    pub(super) fn new(out: &'a mut Vec<u8>, count: u16) -> Self {
        let (nulls_at, count) = (out.len(), usize::from(count));
        let nulls = count.div_ceil(8);
        out.resize(nulls_at + nulls + usize::from(count > 0) + 2 * count, 0);
        if count > 0 {
            const TYPES_FOLLOW: u8 = 1;
            out[nulls_at + nulls] = TYPES_FOLLOW;
        }
        Params {
            out,
            nulls_at,
            types_at: nulls_at + nulls + 1,
            written: 0,
            count,
        }
    }

    /// Whether every parameter was written.
    pub(super) fn complete(&self) -> bool {
        self.written == self.count
    }

    fn begin(&mut self, kind: u8) {
        assert!(
            self.written < self.count,
            "a statement has fewer parameters"
        );
        self.out[self.types_at + 2 * self.written] = kind;
        self.written += 1;
    }

    fn put(&mut self, kind: u8, bytes: &[u8]) {
        self.begin(kind);
        self.out.extend_from_slice(bytes);
    }

    /// A JSON array, which `JSON_TABLE` takes apart.
    fn list(&mut self, values: impl Iterator<Item = i64>) {
        self.begin(kind::VAR_STRING);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; LIST_LENGTH_BYTES]);
        self.out.push(b'[');
        for (number, value) in values.enumerate() {
            let comma = if number == 0 { "" } else { "," };
            self.write(format_args!("{comma}{value}"));
        }
        self.out.push(b']');
        let length = self.out.len() - at - LIST_LENGTH_BYTES;
        assert!(length < 1 << 24, "a list has less than 16 MiB");
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.out[at..at + LIST_LENGTH_BYTES].copy_from_slice(&[0xFD, a, b, c]);
    }

    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        // Memory takes everything.
        let _ = self.out.write_fmt(what);
    }

    /// A value of those who ask once.
    pub(super) fn value(&mut self, value: &Value) {
        use engines::Params as _;
        match value {
            Value::Null => self.null(),
            Value::Integer(value) => self.put(kind::LONGLONG, &value.to_le_bytes()),
            Value::Text(text) => self.text(text.as_bytes()),
            Value::Integers(values) => self.list(values.iter().copied()),
        }
    }
}

impl engines::Params for Params<'_> {
    fn null(&mut self) {
        let at = self.written;
        self.begin(kind::NULL);
        self.out[self.nulls_at + at / 8] |= 1 << (at % 8);
    }

    fn boolean(&mut self, value: bool) {
        self.put(kind::TINY, &[value.into()]);
    }

    fn int2(&mut self, value: i16) {
        self.put(kind::SHORT, &value.to_le_bytes());
    }

    fn int4(&mut self, value: i32) {
        self.put(kind::LONG, &value.to_le_bytes());
    }

    /// A `DATETIME` in UTC, whatever the session's time zone.
    fn timestamp(&mut self, value_us: i64) {
        let date = Date::of(value_us);
        self.begin(kind::DATETIME);
        self.out.push(11);
        self.out
            .extend_from_slice(&(date.year as u16).to_le_bytes());
        let parts = [date.month, date.day, date.hour, date.minute, date.second];
        self.out.extend_from_slice(&parts.map(|part| part as u8));
        self.out.extend_from_slice(&(date.us as u32).to_le_bytes());
    }

    fn text(&mut self, value: &[u8]) {
        self.begin(kind::VAR_STRING);
        put_length(self.out, value.len());
        self.out.extend_from_slice(value);
    }

    fn cents(&mut self, value: u32) {
        debug_assert!(value < 1_000_000);
        self.begin(kind::NEW_DECIMAL);
        // Up to 9999.99: seven letters, whose number is written first.
        let at = self.out.len();
        self.out.push(0);
        self.write(format_args!("{}.{:02}", value / 100, value % 100));
        self.out[at] = (self.out.len() - at - 1) as u8;
    }

    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        self.list(values.map(i64::from));
    }

    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.list(values.map(i64::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Params as _;

    /// Nulls and types stand before all values, each value as its type has it.
    #[test]
    fn parameters_are_written_behind_their_types() {
        let mut out = vec![b'.'];
        let mut params = Params::new(&mut out, 9);
        params.null();
        params.boolean(true);
        params.int2(-2);
        params.int4(7);
        params.timestamp(850_000_000_000_001);
        params.text(b"abc");
        params.cents(12_05);
        params.int2_list([1_i16, -20].into_iter());
        params.int4_list(std::iter::empty());
        assert!(params.complete());
        let types = [6, 1, 2, 3, 12, 253, 246, 253, 253_u8].map(|kind| [kind, 0]);
        let values: [&[u8]; 8] = [
            b"\x01",
            b"\xfe\xff",
            b"\x07\0\0\0",
            b"\x0b\xea\x07\x0c\x07\x17\x06\x28\x01\0\0\0",
            b"\x03abc",
            b"\x0512.05",
            b"\xfd\x07\0\0[1,-20]",
            b"\xfd\x02\0\0[]",
        ];
        let expected = [b".\x01\0\x01", types.as_flattened(), &values.concat()].concat();
        assert_eq!(expected, out);
    }

    /// A statement without parameters has nothing behind it.
    #[test]
    fn no_parameters_are_no_bytes() {
        let mut out = Vec::new();
        assert!(Params::new(&mut out, 0).complete());
        assert!(out.is_empty());
    }
}
