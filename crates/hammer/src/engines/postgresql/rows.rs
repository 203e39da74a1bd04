//! Rows in PostgreSQL's binary COPY format.
//!
//! Source: PostgreSQL documentation, COPY, "Binary Format", and the receive functions of the types
//! used here. No value is boxed and no type is looked up: encoding costs little beside the copy.

use crate::engines::RowFormat;

/// What a copy starts with: signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
pub(super) const TRAILER: &[u8] = &[0xff, 0xff];

/// The format.
pub struct BinaryRows;

impl RowFormat for BinaryRows {
    fn begin(&self, out: &mut Vec<u8>, fields: u16) {
        out.extend_from_slice(&fields.to_be_bytes());
    }

    fn int2(&self, out: &mut Vec<u8>, value: i16) {
        out.extend_from_slice(&2u32.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }

    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        debug_assert!(value <= i32::MAX as u32);
        out.extend_from_slice(&4u32.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }

    fn int8(&self, out: &mut Vec<u8>, value: i64) {
        out.extend_from_slice(&8u32.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }

    fn signed(&self, out: &mut Vec<u8>, value: i32) {
        out.extend_from_slice(&4u32.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }

    /// The server, too, counts days from the start of 2000.
    fn date(&self, out: &mut Vec<u8>, value_days: i32) {
        self.signed(out, value_days);
    }

    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64) {
        out.extend_from_slice(&8u32.to_be_bytes());
        out.extend_from_slice(&value_us.to_be_bytes());
    }

    fn null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1i32).to_be_bytes());
    }

    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&[0; 4]);
        out.len()
    }

    fn end_text(&self, out: &mut Vec<u8>, at: usize) {
        let length = (out.len() - at) as u32;
        out[at - 4..at].copy_from_slice(&length.to_be_bytes());
    }

    fn cents(&self, out: &mut Vec<u8>, value: i64) {
        let fraction = (value % 100).unsigned_abs() as u16 * 100;
        numeric(out, value / 100, fraction, 2, value < 0);
    }

    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16) {
        debug_assert!(value < 10_000);
        numeric(out, 0, value, 4, false);
    }
}

/// The digits of a `numeric` are in base 10000; `fraction` is the first one after the point.
/// Leading and trailing zero digits are left out, as the server itself stores it.
fn numeric(out: &mut Vec<u8>, whole: i64, fraction: u16, scale: u16, negative: bool) {
    let whole = whole.unsigned_abs();
    let digits = [
        (whole / 100_000_000) as u16,
        (whole / 10_000 % 10_000) as u16,
        (whole % 10_000) as u16,
        fraction,
    ];
    let first = digits.iter().position(|d| *d != 0).unwrap_or(4);
    let last = digits
        .iter()
        .rposition(|d| *d != 0)
        .map_or(first, |i| i + 1);
    let digits = &digits[first..last];
    let weight = if digits.is_empty() {
        0
    } else {
        2 - first as i16
    };
    let sign: u16 = if negative { 0x4000 } else { 0 };
    out.extend_from_slice(&(8 + 2 * digits.len() as u32).to_be_bytes());
    out.extend_from_slice(&(digits.len() as u16).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
    for digit in digits {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::inconsistent_digit_grouping)] // cents are set apart
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    /// As `SELECT numeric_send(...)` of PostgreSQL 15 prints it; the real server is asked in the
    /// loading tests.
    #[test]
    fn numbers_are_encoded_as_the_server_encodes_them() {
        let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
        let cents = |value| encoded(|out| BinaryRows.cents(out, value));
        assert_eq!(framed(&[0, 0, 0, 0, 0, 0, 0, 2]), cents(0));
        assert_eq!(framed(&[0, 1, 0, 0, 0, 0, 0, 2, 0, 10]), cents(10_00));
        assert_eq!(framed(&[0, 1, 0, 0, 0x40, 0, 0, 2, 0, 10]), cents(-10_00));
        assert_eq!(framed(&[0, 1, 0, 1, 0, 0, 0, 2, 0, 3]), cents(30_000_00));
        assert_eq!(
            framed(&[0, 2, 0, 1, 0, 0, 0, 2, 0, 3, 0, 1]),
            cents(30_001_00)
        );
        assert_eq!(framed(&[0, 1, 0xff, 0xff, 0, 0, 0, 2, 0, 100]), cents(1));
        let tax = encoded(|out| BinaryRows.ten_thousandths(out, 500));
        assert_eq!(framed(&[0, 1, 0xff, 0xff, 0, 0, 0, 4, 0x01, 0xf4]), tax);
    }

    /// A missing value has the length -1 and no bytes.
    #[test]
    fn a_missing_value_is_a_length_of_minus_one() {
        assert_eq!(vec![0xff; 4], encoded(|out| BinaryRows.null(out)));
    }

    /// The length before a text is that of its bytes.
    #[test]
    fn text_is_preceded_by_its_length() {
        let text = encoded(|out| {
            let at = BinaryRows.begin_text(out);
            out.extend(b"abc");
            BinaryRows.end_text(out, at);
        });
        assert_eq!(b"\0\0\0\x03abc".to_vec(), text);
    }
}
