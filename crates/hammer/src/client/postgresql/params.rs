//! Parameters of a statement in PostgreSQL's binary format, written straight into the request.
//!
//! Source: the receive functions of the types (`int4recv`, `array_recv`, `numeric_recv`, …).

use bytes::{BufMut, BytesMut};

/// Object identifiers of the element types of arrays (`pg_type.dat`).
const INT2_OID: u32 = 21;
const INT4_OID: u32 = 23;

/// The parameters of one statement, in order.
pub struct Params<'a> {
    out: &'a mut BytesMut,
    count: u16,
}

impl<'a> Params<'a> {
    pub(super) fn new(out: &'a mut BytesMut) -> Self {
        Params { out, count: 0 }
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    fn begin(&mut self, length: usize) {
        self.count += 1;
        self.out.put_u32(length as u32);
    }

    /// Missing.
    pub fn null(&mut self) {
        self.count += 1;
        self.out.put_i32(-1);
    }

    /// A `boolean`.
    pub fn boolean(&mut self, value: bool) {
        self.begin(1);
        self.out.put_u8(value.into());
    }

    /// A `smallint`.
    pub fn int2(&mut self, value: i16) {
        self.begin(2);
        self.out.put_i16(value);
    }

    /// An `integer`.
    pub fn int4(&mut self, value: i32) {
        self.begin(4);
        self.out.put_i32(value);
    }

    /// A `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    pub fn int8(&mut self, value: i64) {
        self.begin(8);
        self.out.put_i64(value);
    }

    /// A `text` or `varchar`.
    pub fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// The bytes of a `text` as another answer gave them.
    pub fn bytes(&mut self, value: &[u8]) {
        self.begin(value.len());
        self.out.put_slice(value);
    }

    /// A `numeric` with two decimals, from 0.00 to 9999.99, in hundredths.
    pub fn cents(&mut self, value: u32) {
        debug_assert!(value < 1_000_000);
        // Two digits in base 10000: before the point (weight 0) and after it. Zeros need not be cut.
        self.begin(12);
        let (digits, weight, positive, scale) = (2, 0, 0, 2);
        for part in [digits, weight, positive, scale] {
            self.out.put_u16(part);
        }
        self.out.put_u16((value / 100) as u16);
        self.out.put_u16((value % 100) as u16 * 100);
    }

    /// A `smallint[]`.
    pub fn int2_array(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        self.array_head(INT2_OID, values.len(), 2);
        for value in values {
            let [high, low] = value.to_be_bytes();
            self.out.put_slice(&[0, 0, 0, 2, high, low]);
        }
    }

    /// An `integer[]`.
    pub fn int4_array(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.array_head(INT4_OID, values.len(), 4);
        for value in values {
            let [a, b, c, d] = value.to_be_bytes();
            self.out.put_slice(&[0, 0, 0, 4, a, b, c, d]);
        }
    }

    /// One dimension, no nulls, first index 1.
    fn array_head(&mut self, element: u32, length: usize, element_bytes: usize) {
        self.begin(20 + length * (4 + element_bytes));
        let (dimensions, nulls, first) = (1, 0, 1);
        self.out.put_u32(dimensions);
        self.out.put_u32(nulls);
        self.out.put_u32(element);
        self.out.put_u32(length as u32);
        self.out.put_u32(first);
    }
}
