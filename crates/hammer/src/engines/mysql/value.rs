//! Values in the protocol's binary rows, read where they lie.
//!
//! Source: MySQL "Client/Server Protocol", "Binary Protocol Resultset", "Binary Protocol Value".

use super::message::Column;
use super::packet::Fields;
use crate::engines::Value;

/// Numbers of types, as column definitions and parameters have them.
pub(super) mod kind {
    pub(in super::super) const DECIMAL: u8 = 0;
    pub(in super::super) const TINY: u8 = 1;
    pub(in super::super) const SHORT: u8 = 2;
    pub(in super::super) const LONG: u8 = 3;
    pub(in super::super) const FLOAT: u8 = 4;
    pub(in super::super) const DOUBLE: u8 = 5;
    pub(in super::super) const NULL: u8 = 6;
    pub(in super::super) const TIMESTAMP: u8 = 7;
    pub(in super::super) const LONGLONG: u8 = 8;
    pub(in super::super) const INT24: u8 = 9;
    pub(in super::super) const DATE: u8 = 10;
    pub(in super::super) const TIME: u8 = 11;
    pub(in super::super) const DATETIME: u8 = 12;
    pub(in super::super) const YEAR: u8 = 13;
    pub(in super::super) const NEW_DECIMAL: u8 = 246;
    pub(in super::super) const VAR_STRING: u8 = 253;
}

/// One row: its columns, and the payload of its packet.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub(super) columns: &'a [Column],
    pub(super) payload: &'a [u8],
}

impl<'a> Row<'a> {
    /// Column and bytes of a value, without its length; None where it is null.
    fn locate(&self, index: usize) -> Option<(Column, &'a [u8])> {
        // The first byte says "row"; the first two bits of the map of nulls are not used.
        let nulls = self.payload.get(1..)?;
        let is_null = |at: usize| {
            nulls
                .get((at + 2) / 8)
                .map(|byte| byte >> ((at + 2) % 8) & 1)
        };
        if is_null(index)? == 1 {
            return None;
        }
        let mut fields = Fields(nulls.get((self.columns.len() + 9) / 8..)?);
        for (at, column) in self.columns[..index].iter().enumerate() {
            if is_null(at)? == 0 {
                take_value(*column, &mut fields)?;
            }
        }
        let column = self.columns[index];
        Some((column, take_value(column, &mut fields)?))
    }

    /// All values.
    pub(super) fn values(&self) -> Vec<Value> {
        let values = (0..self.columns.len()).map(|at| self.locate(at));
        values
            .map(|value| value.map_or(Value::Null, whole))
            .collect()
    }
}

impl<'a> crate::engines::Row<'a> for Row<'a> {
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        self.locate(index).map(|(_, bytes)| bytes)
    }

    fn integer(&self, index: usize) -> Option<i64> {
        let (column, bytes) = self.locate(index)?;
        match is_integer(column) {
            true => integer(column, bytes),
            false => Some(hundredths(bytes)? / 100),
        }
    }

    fn cents(&self, index: usize) -> Option<i64> {
        let (column, bytes) = self.locate(index)?;
        match is_integer(column) {
            true => integer(column, bytes)?.checked_mul(100),
            false => hundredths(bytes),
        }
    }
}

fn is_integer(column: Column) -> bool {
    let kinds = [
        kind::TINY,
        kind::SHORT,
        kind::LONG,
        kind::INT24,
        kind::LONGLONG,
        kind::YEAR,
    ];
    kinds.contains(&column.kind)
}

/// The bytes of the next value; None where the row ends before.
#[inline]
fn take_value<'a>(column: Column, fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let bytes = match column.kind {
        kind::TINY => fields.take(1),
        kind::SHORT | kind::YEAR => fields.take(2),
        kind::LONG | kind::INT24 | kind::FLOAT => fields.take(4),
        kind::LONGLONG | kind::DOUBLE => fields.take(8),
        kind::NULL => fields.take(0),
        _ => fields.counted(),
    };
    bytes.ok()
}

/// None for one that is larger than 64 bits with a sign.
fn integer(column: Column, bytes: &[u8]) -> Option<i64> {
    let signed = !column.unsigned;
    Some(match *bytes {
        [byte] if signed => i64::from(byte as i8),
        [byte] => byte.into(),
        [a, b] if signed => i16::from_le_bytes([a, b]).into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] if signed => i32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        ref eight if signed => i64::from_le_bytes(eight.try_into().ok()?),
        ref eight => u64::from_le_bytes(eight.try_into().ok()?).try_into().ok()?,
    })
}

/// A decimal number in hundredths, further decimals cut; None for what is no number.
fn hundredths(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let whole = parts.next().filter(|whole| !whole.is_empty())?;
    let fraction = parts.next().unwrap_or_default();
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let mut sum = 0_i64;
    for byte in whole {
        sum = sum.checked_mul(10)?.checked_add(digit(*byte)?)?;
    }
    for place in 0..2 {
        let next = fraction.get(place).map_or(Some(0), |byte| digit(*byte))?;
        sum = sum.checked_mul(10)?.checked_add(next)?;
    }
    Some(if negative { -sum } else { sum })
}

/// A value as those see it who ask once. Numbers with digits behind the point are texts.
fn whole((column, bytes): (Column, &[u8])) -> Value {
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let number = match column.kind {
        kind::DECIMAL | kind::NEW_DECIMAL if column.decimals == 0 => text().parse().ok(),
        _ if is_integer(column) => integer(column, bytes),
        _ => None,
    };
    if let Some(number) = number {
        return Value::Integer(number);
    }
    Value::Text(match (column.kind, bytes) {
        (kind::FLOAT, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).to_string(),
        (kind::DOUBLE, &[a, b, c, d, e, f, g, h]) => {
            f64::from_le_bytes([a, b, c, d, e, f, g, h]).to_string()
        }
        (kind::DATE | kind::DATETIME | kind::TIMESTAMP, bytes) => moment(bytes),
        (kind::TIME, bytes) => time(bytes),
        (kind::LONGLONG, bytes) => {
            let number = Fields(bytes).integer::<8>();
            number.map_or_else(|_| text(), |number| number.to_string())
        }
        _ => text(),
    })
}

/// `2026-11-28 22:09:52.000001`, of which what is zero at the end may be missing.
fn moment(bytes: &[u8]) -> String {
    let mut all = [0; 11];
    all[..bytes.len().min(11)].copy_from_slice(&bytes[..bytes.len().min(11)]);
    let [year, century, month, day, hour, minute, second, us @ ..] = all;
    let (year, us) = (u16::from_le_bytes([year, century]), u32::from_le_bytes(us));
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}")
}

/// `-26:05:04.000001`: sign, days, hours, minutes, seconds, microseconds.
fn time(bytes: &[u8]) -> String {
    let mut all = [0; 12];
    all[..bytes.len().min(12)].copy_from_slice(&bytes[..bytes.len().min(12)]);
    let [negative, a, b, c, d, hour, minute, second, us @ ..] = all;
    let hours = u64::from(u32::from_le_bytes([a, b, c, d])) * 24 + u64::from(hour);
    let sign = if negative == 1 { "-" } else { "" };
    let us = u32::from_le_bytes(us);
    format!("{sign}{hours:02}:{minute:02}:{second:02}.{us:06}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Row as _;

    fn column(kind: u8, unsigned: bool, decimals: u8) -> Column {
        Column {
            kind,
            unsigned,
            decimals,
        }
    }

    /// A row of every kind of value, in which the second one is null.
    #[test]
    fn values_of_every_kind_are_read() {
        let text = |value: &str| Value::Text(value.into());
        let cases: [(Column, &[u8], Value); 14] = [
            (column(kind::TINY, false, 0), b"\xff", Value::Integer(-1)),
            (column(kind::LONG, false, 0), b"", Value::Null),
            (column(kind::TINY, true, 0), b"\xff", Value::Integer(255)),
            (
                column(kind::SHORT, false, 0),
                b"\xfe\xff",
                Value::Integer(-2),
            ),
            (
                column(kind::INT24, false, 0),
                b"\x01\0\0\0",
                Value::Integer(1),
            ),
            (
                column(kind::LONG, true, 0),
                b"\xff\xff\xff\xff",
                Value::Integer(u32::MAX.into()),
            ),
            (
                column(kind::LONGLONG, false, 0),
                b"\xff\xff\xff\xff\xff\xff\xff\xff",
                Value::Integer(-1),
            ),
            (
                column(kind::LONGLONG, true, 0),
                b"\xff\xff\xff\xff\xff\xff\xff\xff",
                text("18446744073709551615"),
            ),
            (
                column(kind::NEW_DECIMAL, false, 0),
                b"\x0242",
                Value::Integer(42),
            ),
            (
                column(kind::NEW_DECIMAL, false, 2),
                b"\x05-3.07",
                text("-3.07"),
            ),
            (
                column(kind::DOUBLE, false, 31),
                b"\0\0\0\0\0\0\xf8\x3f",
                text("1.5"),
            ),
            (column(kind::VAR_STRING, false, 0), b"\x03abc", text("abc")),
            (
                column(kind::DATETIME, false, 6),
                b"\x04\xea\x07\x0b\x1c",
                text("2026-11-28 00:00:00.000000"),
            ),
            (
                column(kind::TIME, false, 6),
                b"\x08\x01\x01\0\0\0\x02\x05\x04",
                text("-26:05:04.000000"),
            ),
        ];
        let columns = cases.each_ref().map(|case| case.0);
        let values = cases.each_ref().map(|case| case.1).concat();
        let payload = [&[0, 0b1000, 0], &values[..]].concat();
        let row = Row {
            columns: &columns,
            payload: &payload,
        };
        assert_eq!(cases.map(|case| case.2).to_vec(), row.values());
        assert_eq!((Some(42), Some(-307)), (row.integer(8), row.cents(9)));
        assert_eq!((None, Some(-100)), (row.integer(1), row.cents(0)));
        assert_eq!(Some(&b"abc"[..]), row.bytes(11));
    }

    /// Hundredths of decimals, further ones cut; what is no number is none.
    #[test]
    fn decimals_are_read_in_hundredths() {
        for (text, expected) in [
            ("0.00", Some(0)),
            ("12.34", Some(1_234)),
            ("-9999.99", Some(-999_999)),
            ("5", Some(500)),
            ("7.5", Some(750)),
            ("-0.0199", Some(-1)),
            ("123456789012345.67", Some(12_345_678_901_234_567)),
            ("99999999999999999999.00", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(expected, hundredths(text.as_bytes()), "{text}");
        }
    }
}
