//! Parameters of statements, encoded as a call has them: types with their values.
//!
//! Source: MS-TDS, sections 2.2.6.6 "RPC Request" and 2.2.5.5 "Data Types".

use std::fmt::Write as _;
use std::ops::Range;

use super::column::{kind, Collation, IN_PARTS};
use super::packet::put_wide;
use super::value::{DAYS_TO_2000, US_PER_DAY};
use crate::engines::{self, Value};

/// Bytes of a text that need not come in parts.
const SHORT_BYTES: usize = 8000;

/// What a parameter is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bit,
    Int2,
    Int4,
    Int8,
    Moment,
    Text,
    WideText,
    LongText,
    Cents,
}

impl Kind {
    fn sql(self) -> &'static str {
        match self {
            Kind::Bit => "bit",
            Kind::Int2 => "smallint",
            Kind::Int4 => "int",
            Kind::Int8 => "bigint",
            Kind::Moment => "datetime2(6)",
            Kind::Text => "varchar(8000)",
            Kind::WideText => "nvarchar(4000)",
            Kind::LongText => "nvarchar(max)",
            Kind::Cents => "decimal(8,2)",
        }
    }
}

/// The declaration of parameters of these kinds: `@p1 int,@p2 bit`.
fn declare(kinds: &[Kind]) -> String {
    let mut text = String::new();
    for (number, kind) in (1..).zip(kinds) {
        let comma = if number == 1 { "" } else { "," };
        // Memory takes everything.
        let _ = write!(text, "{comma}@p{number} {}", kind.sql());
    }
    text
}

/// The parameters of a batch's statements, one after the other.
#[derive(Debug, Default)]
pub struct Params {
    bytes: Vec<u8>,
    kinds: Vec<Kind>,
    /// Where the bytes of each end.
    ends: Vec<usize>,
    /// The database's.
    collation: Collation,
    letters: String,
}

impl Params {
    pub(super) fn new(collation: Collation) -> Self {
        Params {
            collation,
            ..Params::default()
        }
    }

    /// Those of a statement that is asked once.
    pub(super) fn of(values: &[Value], collation: Collation) -> Self {
        use engines::Params as _;
        let mut params = Params::new(collation);
        for value in values {
            match value {
                Value::Null => params.null(),
                Value::Integer(value) => params.integer(Kind::Int8, &value.to_le_bytes()),
                Value::Text(text) => params.text(text.as_bytes()),
                Value::Integers(values) => params.list(values.iter().copied()),
            }
        }
        params
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.kinds.clear();
        self.ends.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn kinds(&self, range: Range<usize>) -> &[Kind] {
        &self.kinds[range]
    }

    /// Appends a parameter as a call has it.
    pub(super) fn write_to(&self, out: &mut Vec<u8>, number: usize) {
        let before = number.checked_sub(1);
        let start = before.map_or(0, |before| self.ends[before]);
        put_unnamed(out);
        out.extend_from_slice(&self.bytes[start..self.ends[number]]);
    }

    fn put(&mut self, kind: Kind, write: impl FnOnce(&mut Vec<u8>, Collation)) {
        write(&mut self.bytes, self.collation);
        self.kinds.push(kind);
        self.ends.push(self.bytes.len());
    }

    fn integer(&mut self, kind: Kind, bytes: &[u8]) {
        self.put(kind, |out, _| put_integer(out, bytes));
    }

    fn wide(&mut self, text: &str) {
        let short = text.len() * 2 <= SHORT_BYTES;
        let kind = if short {
            Kind::WideText
        } else {
            Kind::LongText
        };
        self.put(kind, |out, collation| put_text(out, text, collation));
    }

    /// A JSON array, which `OPENJSON` takes apart.
    fn list(&mut self, values: impl Iterator<Item = i64>) {
        let mut text = std::mem::take(&mut self.letters);
        text.clear();
        text.push('[');
        for (number, value) in values.enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{value}");
        }
        text.push(']');
        self.wide(&text);
        self.letters = text;
    }
}

/// A parameter without a name, which goes in only.
pub(super) fn put_unnamed(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

pub(super) fn put_integer(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len() as u8;
    out.extend_from_slice(&[kind::INT_N, length, length]);
    out.extend_from_slice(bytes);
}

/// The declaration of a statement's parameters, which is null where it has none.
pub(super) fn put_declaration(out: &mut Vec<u8>, kinds: &[Kind], collation: Collation) {
    if !kinds.is_empty() {
        return put_text(out, &declare(kinds), collation);
    }
    out.push(kind::NVARCHAR);
    out.extend_from_slice(&(SHORT_BYTES as u16).to_le_bytes());
    out.extend_from_slice(&collation);
    out.extend_from_slice(&(IN_PARTS as u16).to_le_bytes());
}

/// Text in UTF-16, in one part where it is long.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str, collation: Collation) {
    let length = text.encode_utf16().count() * 2;
    let short = length <= SHORT_BYTES;
    let size = if short { SHORT_BYTES } else { IN_PARTS };
    out.push(kind::NVARCHAR);
    out.extend_from_slice(&(size as u16).to_le_bytes());
    out.extend_from_slice(&collation);
    if short {
        out.extend_from_slice(&(length as u16).to_le_bytes());
        return put_wide(out, text);
    }
    out.extend_from_slice(&(length as u64).to_le_bytes());
    out.extend_from_slice(&(length as u32).to_le_bytes());
    put_wide(out, text);
    out.extend_from_slice(&[0; 4]);
}

/// Parts of a second since midnight in `bytes` bytes, then three bytes of days since the year 1.
pub(super) fn put_moment(out: &mut Vec<u8>, value_us: i64, scale: u8) {
    let (days, us) = (
        value_us.div_euclid(US_PER_DAY),
        value_us.rem_euclid(US_PER_DAY),
    );
    let bytes = match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    };
    let parts = us * 10 / 10_i64.pow(7_u32.saturating_sub(scale.into()));
    out.push(bytes + 3);
    out.extend_from_slice(&parts.to_le_bytes()[..bytes.into()]);
    put_day(out, days);
}

/// Three bytes of days since the year 1 of a day counted from the start of 2000.
pub(super) fn put_day(out: &mut Vec<u8>, days: i64) {
    out.extend_from_slice(&(days + DAYS_TO_2000).to_le_bytes()[..3]);
}

impl engines::Params for Params {
    /// Text, which every other type is made of.
    fn null(&mut self) {
        self.put(Kind::Text, |out, collation| {
            put_text_type(out, collation);
            out.extend_from_slice(&(IN_PARTS as u16).to_le_bytes());
        });
    }

    fn boolean(&mut self, value: bool) {
        self.put(Kind::Bit, |out, _| {
            out.extend_from_slice(&[kind::BIT_N, 1, 1, value.into()]);
        });
    }

    fn int2(&mut self, value: i16) {
        self.integer(Kind::Int2, &value.to_le_bytes());
    }

    fn int4(&mut self, value: i32) {
        self.integer(Kind::Int4, &value.to_le_bytes());
    }
    fn int8(&mut self, value: i64) {
        self.integer(Kind::Int8, &value.to_le_bytes());
    }

    fn timestamp(&mut self, value_us: i64) {
        self.put(Kind::Moment, |out, _| {
            out.extend_from_slice(&[kind::DATE_TIME_2, 6]);
            put_moment(out, value_us, 6);
        });
    }

    /// ASCII is the same in every order of text; other letters come in UTF-16.
    fn text(&mut self, value: &[u8]) {
        if !value.is_ascii() || value.len() > SHORT_BYTES {
            return self.wide(&String::from_utf8_lossy(value));
        }
        self.put(Kind::Text, |out, collation| {
            put_text_type(out, collation);
            out.extend_from_slice(&(value.len() as u16).to_le_bytes());
            out.extend_from_slice(value);
        });
    }

    fn cents(&mut self, value: u32) {
        debug_assert!(value < 1_000_000);
        const POSITIVE: u8 = 1;
        self.put(Kind::Cents, |out, _| {
            out.extend_from_slice(&[kind::DECIMAL_N, 5, 8, 2, 5, POSITIVE]);
            out.extend_from_slice(&value.to_le_bytes());
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

fn put_text_type(out: &mut Vec<u8>, collation: Collation) {
    out.push(kind::VARCHAR);
    out.extend_from_slice(&(SHORT_BYTES as u16).to_le_bytes());
    out.extend_from_slice(&collation);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Params as _;

    /// Each value stands behind its type; what does not fit a short text comes in parts.
    #[test]
    fn parameters_stand_behind_their_types() {
        let mut params = Params::new([9, 4, 0, 0, 52]);
        params.null();
        params.boolean(true);
        params.int2(-2);
        params.timestamp(1);
        params.text(b"ab");
        params.text("é".as_bytes());
        params.cents(12_05);
        params.int4_list([1_i32, -20].into_iter());
        params.text(&[b'x'; 9000]);
        let all = params.count();
        let encoded: Vec<Vec<u8>> = (0..all)
            .map(|number| {
                let mut out = Vec::new();
                params.write_to(&mut out, number);
                out
            })
            .collect();
        let expected: [&[u8]; 8] = [
            b"\0\0\xa7\x40\x1f\x09\x04\0\0\x34\xff\xff",
            b"\0\0\x68\x01\x01\x01",
            b"\0\0\x26\x02\x02\xfe\xff",
            b"\0\0\x2a\x06\x08\x01\0\0\0\0\x07\x24\x0b",
            b"\0\0\xa7\x40\x1f\x09\x04\0\0\x34\x02\0ab",
            b"\0\0\xe7\x40\x1f\x09\x04\0\0\x34\x02\0\xe9\0",
            b"\0\0\x6a\x05\x08\x02\x05\x01\xb5\x04\0\0",
            b"\0\0\xe7\x40\x1f\x09\x04\0\0\x34\x0e\0[\x001\0,\0-\x002\x000\0]\0",
        ];
        assert_eq!(expected[..], encoded[..8]);
        assert!(encoded[8]
            .starts_with(b"\0\0\xe7\xff\xff\x09\x04\0\0\x34\x50\x46\0\0\0\0\0\0\x50\x46\0\0x"));
        assert_eq!(
            "@p1 varchar(8000),@p2 bit,@p3 smallint,@p4 datetime2(6),@p5 varchar(8000),\
             @p6 nvarchar(4000),@p7 decimal(8,2),@p8 nvarchar(4000),@p9 nvarchar(max)",
            declare(params.kinds(0..all))
        );
    }
}
