//! Packets: three bytes of length, a number that counts within a command, and a payload. A payload of
//! 16 MiB − 1 goes on in the next packet.
//!
//! Source: MySQL "Client/Server Protocol", "MySQL Packets"; MariaDB knowledge base, "0 - Packet".

use std::io;
use std::ops::Range;

use crate::engines::network::{not_understood, Input, Stream};

/// What goes before a payload.
pub(super) const HEAD_BYTES: usize = 4;
/// A payload of so many bytes goes on in another packet.
const PAYLOAD_MAX: usize = 0xFF_FFFF;

/// Appends a packet, or as many as its payload needs, of which the first has the number `first`; gives the
/// number after the last one.
pub(super) fn put_packet(out: &mut Vec<u8>, first: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let at = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    write(out);
    let length = out.len() - at - HEAD_BYTES;
    if length >= PAYLOAD_MAX {
        return split_payload(out, at, first);
    }
    put_head(&mut out[at..], length, first);
    first.wrapping_add(1)
}

fn put_head(place: &mut [u8], length: usize, number: u8) {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    place[..HEAD_BYTES].copy_from_slice(&[a, b, c, number]);
}

fn split_payload(out: &mut Vec<u8>, at: usize, first: u8) -> u8 {
    let payload = out.split_off(at + HEAD_BYTES);
    out.truncate(at);
    let mut number = first;
    let mut pieces = payload.chunks(PAYLOAD_MAX);
    loop {
        // A last piece may be empty: it says that the one before was whole.
        let piece = pieces.next().unwrap_or_default();
        let head = out.len();
        out.extend_from_slice(&[0; HEAD_BYTES]);
        put_head(&mut out[head..], piece.len(), number);
        out.extend_from_slice(piece);
        number = number.wrapping_add(1);
        if piece.len() < PAYLOAD_MAX {
            return number;
        }
    }
}

/// Bytes that were received, taken packet by packet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    input: Input,
    read: usize,
    /// The number that the next packet must have.
    number: u8,
}

impl Incoming {
    /// Forgets all bytes.
    pub(super) fn clear(&mut self) {
        self.input.clear();
        self.read = 0;
    }

    /// Forgets the bytes that were taken, where they are many.
    pub(super) fn forget_taken(&mut self) {
        const MANY: usize = 64 << 10;
        if self.read > MANY {
            self.input.remove(0..self.read);
            self.read = 0;
        }
    }

    /// The number that the next packet must have.
    pub(super) fn expect(&mut self, number: u8) {
        self.number = number;
    }

    /// The number of the packet that comes next.
    pub(super) fn number(&self) -> u8 {
        self.number
    }

    /// Everything from a place on.
    pub(super) fn bytes(&self) -> &[u8] {
        self.input.bytes()
    }

    /// Where the payload of the next packet lies, which stays until it is forgotten.
    ///
    /// Errors: those of the stream; `InvalidData` where the packet is another one.
    #[inline]
    pub(super) async fn next(&mut self, stream: &mut Stream) -> io::Result<Range<usize>> {
        loop {
            if let Some(payload) = self.take_packet()? {
                return Ok(payload);
            }
            stream.receive(&mut self.input).await?;
        }
    }

    /// The next packet, or None while it is not whole.
    #[inline]
    fn take_packet(&mut self) -> io::Result<Option<Range<usize>>> {
        let bytes = self.input.bytes();
        let (mut end, mut number) = (self.read, self.number);
        let mut heads = 0;
        loop {
            let Some(head) = bytes.get(end..end + HEAD_BYTES) else {
                return Ok(None);
            };
            if head[3] != number {
                return Err(not_understood());
            }
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            end += HEAD_BYTES + length;
            if end > bytes.len() {
                return Ok(None);
            }
            number = number.wrapping_add(1);
            heads += 1;
            if length < PAYLOAD_MAX {
                break;
            }
        }
        let start = self.read + HEAD_BYTES;
        for piece in 1..heads {
            let head = start + piece * PAYLOAD_MAX;
            self.input.remove(head..head + HEAD_BYTES);
            end -= HEAD_BYTES;
        }
        self.number = number;
        self.read = end;
        Ok(Some(start..end))
    }

    #[cfg(test)]
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.input.append(bytes);
    }
}

/// The fields of a payload, taken one after the other.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// Errors: fewer are left.
    pub(super) fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(not_understood)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// An integer of `N` bytes, the lowest one first.
    #[inline]
    pub(super) fn integer<const N: usize>(&mut self) -> io::Result<u64> {
        let mut all = [0; 8];
        all[..N].copy_from_slice(self.take(N)?);
        Ok(u64::from_le_bytes(all))
    }

    /// An integer whose first byte says how long it is.
    #[inline]
    pub(super) fn length(&mut self) -> io::Result<u64> {
        match self.integer::<1>()? {
            small @ 0..=0xFA => Ok(small),
            0xFC => self.integer::<2>(),
            0xFD => self.integer::<3>(),
            0xFE => self.integer::<8>(),
            _ => Err(not_understood()),
        }
    }

    /// Bytes behind their length.
    #[inline]
    pub(super) fn counted(&mut self) -> io::Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length as usize)
    }

    /// Bytes before a zero, or all that are left.
    pub(super) fn terminated(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = self.0.get(text.len() + 1..).unwrap_or_default();
        text
    }
}

/// Appends a length before what it counts.
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(input: &[u8], first: u8) -> (Incoming, io::Result<Option<Range<usize>>>) {
        let mut incoming = Incoming::default();
        incoming.expect(first);
        incoming.append(input);
        let packet = incoming.take_packet();
        (incoming, packet)
    }

    /// However long a payload is, it is the same when it is taken again; only then when it is whole, and the
    /// numbers go on.
    #[test]
    fn payloads_of_any_length_are_taken_whole() {
        for length in [
            0,
            1,
            PAYLOAD_MAX - 1,
            PAYLOAD_MAX,
            PAYLOAD_MAX + 1,
            2 * PAYLOAD_MAX,
        ] {
            let payload: Vec<u8> = (0..length).map(|at| (at % 253) as u8).collect();
            let mut out = Vec::new();
            let next = put_packet(&mut out, 254, |out| out.extend_from_slice(&payload));
            let packets = length / PAYLOAD_MAX + 1;
            assert_eq!(out.len(), length + packets * HEAD_BYTES);
            assert_eq!(next, 254_u8.wrapping_add(packets as u8));
            let (_, part) = taken(&out[..out.len() - 1], 254);
            assert_eq!(None, part.unwrap(), "{length}");
            let (incoming, packet) = taken(&out, 254);
            let packet = packet.unwrap().unwrap();
            assert!(incoming.bytes()[packet] == payload, "{length}");
            assert_eq!(next, incoming.number());
        }
    }

    /// A packet with another number is no answer to what was sent.
    #[test]
    fn a_packet_out_of_turn_is_refused() {
        let (_, packet) = taken(&[1, 0, 0, 3, 0], 1);
        assert_eq!(io::ErrorKind::InvalidData, packet.unwrap_err().kind());
    }

    /// Lengths of every size are read as they were written.
    #[test]
    fn lengths_are_read_as_written() {
        for length in [0, 250, 251, 65_535, 65_536, 0xFF_FFFF, 0x100_0000] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            assert_eq!(length as u64, Fields(&out).length().unwrap());
            assert!(Fields(&out[..out.len() - 1]).length().is_err());
        }
    }
}
