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

/// The parameters of one statement, in order.
#[derive(Debug, Default)]
pub struct Params {
    bytes: Vec<u8>,
    /// The type of each, and where its bytes end.
    kinds: Vec<(u8, usize)>,
}

impl Params {
    /// Makes room for those of the next statement.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.kinds.clear();
    }

    /// Those of a statement that is asked once.
    pub(super) fn of(values: &[Value]) -> Self {
        let mut params = Params::default();
        values.iter().for_each(|value| params.value(value));
        params
    }

    /// Whether there is a parameter of each number.
    pub(super) fn suffice(&self, numbers: &[u16]) -> bool {
        let count = self.kinds.len();
        numbers.iter().all(|number| usize::from(*number) < count)
    }

    /// Writes, for each placeholder, the parameter of its number: a map of nulls, the types, the values.
    ///
    /// Each number must be that of a parameter.
    pub(super) fn write_to(&self, out: &mut Vec<u8>, numbers: &[u16]) {
        const TYPES_FOLLOW: u8 = 1;
        if numbers.is_empty() {
            return;
        }
        let nulls_at = out.len();
        out.resize(nulls_at + numbers.len().div_ceil(8), 0);
        out.push(TYPES_FOLLOW);
        for (at, number) in numbers.iter().enumerate() {
            let (kind, _) = self.kinds[usize::from(*number)];
            out.extend_from_slice(&[kind, 0]);
            if kind == kind::NULL {
                out[nulls_at + at / 8] |= 1 << (at % 8);
            }
        }
        for number in numbers {
            out.extend_from_slice(self.bytes_of(usize::from(*number)));
        }
    }

    fn bytes_of(&self, number: usize) -> &[u8] {
        let before = number.checked_sub(1);
        let start = before.map_or(0, |before| self.kinds[before].1);
        &self.bytes[start..self.kinds[number].1]
    }

    /// Adds a parameter, whose bytes `write` appends.
    fn put(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.kinds.push((kind, self.bytes.len()));
    }

    /// A JSON array, which `JSON_TABLE` takes apart.
    fn list(&mut self, values: impl Iterator<Item = i64>) {
        self.put(kind::VAR_STRING, |out| {
            let at = out.len();
            out.extend_from_slice(&[0; LIST_LENGTH_BYTES]);
            out.push(b'[');
            for (number, value) in values.enumerate() {
                let comma = if number == 0 { "" } else { "," };
                append(out, format_args!("{comma}{value}"));
            }
            out.push(b']');
            let length = out.len() - at - LIST_LENGTH_BYTES;
            assert!(length < 1 << 24, "a list has less than 16 MiB");
            let [a, b, c, _] = (length as u32).to_le_bytes();
            out[at..at + LIST_LENGTH_BYTES].copy_from_slice(&[0xFD, a, b, c]);
        });
    }

    /// A value of those who ask once.
    fn value(&mut self, value: &Value) {
        use engines::Params as _;
        match value {
            Value::Null => self.null(),
            Value::Integer(value) => {
                self.put(kind::LONGLONG, |out| {
                    out.extend_from_slice(&value.to_le_bytes())
                });
            }
            Value::Text(text) => self.text(text.as_bytes()),
            Value::Integers(values) => self.list(values.iter().copied()),
        }
    }
}

/// Memory takes everything.
fn append(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(what);
}

impl engines::Params for Params {
    fn null(&mut self) {
        self.put(kind::NULL, |_| ());
    }

    fn boolean(&mut self, value: bool) {
        self.put(kind::TINY, |out| out.push(value.into()));
    }

    fn int2(&mut self, value: i16) {
        self.put(kind::SHORT, |out| {
            out.extend_from_slice(&value.to_le_bytes())
        });
    }

    fn int4(&mut self, value: i32) {
        self.put(kind::LONG, |out| {
            out.extend_from_slice(&value.to_le_bytes())
        });
    }

    fn int8(&mut self, value: i64) {
        self.put(kind::LONGLONG, |out| {
            out.extend_from_slice(&value.to_le_bytes())
        });
    }

    /// A `DATETIME` in UTC, whatever the session's time zone.
    fn timestamp(&mut self, value_us: i64) {
        let date = Date::of(value_us);
        self.put(kind::DATETIME, |out| {
            out.push(11);
            out.extend_from_slice(&(date.year as u16).to_le_bytes());
            let parts = [date.month, date.day, date.hour, date.minute, date.second];
            out.extend_from_slice(&parts.map(|part| part as u8));
            out.extend_from_slice(&(date.us as u32).to_le_bytes());
        });
    }

    fn text(&mut self, value: &[u8]) {
        self.put(kind::VAR_STRING, |out| {
            put_length(out, value.len());
            out.extend_from_slice(value);
        });
    }

    fn cents(&mut self, value: u32) {
        debug_assert!(value < 1_000_000);
        self.put(kind::NEW_DECIMAL, |out| {
            // Up to 9999.99: seven letters, whose number is written first.
            let at = out.len();
            out.push(0);
            append(out, format_args!("{}.{:02}", value / 100, value % 100));
            out[at] = (out.len() - at - 1) as u8;
        });
    }

    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        self.list(values.map(i64::from));
    }

    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.list(values.map(i64::from));
    }

    fn int8_list(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.list(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Params as _;

    /// Nulls and types stand before all values, each value as its type has it.
    #[test]
    fn parameters_are_written_behind_their_types() {
        let mut params = Params::default();
        params.null();
        params.boolean(true);
        params.int2(-2);
        params.int4(7);
        params.timestamp(850_000_000_000_001);
        params.text(b"abc");
        params.cents(12_05);
        params.int2_list([1_i16, -20].into_iter());
        params.int4_list(std::iter::empty());
        let mut out = vec![b'.'];
        params.write_to(&mut out, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
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

    /// A value stands wherever its number does; one without a place is not sent, and no places are no bytes.
    #[test]
    fn a_parameter_may_stand_twice_or_nowhere() {
        let mut params = Params::default();
        params.int2(1);
        params.null();
        params.int2(3);
        params.text(b"unused");
        let mut out = Vec::new();
        params.write_to(&mut out, &[]);
        assert!(out.is_empty());
        params.write_to(&mut out, &[2, 1, 0, 2]);
        let expected = b"\x02\x01\x02\0\x06\0\x02\0\x02\0\x03\0\x01\0\x03\0";
        assert_eq!(&expected[..], out);
        assert!(params.suffice(&[3]) && !params.suffice(&[4]));
    }
}
