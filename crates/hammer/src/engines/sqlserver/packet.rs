//! Packets: eight bytes of head and a payload; a message is the payloads of one packet and more.
//!
//! Source: MS-TDS, section 2.2.3.1 "Packet".

use std::io;

use crate::engines::network::{not_understood, Input, Stream};

/// What goes before a payload.
pub(super) const HEAD_BYTES: usize = 8;
/// The status of a message's last packet.
const LAST: u8 = 1;

/// What a message is.
pub(super) mod kind {
    pub(in super::super) const TEXT: u8 = 1;
    pub(in super::super) const CALL: u8 = 3;
    pub(in super::super) const REPLY: u8 = 4;
    pub(in super::super) const ATTENTION: u8 = 6;
    pub(in super::super) const ROWS: u8 = 7;
    pub(in super::super) const TRANSACTION: u8 = 14;
    pub(in super::super) const LOGIN: u8 = 16;
    pub(in super::super) const PRELOGIN: u8 = 18;
}

/// Appends one packet.
pub(super) fn put_packet(out: &mut Vec<u8>, kind: u8, number: u8, payload: &[u8], last: bool) {
    let [high, low] = ((payload.len() + HEAD_BYTES) as u16).to_be_bytes();
    let status = if last { LAST } else { 0 };
    out.extend_from_slice(&[kind, status, high, low, 0, 0, number, 0]);
    out.extend_from_slice(payload);
}

/// Appends a message in packets of no more than `packet_bytes`.
pub(super) fn put_message(out: &mut Vec<u8>, kind: u8, payload: &[u8], packet_bytes: usize) {
    let mut rest = payload;
    let mut number = 1_u8;
    loop {
        let (piece, more) = rest.split_at(rest.len().min(packet_bytes - HEAD_BYTES));
        put_packet(out, kind, number, piece, more.is_empty());
        if more.is_empty() {
            return;
        }
        (rest, number) = (more, number.wrapping_add(1));
    }
}

/// How many bytes the payload behind a head has. Errors: `InvalidData` where the packet is of none of these kinds.
pub(super) fn read_head(head: &[u8; HEAD_BYTES], kinds: &[u8]) -> io::Result<usize> {
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let length = length.checked_sub(HEAD_BYTES);
    length
        .filter(|_| kinds.contains(&head[0]))
        .ok_or_else(not_understood)
}

/// Messages that are received: their payloads in one piece, without the heads of packets.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    input: Input,
    /// How much was read of the payload.
    read: usize,
    /// Where the payload ends; packets that were not looked at follow.
    end: usize,
    /// Whether the message's last packet came.
    ended: bool,
}

impl Incoming {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.input.clear();
        (self.read, self.end) = (0, 0);
    }

    /// From now on another message comes.
    pub(super) fn expect(&mut self) {
        self.ended = false;
    }

    /// Forgets what was read, where it is much.
    pub(super) fn forget_read(&mut self) {
        const MUCH: usize = 64 << 10;
        if self.read > MUCH {
            self.input.remove(0..self.read);
            self.end -= self.read;
            self.read = 0;
        }
    }

    /// The payload up to now, of all messages that were not forgotten.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.input.bytes()[..self.end]
    }

    /// What was not read.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes()[self.read..]
    }

    /// So many bytes were read.
    pub(super) fn skip(&mut self, count: usize) {
        self.read += count;
    }

    /// Whether all of the message came.
    pub(super) fn is_whole(&self) -> bool {
        self.ended
    }

    /// Receives the next packet of the message.
    ///
    /// Errors: those of the stream; `InvalidData` where it is none.
    pub(super) async fn receive(&mut self, stream: &mut Stream) -> io::Result<()> {
        while !self.unwrap_packet()? {
            stream.receive(&mut self.input).await?;
        }
        Ok(())
    }

    /// False while the packet is not whole.
    fn unwrap_packet(&mut self) -> io::Result<bool> {
        let raw = &self.input.bytes()[self.end..];
        let Some((head, payload)) = raw.split_first_chunk() else {
            return Ok(false);
        };
        let length = read_head(head, &[kind::REPLY])?;
        if payload.len() < length {
            return Ok(false);
        }
        self.ended = head[1] & LAST != 0;
        self.input.remove(self.end..self.end + HEAD_BYTES);
        self.end += length;
        Ok(true)
    }
}

/// The fields of a message, taken one after the other. Where fewer bytes are left than a field has, the error
/// is `UnexpectedEof`: the rest may be in the next packet.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// So many bytes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let parts = self.0.split_at_checked(count);
        let (bytes, rest) = parts.ok_or(io::ErrorKind::UnexpectedEof)?;
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

    /// Bytes behind their count, which has `N` bytes.
    pub(super) fn counted<const N: usize>(&mut self) -> io::Result<&'a [u8]> {
        let count = self.integer::<N>()?;
        self.take(count as usize)
    }

    /// UTF-16 behind the count of its units, which has `N` bytes.
    pub(super) fn wide<const N: usize>(&mut self) -> io::Result<&'a [u8]> {
        let count = self.integer::<N>()?;
        self.take(2 * count as usize)
    }
}

/// Text in UTF-16, the lower byte first.
pub(super) fn put_wide(out: &mut Vec<u8>, text: &str) {
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// Such text, read; what is none is replaced.
pub(super) fn decode_wide(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    let units = bytes.chunks_exact(2);
    let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However a message is cut into packets, it is the same when it came whole, and not before.
    #[test]
    fn messages_of_any_length_come_whole() {
        for length in [0_usize, 1, 503, 504, 505, 1008, 5000] {
            let payload: Vec<u8> = (0..length).map(|at| (at % 253) as u8).collect();
            let mut out = Vec::new();
            put_message(&mut out, kind::REPLY, &payload, 512);
            assert_eq!(out.len(), length + length.div_ceil(504).max(1) * HEAD_BYTES);
            let mut incoming = Incoming::default();
            let (early, late) = out.split_at(out.len() - 1);
            for (bytes, whole) in [(early, false), (late, true)] {
                incoming.input.append(bytes);
                while !incoming.ended && incoming.unwrap_packet().unwrap() {}
                assert_eq!(whole, incoming.is_whole(), "{length}");
            }
            assert!(incoming.unread() == payload, "{length}");
        }
        let mut incoming = Incoming::default();
        incoming.input.append(b"HTTP/1.1 400 Bad Request");
        let error = incoming.unwrap_packet().unwrap_err();
        assert_eq!(io::ErrorKind::InvalidData, error.kind());
    }
}
