//! Rows of a load, before the types of their columns are known: each value behind a letter that says what it
//! is. [`super::copying`] makes of them what the server takes.

use std::io;

use super::column::{kind, Column, IN_PARTS};
use super::packet::{put_wide, Fields};
use super::params::{put_day, put_moment};
use super::reply::{token, ServerError};
use super::value::US_PER_DAY;
use crate::engines::RowFormat;

const INTEGER: u8 = b'i';
const MOMENT: u8 = b'm';
const NULL: u8 = b'n';
const TEXT: u8 = b't';
/// A decimal number, and how many of its digits are behind the point.
const DECIMAL: u8 = b'd';
/// Bytes of a text's length.
const LENGTH_BYTES: usize = 4;

/// The format.
pub struct TaggedRows;

fn put(out: &mut Vec<u8>, tag: u8, value: i64) {
    out.push(tag);
    out.extend_from_slice(&value.to_le_bytes());
}

impl RowFormat for TaggedRows {
    fn begin(&self, _: &mut Vec<u8>, _: u16) {}

    fn int2(&self, out: &mut Vec<u8>, value: i16) {
        put(out, INTEGER, value.into());
    }

    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        put(out, INTEGER, value.into());
    }

    fn int8(&self, out: &mut Vec<u8>, value: i64) {
        put(out, INTEGER, value);
    }

    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64) {
        put(out, MOMENT, value_us);
    }

    fn null(&self, out: &mut Vec<u8>) {
        out.push(NULL);
    }

    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        out.push(TEXT);
        out.extend_from_slice(&[0; LENGTH_BYTES]);
        out.len()
    }

    fn end_text(&self, out: &mut Vec<u8>, at: usize) {
        let length = (out.len() - at) as u32;
        out[at - LENGTH_BYTES..at].copy_from_slice(&length.to_le_bytes());
    }

    fn cents(&self, out: &mut Vec<u8>, value: i64) {
        put(out, DECIMAL, value);
        out.push(2);
    }

    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16) {
        put(out, DECIMAL, value.into());
        out.push(4);
    }
}

/// Why a value is none of its column.
type Unfit = ServerError;

/// Appends whole rows as the server takes them into columns of these types.
pub(super) fn encode_rows(out: &mut Vec<u8>, rows: &[u8], columns: &[Column]) -> Result<(), Unfit> {
    let mut fields = Fields(rows);
    while !fields.0.is_empty() {
        out.push(token::ROW);
        for (number, column) in (1..).zip(columns) {
            let fits = encode_value(out, &mut fields, column);
            if !fits.map_err(|_| cut_off())? {
                let text = format!("a value does not fit column {number} of the table");
                return Err(Unfit::made(text));
            }
        }
    }
    Ok(())
}

fn cut_off() -> Unfit {
    Unfit::made("a row has fewer values than the table has columns")
}

/// False where the value does not fit.
fn encode_value(out: &mut Vec<u8>, fields: &mut Fields<'_>, column: &Column) -> io::Result<bool> {
    let tag = fields.integer::<1>()? as u8;
    Ok(match tag {
        NULL => put_null(out, column),
        TEXT => put_text(out, fields.counted::<4>()?, column),
        _ => {
            let value = fields.integer::<8>()? as i64;
            match tag {
                MOMENT if column.kind == kind::DATE => {
                    out.push(column.size as u8);
                    put_day(out, value.div_euclid(US_PER_DAY));
                    true
                }
                MOMENT if column.kind == kind::DATE_TIME_2 => {
                    put_moment(out, value, column.scale);
                    true
                }
                INTEGER if column.is_integer() => put_integer(out, value, column),
                INTEGER => put_decimal(out, value, 0, column),
                DECIMAL => {
                    let scale = fields.integer::<1>()? as u8;
                    put_decimal(out, value, scale, column)
                }
                _ => false,
            }
        }
    })
}

fn put_null(out: &mut Vec<u8>, column: &Column) -> bool {
    match column.size {
        _ if column.is_fixed() => return false,
        IN_PARTS => out.extend_from_slice(&[0xFF; 8]),
        _ if column.is_text() => out.extend_from_slice(&[0xFF; 2]),
        _ => out.push(0),
    }
    true
}

fn put_integer(out: &mut Vec<u8>, value: i64, column: &Column) -> bool {
    let fits = match column.size {
        1 => u8::try_from(value).is_ok(),
        2 => i16::try_from(value).is_ok(),
        4 => i32::try_from(value).is_ok(),
        _ => true,
    };
    if !column.is_fixed() {
        out.push(column.size as u8);
    }
    out.extend_from_slice(&value.to_le_bytes()[..column.size.min(8)]);
    fits
}

fn put_decimal(out: &mut Vec<u8>, value: i64, scale: u8, column: &Column) -> bool {
    if !column.is_decimal() || scale > column.scale || !(2..=17).contains(&column.size) {
        return false;
    }
    let one = 10_u128.pow((column.scale - scale).into());
    let digits = u128::from(value.unsigned_abs()) * one;
    out.extend_from_slice(&[column.size as u8, (value >= 0).into()]);
    out.extend_from_slice(&digits.to_le_bytes()[..column.size - 1]);
    digits < 10_u128.pow(column.precision.into())
}

/// Letters beyond ASCII go into columns of Unicode alone: others have a set of characters of their own.
fn put_text(out: &mut Vec<u8>, text: &[u8], column: &Column) -> bool {
    let takes_text = column.is_text() || column.kind == kind::VAR_BINARY;
    let Some(text) = std::str::from_utf8(text).ok().filter(|_| takes_text) else {
        return false;
    };
    let in_parts = column.size == IN_PARTS;
    let length_bytes = if in_parts { 12 } else { 2 };
    let at = out.len();
    out.resize(at + length_bytes, 0);
    match column.is_wide() {
        true => put_wide(out, text),
        false => out.extend_from_slice(text.as_bytes()),
    }
    // Not every server fills up what is of a fixed length.
    let full = at + length_bytes + column.size;
    while out.len() < full && [kind::CHAR, kind::NCHAR].contains(&column.kind) {
        out.extend_from_slice(if column.is_wide() { &b" \0"[..] } else { b" " });
    }
    let length = out.len() - at - length_bytes;
    if in_parts {
        out[at..at + 8].copy_from_slice(&(length as u64).to_le_bytes());
        out[at + 8..at + 12].copy_from_slice(&(length as u32).to_le_bytes());
        // The end of the parts; an empty one is the end itself.
        if length > 0 {
            out.extend_from_slice(&[0; 4]);
        }
    } else {
        out[at..at + 2].copy_from_slice(&(length as u16).to_le_bytes());
    }
    (column.is_wide() || text.is_ascii()) && (in_parts || length <= column.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, size: usize, precision: u8, scale: u8) -> Column {
        Column {
            flags: 0,
            kind,
            size,
            precision,
            scale,
            collation: [0; 5],
        }
    }

    /// Values take the form of their columns, whatever integers and decimals these are.
    #[test]
    fn values_take_the_form_of_their_columns() {
        let columns = [
            column(kind::INT4, 4, 0, 0),
            column(kind::INT_N, 2, 0, 0),
            column(kind::DECIMAL_N, 5, 8, 2),
            column(kind::NUMERIC_N, 5, 5, 4),
            column(kind::DATE_TIME_2, 0, 0, 3),
            column(kind::DATE, 3, 0, 0),
            column(kind::CHAR, 4, 0, 0),
            column(kind::NVARCHAR, 8, 0, 0),
            column(kind::VAR_BINARY, IN_PARTS, 0, 0),
            column(kind::INT_N, 4, 0, 0),
        ];
        let mut rows = Vec::new();
        let format = TaggedRows;
        format.begin(&mut rows, 10);
        format.int4(&mut rows, 7);
        format.int2(&mut rows, -2);
        format.cents(&mut rows, -12_05);
        format.ten_thousandths(&mut rows, 75);
        format.timestamp(&mut rows, 5_000);
        format.date(&mut rows, -1);
        for text in ["ab", "é", "xyz"] {
            let at = format.begin_text(&mut rows);
            rows.extend_from_slice(text.as_bytes());
            format.end_text(&mut rows, at);
        }
        format.null(&mut rows);
        let mut out = Vec::new();
        encode_rows(&mut out, &rows, &columns).unwrap();
        let expected: [&[u8]; 11] = [
            b"\xd1",
            b"\x07\0\0\0",
            b"\x02\xfe\xff",
            b"\x05\0\xb5\x04\0\0",
            b"\x05\x01\x4b\0\0\0",
            b"\x07\x05\0\0\0\x07\x24\x0b",
            b"\x03\x06\x24\x0b",
            b"\x04\0ab  ",
            b"\x02\0\xe9\0",
            b"\x03\0\0\0\0\0\0\0\x03\0\0\0xyz\0\0\0\0",
            b"\0",
        ];
        assert_eq!(expected.concat(), out);
    }

    /// What a column cannot hold is refused by the column's number, and so is a row that ends early.
    #[test]
    fn what_does_not_fit_is_refused() {
        let integer = column(kind::INT_N, 2, 0, 0);
        let text = column(kind::VARCHAR, 2, 0, 0);
        let decimal = column(kind::DECIMAL_N, 5, 4, 2);
        let fixed = column(kind::INT4, 4, 0, 0);
        let put_texts = |out: &mut Vec<u8>, text: &str| {
            let at = TaggedRows.begin_text(out);
            out.extend_from_slice(text.as_bytes());
            TaggedRows.end_text(out, at);
        };
        let mut cases: Vec<(Vec<u8>, Column)> = Vec::new();
        let mut add = |column, write: &dyn Fn(&mut Vec<u8>)| {
            let mut rows = Vec::new();
            write(&mut rows);
            cases.push((rows, column));
        };
        add(integer, &|out| TaggedRows.int4(out, 40_000));
        add(integer, &|out| put_texts(out, "7"));
        add(integer, &|out| TaggedRows.timestamp(out, 0));
        add(text, &|out| put_texts(out, "abc"));
        add(text, &|out| put_texts(out, "é"));
        add(text, &|out| TaggedRows.int2(out, 1));
        add(decimal, &|out| TaggedRows.cents(out, 10_000));
        add(decimal, &|out| TaggedRows.ten_thousandths(out, 1));
        add(fixed, &|out| TaggedRows.null(out));
        for (number, (rows, column)) in cases.into_iter().enumerate() {
            let error = encode_rows(&mut Vec::new(), &rows, &[column]).unwrap_err();
            assert!(error.text.contains("column 1"), "{number}: {error}");
            let error = encode_rows(&mut Vec::new(), &[INTEGER], &[column]).unwrap_err();
            assert!(error.text.contains("fewer values"), "{number}: {error}");
        }
    }
}
