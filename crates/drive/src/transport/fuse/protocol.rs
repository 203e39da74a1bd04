//! The bytes of the FUSE protocol that a single file needs.
//!
//! Numbers and layouts are those of the kernel's `include/uapi/linux/fuse.h`, version 7.38.

use crate::request::{Operation, Request};
use crate::transport::Incoming;

/// Version of the protocol that answers are written in.
const MAJOR: u32 = 7;
const MINOR: u32 = 38;

/// The largest read or write. More than 256 pages needs a sysctl that is not there before Linux 6.13.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// The header and the largest fixed part of a request.
const IN_HEADER_BYTES: usize = 40;
const WRITE_HEAD_BYTES: usize = IN_HEADER_BYTES + 40;
/// A receive buffer smaller than the largest request is refused by the kernel.
pub const BUFFER_BYTES: usize = REQUEST_BYTES_MAX as usize + 4096;

/// The kernel's default of 12 requests in flight costs a fifth of the throughput.
const MAX_BACKGROUND: u16 = 256;

const ASYNC_READ: u32 = 1 << 0;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;

const OPEN_DIRECT_IO: u32 = 1 << 0;
const OPEN_NO_FLUSH: u32 = 1 << 5;
const OPEN_PARALLEL_WRITES: u32 = 1 << 6;

const ROOT: u64 = 1;
const FILE: u64 = 2;
/// Names and attributes never change: a year.
const VALID_S: u64 = 365 * 24 * 3600;

/// How a name of the one file begins. It has every name that does, so that each drive can show its own:
/// by its name the kernel tells what a loop device is over, and programs take equal names for one file.
pub const NAME_BEGIN: &str = "drive-";

/// What a message of the kernel asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Something for the drive.
    Drive(Incoming),
    /// Something about the file system; this is the answer.
    Housekeeping(Vec<u8>),
    /// Nothing that wants an answer.
    Silence,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|eight| eight.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

/// The header of an answer with `body_bytes` bytes after it; `error` is the number of an error or 0.
pub fn out_header(id: u64, error: i32, body_bytes: usize) -> [u8; 16] {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&(16 + body_bytes as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&(-error).to_ne_bytes());
    header[8..].copy_from_slice(&id.to_ne_bytes());
    header
}

/// What a write brings.
pub fn payload(message: &[u8]) -> &[u8] {
    let length = u32_at(message, IN_HEADER_BYTES + 16) as usize;
    message
        .get(WRITE_HEAD_BYTES..WRITE_HEAD_BYTES + length)
        .unwrap_or_default()
}

/// The body of the answer to a write.
pub fn written(length_bytes: u64) -> [u8; 8] {
    (length_bytes & u64::from(u32::MAX)).to_le_bytes()
}

/// Reads one message of the kernel; `size_bytes` is the size of the file.
pub fn read(message: &[u8], size_bytes: u64) -> Asked {
    let (opcode, id, node) = (u32_at(message, 4), u64_at(message, 8), u64_at(message, 16));
    let body = message.get(IN_HEADER_BYTES..).unwrap_or_default();
    if let Some(request) = drive_request(opcode, body) {
        return Asked::Drive(Incoming { id, request });
    }
    let answer = match opcode {
        1 => lookup(body, size_bytes),
        2 | 36 | 42 => return Asked::Silence, // forget, interrupt, batch forget
        3 => Ok(attributes_answer(node, size_bytes)),
        14 => Ok(opened()),
        17 => Ok(vec![0; 80]),     // statfs
        18 | 38 => Ok(Vec::new()), // release, destroy
        26 => Ok(initialised(body)),
        _ => Err(libc::ENOSYS),
    };
    Asked::Housekeeping(match answer {
        Ok(body) => [&out_header(id, 0, body.len())[..], &body].concat(),
        Err(error) => out_header(id, error, 0).to_vec(),
    })
}

fn drive_request(opcode: u32, body: &[u8]) -> Option<Request> {
    let ranged = |operation, length_bytes| Request {
        operation,
        offset_bytes: u64_at(body, 8),
        length_bytes,
    };
    match opcode {
        15 => Some(ranged(Operation::Read, u64::from(u32_at(body, 16)))),
        16 => Some(ranged(Operation::Write, u64::from(u32_at(body, 16)))),
        20 => Some(Request {
            operation: Operation::Flush,
            offset_bytes: 0,
            length_bytes: 0,
        }),
        // fallocate: punching a hole and zeroing a range both leave zeros.
        43 => Some(ranged(Operation::Discard, u64_at(body, 16))),
        _ => None,
    }
}

fn initialised(body: &[u8]) -> Vec<u8> {
    let offered = u32_at(body, 12);
    let wanted = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES;
    let mut answer = Vec::with_capacity(64);
    for number in [MAJOR, MINOR, u32_at(body, 8), offered & wanted] {
        answer.extend(number.to_ne_bytes());
    }
    answer.extend(MAX_BACKGROUND.to_ne_bytes());
    answer.extend((MAX_BACKGROUND / 4 * 3).to_ne_bytes());
    answer.extend(REQUEST_BYTES_MAX.to_ne_bytes());
    answer.extend(1_u32.to_ne_bytes());
    answer.extend(((REQUEST_BYTES_MAX / 4096) as u16).to_ne_bytes());
    answer.resize(64, 0);
    answer
}

fn lookup(name: &[u8], size_bytes: u64) -> Result<Vec<u8>, i32> {
    if !name.starts_with(NAME_BEGIN.as_bytes()) {
        return Err(libc::ENOENT);
    }
    let mut answer = Vec::with_capacity(128);
    for number in [FILE, 0, VALID_S, VALID_S, 0] {
        answer.extend(number.to_ne_bytes());
    }
    answer.extend(attributes(FILE, size_bytes));
    Ok(answer)
}

fn attributes_answer(node: u64, size_bytes: u64) -> Vec<u8> {
    let mut answer = Vec::with_capacity(104);
    for number in [VALID_S, 0] {
        answer.extend(number.to_ne_bytes());
    }
    answer.extend(attributes(node, size_bytes));
    answer
}

fn attributes(node: u64, size_bytes: u64) -> Vec<u8> {
    let (mode, size_bytes) = match node {
        ROOT => (libc::S_IFDIR | 0o700, 0),
        _ => (libc::S_IFREG | 0o600, size_bytes),
    };
    let mut bytes = Vec::with_capacity(88);
    for number in [node, size_bytes, size_bytes / 512, 0, 0, 0] {
        bytes.extend(number.to_ne_bytes());
    }
    for number in [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes
}

fn opened() -> Vec<u8> {
    let flags = OPEN_DIRECT_IO | OPEN_NO_FLUSH | OPEN_PARALLEL_WRITES;
    let mut answer = 0_u64.to_ne_bytes().to_vec();
    answer.extend(u64::from(flags).to_le_bytes());
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(opcode: u32, id: u64, body: &[u8]) -> Vec<u8> {
        let mut bytes = (IN_HEADER_BYTES as u32 + body.len() as u32)
            .to_ne_bytes()
            .to_vec();
        bytes.extend(opcode.to_ne_bytes());
        bytes.extend(id.to_ne_bytes());
        bytes.extend(FILE.to_ne_bytes());
        bytes.resize(IN_HEADER_BYTES, 0);
        bytes.extend(body);
        bytes
    }

    fn ranged_body(offset: u64, length: u32) -> Vec<u8> {
        let mut body = vec![0; 8];
        body.extend(offset.to_ne_bytes());
        body.extend(length.to_ne_bytes());
        body.resize(40, 0);
        body
    }

    /// Reads, writes and flushes reach the drive with their range and what they bring.
    #[test]
    fn requests_are_read_from_their_bytes() {
        let mut write = message(16, 9, &ranged_body(8192, 3));
        write.extend(b"abc");
        let expected = Request {
            operation: Operation::Write,
            offset_bytes: 8192,
            length_bytes: 3,
        };
        let incoming = Incoming {
            id: 9,
            request: expected,
        };
        assert_eq!(Asked::Drive(incoming), read(&write, 1 << 20));
        assert_eq!(b"abc", payload(&write));
        let Asked::Drive(flush) = read(&message(20, 10, &[0; 16]), 1 << 20) else {
            panic!("a flush is for the drive");
        };
        assert_eq!(Operation::Flush, flush.request.operation);
    }

    /// Answers have the lengths that the kernel checks them for.
    #[test]
    fn answers_have_the_lengths_of_the_protocol() {
        let length = |opcode, body: &[u8]| match read(&message(opcode, 1, body), 4096) {
            Asked::Housekeeping(answer) => answer.len() - 16,
            other => panic!("{other:?}"),
        };
        assert_eq!(128, length(1, b"drive-7-0\0"));
        assert_eq!(0, length(1, b"other\0"));
        assert_eq!(104, length(3, &[0; 16]));
        assert_eq!(16, length(14, &[0; 8]));
        assert_eq!(64, length(26, &[0; 64]));
        assert_eq!(Asked::Silence, read(&message(2, 1, &[0; 8]), 4096));
    }

    /// A cut-off message is no crash.
    #[test]
    fn a_short_message_is_read_as_zeros() {
        assert!(matches!(read(&[1, 2, 3], 4096), Asked::Housekeeping(_)));
        assert!(payload(&message(16, 1, &ranged_body(0, 99))).is_empty());
    }
}
