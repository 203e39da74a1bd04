//! The bytes of a ledger: a mark, then batches, each with its length and checksum.
//!
//! The first batch is the head, a JSON document; every other one is a row of entries. All numbers
//! are little-endian. `docs/reference/ledger.md` tells the same for programs in other languages.

use serde::{Deserialize, Serialize};

/// What a ledger's file begins with; the digit is the version. 1: the first.
pub const MARK: &[u8; 8] = b"STITHYL1";
/// Length and checksum before each batch.
pub const FRAME_BYTES: usize = 8;
/// Size of an entry.
pub const ENTRY_BYTES: usize = 24;

/// What a ledger belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The workload's name.
    pub workload: String,
    /// Number of warehouses.
    pub warehouses: u32,
    /// Seed of the loaded rows.
    pub loaded_seed: u64,
    /// Seed of the run.
    pub run_seed: u64,
    /// No date in the ledger is before this one: microseconds since the start of 2000, UTC.
    pub started_us: i64,
}

/// Which of the kept transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deal {
    /// A new order.
    Order,
    /// A payment.
    Payment,
}

impl Deal {
    /// What findings and counts call it.
    pub fn name(self) -> &'static str {
        match self {
            Deal::Order => "order",
            Deal::Payment => "payment",
        }
    }
}

/// How far an attempt had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// About to be sent.
    Sent,
    /// The database said that it is committed.
    Acknowledged,
    /// It is certain that it was not committed.
    Refused,
}

/// One entry. Entries of one transaction have its date in common, which no other has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Order or payment.
    pub deal: Deal,
    /// How far it had come.
    pub stage: Stage,
    /// District, 1 to 10.
    pub d_id: u8,
    /// Warehouse, from 1.
    pub w_id: u32,
    /// The number that the database gave an acknowledged order; 0 otherwise.
    pub number: u32,
    /// Amount of a payment, hundredths; 0 for an order.
    pub amount_cents: u32,
    /// O_ENTRY_D or H_DATE: microseconds since the start of 2000, UTC.
    pub date_us: i64,
}

impl Entry {
    /// Its bytes.
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0] = match self.deal {
            Deal::Order => b'O',
            Deal::Payment => b'P',
        };
        bytes[1] = match self.stage {
            Stage::Sent => b's',
            Stage::Acknowledged => b'a',
            Stage::Refused => b'r',
        };
        bytes[2] = self.d_id;
        bytes[4..8].copy_from_slice(&self.w_id.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.amount_cents.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.date_us.to_le_bytes());
        bytes
    }

    /// The entry of its bytes; None where they are none.
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let deal = match bytes[0] {
            b'O' => Deal::Order,
            b'P' => Deal::Payment,
            _ => return None,
        };
        let stage = match bytes[1] {
            b's' => Stage::Sent,
            b'a' => Stage::Acknowledged,
            b'r' => Stage::Refused,
            _ => return None,
        };
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let (low, high) = (u32::from_le_bytes(word(16)), i32::from_le_bytes(word(20)));
        Some(Entry {
            deal,
            stage,
            d_id: bytes[2],
            w_id: u32::from_le_bytes(word(4)),
            number: u32::from_le_bytes(word(8)),
            amount_cents: u32::from_le_bytes(word(12)),
            date_us: i64::from(high) << 32 | i64::from(low),
        })
    }
}

/// A batch as it lies in the file: length of the payload, checksum over length and payload, payload.
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut bytes = Vec::with_capacity(FRAME_BYTES + payload.len());
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&checksum(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// CRC-32 as in zip and in Python's `zlib.crc32`, over the length and the payload: a batch of zeros,
/// as a file system may leave them, is none.
pub fn checksum(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(payload.len() as u32).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every entry is read as it was written, whatever its numbers.
    #[test]
    fn entries_are_read_as_written() {
        for deal in [Deal::Order, Deal::Payment] {
            for stage in [Stage::Sent, Stage::Acknowledged, Stage::Refused] {
                for date_us in [0, -1, i64::MAX, i64::MIN, 850_000_000_123_456] {
                    let entry = Entry {
                        deal,
                        stage,
                        d_id: 10,
                        w_id: 4_000_000_000,
                        number: 3_001,
                        amount_cents: 500_000,
                        date_us,
                    };
                    assert_eq!(Some(entry), Entry::from_bytes(&entry.to_bytes()));
                }
            }
        }
        assert_eq!(None, Entry::from_bytes(&[0; ENTRY_BYTES]));
    }

    /// The bytes of a known batch: whoever reads ledgers with another program can rely on them.
    #[test]
    fn a_batch_lies_in_the_file_as_documented() {
        // Python: zlib.crc32(struct.pack("<I", 3) + b"abc")
        let expected = [&[3, 0, 0, 0][..], &0x66E1_5D33_u32.to_le_bytes(), b"abc"].concat();
        assert_eq!(expected, framed(b"abc"));
        assert_ne!(0, checksum(b""));
    }
}
