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
