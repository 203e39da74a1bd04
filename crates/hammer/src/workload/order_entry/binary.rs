//! Rows in PostgreSQL's binary COPY format, written straight into one buffer.
//!
//! Source: PostgreSQL documentation, COPY, "Binary Format", and the receive functions of the types
//! used here. No value is boxed and no type is looked up: encoding costs little beside the copy.

use super::random::Rng;
use super::text::{self, Lengths, Shape, Tap};

/// What a copy starts with: signature, no flags, no extension.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
pub const TRAILER: &[u8] = &[0xff, 0xff];

/// Rows under way to the server.
#[derive(Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    count: u64,
    shape: Shape,
    tap: Option<Tap>,
}

impl Rows {
    /// No rows yet; their text is to be of a shape.
    pub fn new(shape: Shape) -> Self {
        Rows {
            shape,
            ..Rows::default()
        }
    }

    /// The same, keeping the text apart as well.
    pub fn tapped(shape: Shape) -> Self {
        Rows {
            tap: Some(Tap::default()),
            ..Rows::new(shape)
        }
    }

    /// The text of the rows, where it was kept apart.
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_ref()
    }

    /// The encoded rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many rows they are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes the encoded rows out and leaves an empty buffer; the count goes on.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let capacity = self.bytes.capacity();
        std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity))
    }

    /// Begins a row of `fields` fields; exactly so many must follow.
    #[inline]
    pub fn begin(&mut self, fields: u16) {
        self.count += 1;
        self.bytes.extend_from_slice(&fields.to_be_bytes());
    }

    /// A `smallint`.
    #[inline]
    pub fn int2(&mut self, value: i16) {
        self.bytes.extend_from_slice(&2u32.to_be_bytes());
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// An `integer`.
    #[inline]
    pub fn int4(&mut self, value: u32) {
        debug_assert!(value <= i32::MAX as u32);
        self.bytes.extend_from_slice(&4u32.to_be_bytes());
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// A `timestamptz`, in microseconds since the start of 2000, UTC.
    #[inline]
    pub fn timestamp(&mut self, value_us: i64) {
        self.bytes.extend_from_slice(&8u32.to_be_bytes());
        self.bytes.extend_from_slice(&value_us.to_be_bytes());
    }

    /// Missing.
    #[inline]
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1i32).to_be_bytes());
    }

    /// Fixed text.
    #[inline]
    pub fn str(&mut self, value: &[u8]) {
        self.bytes
            .extend_from_slice(&(value.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// Text that `write` appends.
    #[inline]
    pub fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes);
        let length = (self.bytes.len() - at - 4) as u32;
        self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Random letters and digits of a random length, whatever the shape of the text: what rows are
    /// found and sorted by.
    #[inline]
    pub fn name(&mut self, rng: &mut Rng, lengths: Lengths) {
        self.written(|out| text::push_text_of(out, rng, lengths));
    }

    /// Text of a random length, in the shape of these rows.
    #[inline]
    pub fn text(&mut self, rng: &mut Rng, lengths: Lengths) {
        self.shaped(|shape, out| shape.push_text_of(out, rng, lengths));
    }

    /// I_DATA or S_DATA, in the shape of these rows.
    #[inline]
    pub fn data(&mut self, rng: &mut Rng) {
        self.shaped(|shape, out| shape.push_data(out, rng));
    }

    #[inline]
    fn shaped(&mut self, write: impl FnOnce(&Shape, &mut Vec<u8>)) {
        let shape = self.shape;
        let at = self.bytes.len() + 4;
        self.written(|out| write(&shape, out));
        if let Some(tap) = &mut self.tap {
            tap.take(&self.bytes[at..]);
        }
    }

    /// A `numeric` with two decimals, in hundredths.
    #[inline]
    pub fn cents(&mut self, value: i64) {
        self.numeric(
            value / 100,
            (value % 100).unsigned_abs() as u16 * 100,
            2,
            value < 0,
        );
    }

    /// A `numeric` with four decimals below 1, in ten-thousandths.
    #[inline]
    pub fn ten_thousandths(&mut self, value: u16) {
        debug_assert!(value < 10_000);
        self.numeric(0, value, 4, false);
    }

    /// The digits of a `numeric` are in base 10000; `fraction` is the first one after the point.
    /// Leading and trailing zero digits are left out, as the server itself stores it.
    fn numeric(&mut self, whole: i64, fraction: u16, scale: u16, negative: bool) {
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
        self.bytes
            .extend_from_slice(&(8 + 2 * digits.len() as u32).to_be_bytes());
        self.bytes
            .extend_from_slice(&(digits.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(&weight.to_be_bytes());
        self.bytes.extend_from_slice(&sign.to_be_bytes());
        self.bytes.extend_from_slice(&scale.to_be_bytes());
        for digit in digits {
            self.bytes.extend_from_slice(&digit.to_be_bytes());
        }
    }
}

#[cfg(test)]
#[allow(clippy::inconsistent_digit_grouping)] // cents are set apart
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut Rows)) -> Vec<u8> {
        let mut rows = Rows::default();
        write(&mut rows);
        rows.bytes
    }

    /// As `SELECT numeric_send(...)` of PostgreSQL 15 prints it; the real server is asked in the
    /// loading tests.
    #[test]
    fn numbers_are_encoded_as_the_server_encodes_them() {
        let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
        let cents = |value| encoded(|rows| rows.cents(value));
        assert_eq!(framed(&[0, 0, 0, 0, 0, 0, 0, 2]), cents(0));
        assert_eq!(framed(&[0, 1, 0, 0, 0, 0, 0, 2, 0, 10]), cents(10_00));
        assert_eq!(framed(&[0, 1, 0, 0, 0x40, 0, 0, 2, 0, 10]), cents(-10_00));
        assert_eq!(framed(&[0, 1, 0, 1, 0, 0, 0, 2, 0, 3]), cents(30_000_00));
        assert_eq!(
            framed(&[0, 2, 0, 1, 0, 0, 0, 2, 0, 3, 0, 1]),
            cents(30_001_00)
        );
        assert_eq!(framed(&[0, 1, 0xff, 0xff, 0, 0, 0, 2, 0, 100]), cents(1));
        let tax = encoded(|rows| rows.ten_thousandths(500));
        assert_eq!(framed(&[0, 1, 0xff, 0xff, 0, 0, 0, 4, 0x01, 0xf4]), tax);
    }

    /// A missing value has the length -1 and no bytes.
    #[test]
    fn a_missing_value_is_a_length_of_minus_one() {
        assert_eq!(vec![0xff; 4], encoded(|r| r.null()));
    }

    /// The length before a text is that of its bytes.
    #[test]
    fn text_is_preceded_by_its_length() {
        assert_eq!(b"\0\0\0\x02OE".to_vec(), encoded(|r| r.str(b"OE")));
        assert_eq!(
            b"\0\0\0\x03abc".to_vec(),
            encoded(|r| r.written(|o| o.extend(b"abc")))
        );
    }
}
