//! Rows in the text of `LOAD DATA`: each value ends with a tab and each row with a line break, so a value can
//! be written without knowing whether it is the last one.

use std::io::Write;

use crate::date::Date;
use crate::engines::RowFormat;

/// How `LOAD DATA` is told to read it.
pub(super) const FORMAT: &str =
    "CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\t\\n'";

/// What ends the last row; the others are ended by the one after.
pub(super) const END_OF_ROW: u8 = b'\n';

/// The format.
pub struct TextRows;

fn put(out: &mut Vec<u8>, value: std::fmt::Arguments<'_>) {
    // Memory takes everything.
    let _ = out.write_fmt(value);
    out.push(b'\t');
}

impl RowFormat for TextRows {
    fn begin(&self, out: &mut Vec<u8>, _: u16) {
        if !out.is_empty() {
            out.push(END_OF_ROW);
        }
    }

    fn int2(&self, out: &mut Vec<u8>, value: i16) {
        put(out, format_args!("{value}"));
    }

    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        put(out, format_args!("{value}"));
    }

    fn int8(&self, out: &mut Vec<u8>, value: i64) {
        put(out, format_args!("{value}"));
    }

    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64) {
        put(out, format_args!("{}", Date::of(value_us)));
    }

    fn date(&self, out: &mut Vec<u8>, value_days: i32) {
        let Date {
            year, month, day, ..
        } = Date::of(i64::from(value_days) * 86_400_000_000);
        put(out, format_args!("{year}-{month:02}-{day:02}"));
    }

    fn null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\\N\t");
    }

    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        out.len()
    }

    fn end_text(&self, out: &mut Vec<u8>, at: usize) {
        let letter = |byte: u8| match byte {
            b'\t' => Some(b't'),
            b'\n' => Some(b'n'),
            b'\\' => Some(b'\\'),
            _ => None,
        };
        if out[at..].iter().any(|byte| letter(*byte).is_some()) {
            for byte in out.split_off(at) {
                match letter(byte) {
                    Some(letter) => out.extend_from_slice(&[b'\\', letter]),
                    None => out.push(byte),
                }
            }
        }
        out.push(b'\t');
    }

    fn cents(&self, out: &mut Vec<u8>, value: i64) {
        let sign = if value < 0 { "-" } else { "" };
        let value = value.unsigned_abs();
        put(
            out,
            format_args!("{sign}{}.{:02}", value / 100, value % 100),
        );
    }

    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16) {
        debug_assert!(value < 10_000);
        put(out, format_args!("0.{value:04}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of value, twice; what separates values is escaped within one.
    #[test]
    fn rows_are_lines_of_values() {
        let mut out = Vec::new();
        for number in [-7_i16, 8] {
            TextRows.begin(&mut out, 9);
            TextRows.int2(&mut out, number);
            TextRows.int4(&mut out, 4_000_000_000);
            TextRows.timestamp(&mut out, -1);
            TextRows.date(&mut out, 59);
            TextRows.null(&mut out);
            for text in ["", "a\tb\\\n"] {
                let at = TextRows.begin_text(&mut out);
                out.extend_from_slice(text.as_bytes());
                TextRows.end_text(&mut out, at);
            }
            TextRows.cents(&mut out, -5);
            TextRows.ten_thousandths(&mut out, 75);
        }
        let row = |number| {
            format!(
                "{number}\t4000000000\t1999-12-31 23:59:59.999999\t2000-02-29\t\\N\t\ta\\tb\\\\\\n\t-0.05\t0.0075\t"
            )
        };
        assert_eq!(
            [row(-7), row(8)].join("\n"),
            String::from_utf8(out).unwrap()
        );
    }
}
