//! The bytes of a trace.

use stithy_measure::Moment;

use crate::request::Request;

/// The version of the format.
///
/// History: 1, the first.
const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"STITHYDT";
/// Where the records begin.
pub const HEAD_BYTES: usize = 128;
/// How long each is.
pub const RECORD_BYTES: usize = 32;
const NAME_BYTES: usize = 64;
const LENGTH_UNIT_BYTES: u64 = 512;

/// In place of an operation: the trace ends.
const END: u8 = 254;
/// In place of an operation: requests are missing here.
const GAP: u8 = 255;

/// A flag: answered with an error.
pub const ERROR: u8 = 1;
/// A flag: answered late.
pub const LATE: u8 = 2;
/// A flag: without the profile's time.
pub const UNPACED: u8 = 4;

/// What stands before the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Name of the drive, at most 64 bytes.
    pub drive: String,
    /// Its smallest unit.
    pub sector_bytes: u32,
    /// How large it is.
    pub size_bytes: u64,
    /// Unix time of [`Moment::START`], nanoseconds.
    pub unix_start_ns: u64,
}

impl Head {
    /// As it stands in the file.
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        let numbers = [
            VERSION,
            HEAD_BYTES as u32,
            RECORD_BYTES as u32,
            self.sector_bytes,
        ];
        for (place, number) in bytes[8..24].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[24..32].copy_from_slice(&self.unix_start_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.size_bytes.to_le_bytes());
        let name = &mut bytes[40..40 + NAME_BYTES];
        for (place, byte) in name.iter_mut().zip(self.drive.bytes()) {
            *place = byte;
        }
        bytes
    }
}

/// One answered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it arrived.
    pub arrived: Moment,
    /// What was asked.
    pub request: Request,
    /// What profile and faults gave, and the lateness.
    pub latency_ns: u64,
    /// Requests under way when it arrived, itself included.
    pub depth: u16,
    /// [`ERROR`], [`LATE`], [`UNPACED`].
    pub flags: u8,
}

impl Record {
    /// As it stands in the file.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let length = self.request.length_bytes / LENGTH_UNIT_BYTES;
        let mut bytes = numbers([self.arrived.0, self.request.offset_bytes, self.latency_ns]);
        // The kernel splits a discard of more than 4 GiB, far below what fits.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        bytes[24..28].copy_from_slice(&length.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.depth.to_le_bytes());
        bytes[30] = self.request.operation.index() as u8;
        bytes[31] = self.flags;
        bytes
    }
}

/// Says that `lost` requests are missing, as was noticed at a moment.
pub fn gap(noticed: Moment, lost: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = numbers([noticed.0, lost, 0]);
    bytes[30] = GAP;
    bytes
}

/// The last record of a trace that ended in order.
pub fn end(written: u64, lost: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = numbers([0, written, lost]);
    bytes[30] = END;
    bytes
}

fn numbers(numbers: [u64; 3]) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Operation;

    /// A head and a record have the layout that docs/reference/drive-trace.md tells, byte for byte.
    #[test]
    fn bytes_stand_where_the_reference_says() {
        let head = Head {
            drive: "data".to_string(),
            sector_bytes: 4096,
            size_bytes: 1 << 34,
            unix_start_ns: 0x0102_0304_0506_0708,
        };
        let bytes = head.bytes();
        assert_eq!(
            b"STITHYDT\x01\0\0\0\x80\0\0\0\x20\0\0\0\0\x10\0\0",
            &bytes[..24]
        );
        assert_eq!([8, 7, 6, 5, 4, 3, 2, 1], bytes[24..32]);
        assert_eq!([0, 0, 0, 0, 4, 0, 0, 0], bytes[32..40]);
        assert_eq!(b"data\0", &bytes[40..45]);
        let record = Record {
            arrived: Moment(1),
            request: Request {
                operation: Operation::Discard,
                offset_bytes: 0x1000,
                length_bytes: 1 << 20,
            },
            latency_ns: 3,
            depth: 258,
            flags: ERROR | UNPACED,
        };
        let mut expected = [0; RECORD_BYTES];
        (expected[0], expected[9], expected[16]) = (1, 0x10, 3);
        (expected[25], expected[28], expected[29]) = (8, 2, 1);
        (expected[30], expected[31]) = (3, 5);
        assert_eq!(expected, record.bytes());
    }
}
