//! Parameters of a statement in PostgreSQL's binary format, written straight into the request.
//!
//! Source: the receive functions of the types (`int4recv`, `array_recv`, `numeric_recv`, …).

use bytes::BufMut;

use crate::engines;

/// Object identifiers of the element types of arrays (`pg_type.dat`).
const INT2_OID: u32 = 21;
const INT4_OID: u32 = 23;
const INT8_OID: u32 = 20;

/// What an array has before its first element.
const ARRAY_HEAD_BYTES: usize = 20;

/// The parameters of one statement, in order.
pub struct Params<'a> {
    out: &'a mut Vec<u8>,
    count: u16,
}

impl<'a> Params<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Params { out, count: 0 }
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// Adds one. In one place for all statements: code that each has for itself is cold whenever it is its turn.
    #[inline(never)]
    fn put(&mut self, bytes: &[u8]) {
        self.begin(bytes.len());
        self.out.put_slice(bytes);
    }

    fn begin(&mut self, length: usize) {
        self.count += 1;
        self.out.put_u32(length as u32);
    }

    /// One dimension, no nulls, first index 1; each element comes with its length before it.
    fn array<const BYTES: usize>(
        &mut self,
        element: u32,
        elements: impl ExactSizeIterator<Item = [u8; BYTES]>,
    ) {
        let length = elements.len();
        self.begin(ARRAY_HEAD_BYTES + length * BYTES);
        let (dimensions, nulls, first) = (1, 0, 1);
        let head: [u32; 5] = [dimensions, nulls, element, length as u32, first];
        self.out
            .extend_from_slice(head.map(u32::to_be_bytes).as_flattened());
        let at = self.out.len();
        self.out.resize(at + length * BYTES, 0);
        for (place, element) in self.out[at..].chunks_exact_mut(BYTES).zip(elements) {
            place.copy_from_slice(&element);
        }
    }
}

impl engines::Params for Params<'_> {
    fn null(&mut self) {
        self.count += 1;
        self.out.put_i32(-1);
    }

    fn boolean(&mut self, value: bool) {
        self.put(&[value.into()]);
    }

    fn int2(&mut self, value: i16) {
        self.put(&value.to_be_bytes());
    }

    fn int4(&mut self, value: i32) {
        self.put(&value.to_be_bytes());
    }

    fn int8(&mut self, value: i64) {
        self.put(&value.to_be_bytes());
    }

    fn timestamp(&mut self, value_us: i64) {
        self.int8(value_us);
    }

    fn text(&mut self, value: &[u8]) {
        self.put(value);
    }

    /// A `numeric`: two digits in base 10000, before the point (weight 0) and after it. Zeros need not be cut.
    fn cents(&mut self, value: u32) {
        debug_assert!(value < 1_000_000);
        self.begin(12);
        let (digits, weight, positive, scale) = (2, 0, 0, 2);
        for part in [digits, weight, positive, scale] {
            self.out.put_u16(part);
        }
        self.out.put_u16((value / 100) as u16);
        self.out.put_u16((value % 100) as u16 * 100);
    }

    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        let elements = values.map(|value| {
            let [high, low] = value.to_be_bytes();
            [0, 0, 0, 2, high, low]
        });
        self.array(INT2_OID, elements);
    }

    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        let elements = values.map(|value| {
            let [a, b, c, d] = value.to_be_bytes();
            [0, 0, 0, 4, a, b, c, d]
        });
        self.array(INT4_OID, elements);
    }

    fn int8_list(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        let elements = values.map(|value| {
            let mut element = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
            element[4..].copy_from_slice(&value.to_be_bytes());
            element
        });
        self.array(INT8_OID, elements);
    }
}
