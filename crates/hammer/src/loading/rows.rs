//! Rows under way to the server: values of a shape, in the format that the engine wants.

use stithy_measure::Rng;

use super::text::{self, Lengths, Shape, Tap};
use crate::engines::RowFormat;

/// Rows under way to the server.
pub struct Rows {
    format: &'static dyn RowFormat,
    /// The encoded rows.
    pub(crate) bytes: Vec<u8>,
    /// How many rows they are.
    pub(crate) count: u64,
    shape: Shape,
    /// The text of the rows, where it was kept apart.
    pub(crate) tap: Option<Tap>,
}

impl Rows {
    /// No rows yet; their text is to be of a shape.
    pub fn new(format: &'static dyn RowFormat, shape: Shape) -> Self {
        Rows {
            format,
            bytes: Vec::new(),
            count: 0,
            shape,
            tap: None,
        }
    }

    /// The same, keeping the text apart as well.
    pub fn tapped(format: &'static dyn RowFormat, shape: Shape) -> Self {
        Rows {
            tap: Some(Tap::default()),
            ..Rows::new(format, shape)
        }
    }

    /// Takes the encoded rows out and leaves an empty buffer; the count goes on.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let capacity = self.bytes.capacity();
        std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity))
    }

    /// Begins a row of `fields` fields; exactly so many must follow.
    pub fn begin(&mut self, fields: u16) {
        self.count += 1;
        self.format.begin(&mut self.bytes, fields);
    }

    /// An integer of two bytes.
    pub fn int2(&mut self, value: i16) {
        self.format.int2(&mut self.bytes, value);
    }

    /// An integer of four bytes.
    pub fn int4(&mut self, value: u32) {
        self.format.int4(&mut self.bytes, value);
    }

    /// An integer of four bytes, which may be below 0.
    pub fn signed(&mut self, value: i32) {
        self.format.signed(&mut self.bytes, value);
    }

    /// An integer of eight bytes.
    pub fn int8(&mut self, value: i64) {
        self.format.int8(&mut self.bytes, value);
    }

    /// A day, counted from the start of 2000.
    pub fn date(&mut self, value_days: i32) {
        self.format.date(&mut self.bytes, value_days);
    }

    /// A moment, in microseconds since the start of 2000, UTC.
    pub fn timestamp(&mut self, value_us: i64) {
        self.format.timestamp(&mut self.bytes, value_us);
    }

    /// Missing.
    pub fn null(&mut self) {
        self.format.null(&mut self.bytes);
    }

    /// Fixed text.
    pub fn str(&mut self, value: &[u8]) {
        self.written(|out| out.extend_from_slice(value));
    }

    /// Text that `write` appends.
    pub fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.format.begin_text(&mut self.bytes);
        write(&mut self.bytes);
        self.format.end_text(&mut self.bytes, at);
    }

    /// Random letters and digits of a random length, whatever the shape of the text: what rows are
    /// found and sorted by.
    pub fn name(&mut self, rng: &mut Rng, lengths: Lengths) {
        self.written(|out| text::push_text_of(out, rng, lengths));
    }

    /// Text of a random length, in the shape of these rows.
    pub fn text(&mut self, rng: &mut Rng, lengths: Lengths) {
        self.shaped(|shape, out| shape.push_text_of(out, rng, lengths));
    }

    /// Text that `write` appends in the shape of these rows.
    pub fn shaped(&mut self, write: impl FnOnce(&Shape, &mut Vec<u8>)) {
        let (shape, tap) = (self.shape, &mut self.tap);
        let at = self.format.begin_text(&mut self.bytes);
        write(&shape, &mut self.bytes);
        if let Some(tap) = tap {
            tap.take(&self.bytes[at..]);
        }
        self.format.end_text(&mut self.bytes, at);
    }

    /// A decimal number with two decimals, in hundredths.
    pub fn cents(&mut self, value: i64) {
        self.format.cents(&mut self.bytes, value);
    }

    /// A decimal number with four decimals, below 1, in ten-thousandths.
    pub fn ten_thousandths(&mut self, value: u16) {
        self.format.ten_thousandths(&mut self.bytes, value);
    }
}
