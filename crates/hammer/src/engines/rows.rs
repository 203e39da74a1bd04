//! How an engine wants the rows of a load.

/// Encodes the fields of rows, one after the other, into a buffer. Loading alone goes through this table
/// of functions, so that a workload's tables need not be compiled for each engine.
pub trait RowFormat: Sync {
    /// Begins a row of `fields` fields; exactly so many must follow.
    fn begin(&self, out: &mut Vec<u8>, fields: u16);

    /// An integer of two bytes.
    fn int2(&self, out: &mut Vec<u8>, value: i16);

    /// An integer of four bytes.
    fn int4(&self, out: &mut Vec<u8>, value: u32);

    /// An integer of eight bytes.
    fn int8(&self, out: &mut Vec<u8>, value: i64);

    /// An integer of four bytes that may be below 0, as one of eight where the engine does not mind the size.
    fn signed(&self, out: &mut Vec<u8>, value: i32) {
        self.int8(out, value.into());
    }

    /// A day, counted from the start of 2000; the moment of its beginning where the engine has no form of its own.
    fn date(&self, out: &mut Vec<u8>, value_days: i32) {
        self.timestamp(out, i64::from(value_days) * 86_400_000_000);
    }

    /// A moment, in microseconds since the start of 2000, UTC.
    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64);

    /// Missing.
    fn null(&self, out: &mut Vec<u8>);

    /// Begins a text; gives the place of its first byte.
    fn begin_text(&self, out: &mut Vec<u8>) -> usize;

    /// Ends the text that began `at` a place.
    fn end_text(&self, out: &mut Vec<u8>, at: usize);

    /// A decimal number with two decimals, in hundredths.
    fn cents(&self, out: &mut Vec<u8>, value: i64);

    /// A decimal number with four decimals, below 1, in ten-thousandths.
    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16);
}
