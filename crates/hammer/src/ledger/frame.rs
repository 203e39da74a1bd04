//! The bytes of a ledger: a mark, then batches, each with its length and checksum.
//!
//! The first batch is the head, a JSON document; every other one is a row of entries of one size.
//! All numbers are little-endian.

/// What a ledger's file begins with; the digit is the version. 2: entries of any workload.
pub(super) const MARK: &[u8; 8] = b"STITHYL2";
/// Length and checksum before each batch.
pub(super) const FRAME_BYTES: usize = 8;

/// A batch as it lies in the file: length of the payload, checksum over length and payload, payload.
pub(super) fn framed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut bytes = Vec::with_capacity(FRAME_BYTES + payload.len());
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&checksum(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// CRC-32 as in zip and in Python's `zlib.crc32`, over the length and the payload: a batch of zeros,
/// as a file system may leave them, is none.
pub(super) fn checksum(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(payload.len() as u32).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a known batch: whoever reads ledgers with another program can rely on them.
    #[test]
    fn a_batch_lies_in_the_file_as_documented() {
        // Python: zlib.crc32(struct.pack("<I", 3) + b"abc")
        let expected = [&[3, 0, 0, 0][..], &0x66E1_5D33_u32.to_le_bytes(), b"abc"].concat();
        assert_eq!(expected, framed(b"abc"));
        assert_ne!(0, checksum(b""));
    }
}
