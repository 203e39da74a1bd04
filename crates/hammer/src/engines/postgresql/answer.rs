//! The answers to one batch: rows by statement, read where they lie.

use std::io;

use bytes::Buf;

use super::message::{server_error, whole_message, ServerError, HEAD_BYTES};
use crate::engines;
use crate::engines::network::Input;

/// The answers to a batch, and the bytes under them.
#[derive(Debug, Default)]
pub struct Answer {
    input: Input,
    read: usize,
    rows: Vec<RowAt>,
    affected: Vec<u64>,
    /// Statements of the session's own, before those of the batch.
    before: u16,
    error: Option<ServerError>,
    status: u8,
}

#[derive(Debug, Clone, Copy)]
struct RowAt {
    step: u16,
    start: u32,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// From the first column's length on.
    columns: &'a [u8],
}

impl Answer {
    pub(super) fn begin(&mut self, steps: u16, before: u16) {
        self.before = before;
        self.input.clear();
        self.read = 0;
        self.rows.clear();
        self.affected.clear();
        self.affected.reserve(usize::from(steps));
        self.error = None;
    }

    pub(super) fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    pub(super) fn take_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }

    pub(super) fn in_transaction(&self) -> bool {
        matches!(self.status, b'T' | b'E')
    }

    /// Reads every message that is whole; true when the server is ready for the next batch.
    pub(super) fn read_messages(&mut self) -> io::Result<bool> {
        loop {
            self.read_rows()?;
            let Some((tag, end)) = whole_message(self.input.bytes(), self.read)? else {
                return Ok(false);
            };
            let body = self.read + HEAD_BYTES;
            self.read = end;
            match tag {
                b'C' => self
                    .affected
                    .push(affected_rows(&self.input.bytes()[body..end])),
                b'E' => {
                    self.error = self
                        .error
                        .take()
                        .or(Some(server_error(&self.input.bytes()[body..end])))
                }
                b'Z' => {
                    self.status = self.input.bytes()[body..end]
                        .first()
                        .copied()
                        .unwrap_or(b'I');
                    return Ok(true);
                }
                // Parse and bind complete, notices, changed parameters: nothing to learn.
                _ => {}
            }
            if self.error.as_ref().is_some_and(|error| error.ends_session) {
                return Ok(true);
            }
        }
    }

    /// Reads rows, of which some answers have a hundred, up to another message.
    fn read_rows(&mut self) -> io::Result<()> {
        let (input, step) = (self.input.bytes(), self.affected.len() as u16);
        while let Some((b'D', end)) = whole_message(input, self.read)? {
            let start = (self.read + HEAD_BYTES) as u32;
            self.rows.push(RowAt { step, start });
            self.read = end;
        }
        Ok(())
    }

    fn row_at(&self, row: RowAt) -> Row<'_> {
        // Two bytes tell the number of columns.
        Row {
            columns: &self.input.bytes()[row.start as usize + 2..],
        }
    }
}

impl engines::Answer for Answer {
    type Row<'a> = Row<'a>;

    fn rows(&self, step: u16) -> impl Iterator<Item = Row<'_>> {
        let step = step + self.before;
        self.rows
            .iter()
            .filter(move |row| row.step == step)
            .map(|row| self.row_at(*row))
    }

    fn affected(&self, step: u16) -> u64 {
        let step = usize::from(step + self.before);
        self.affected.get(step).copied().unwrap_or(0)
    }
}

impl<'a> engines::Row<'a> for Row<'a> {
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let mut rest = self.columns;
        for _ in 0..index {
            let length = rest.get_i32();
            rest.advance(usize::try_from(length).unwrap_or(0));
        }
        let length = usize::try_from(rest.get_i32()).ok()?;
        Some(&rest[..length])
    }

    fn integer(&self, index: usize) -> Option<i64> {
        match *self.bytes(index)? {
            [a, b] => Some(i16::from_be_bytes([a, b]).into()),
            [a, b, c, d] => Some(i32::from_be_bytes([a, b, c, d]).into()),
            ref eight => Some(i64::from_be_bytes(eight.try_into().ok()?)),
        }
    }

    /// Source: `numeric_send`: count of digits, weight of the first, sign, scale, then the digits in
    /// base 10000.
    fn cents(&self, index: usize) -> Option<i64> {
        let mut bytes = self.bytes(index)?;
        let (count, weight, sign) = (bytes.get_u16(), bytes.get_i16(), bytes.get_u16());
        bytes.advance(2);
        let mut ten_thousandths = 0_i64;
        for place in (-1..=weight).rev() {
            let at = i32::from(weight) - i32::from(place);
            let more = at < i32::from(count);
            let digit = if more { bytes.get_u16() } else { 0 };
            ten_thousandths = ten_thousandths
                .checked_mul(10_000)?
                .checked_add(digit.into())?;
        }
        match sign {
            0x0000 => Some(ten_thousandths / 100),
            0x4000 => Some(-ten_thousandths / 100),
            _ => None,
        }
    }
}

/// The number at the end of a command's tag, such as `UPDATE 3`; 0 where it has none.
fn affected_rows(tag: &[u8]) -> u64 {
    let digits = tag
        .strip_suffix(&[0])
        .unwrap_or(tag)
        .rsplit(|byte| *byte == b' ')
        .next()
        .unwrap_or_default();
    digits
        .iter()
        .try_fold(0_u64, |sum, byte| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + u64::from(byte - b'0'))
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{Answer as _, Row as _};

    fn answer(input: &[u8]) -> Answer {
        let mut answer = Answer::default();
        answer.begin(2, 0);
        answer.input().append(input);
        answer
    }

    const TWO_STEPS: &[u8] = b"2\0\0\0\x04D\0\0\0\x12\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\
        C\0\0\0\x0dSELECT 1\x002\0\0\0\x04C\0\0\0\x0eUPDATE 12\0Z\0\0\0\x05T";

    /// Rows, nulls and counts are found at the statement they belong to.
    #[test]
    fn rows_and_counts_belong_to_their_statement() {
        let mut answer = answer(TWO_STEPS);
        assert!(answer.read_messages().unwrap());
        let row = answer.first(0).unwrap();
        assert_eq!((Some(7), None), (row.integer(0), row.integer(1)));
        assert!(answer.first(1).is_none());
        assert_eq!((1, 12), (answer.affected(0), answer.affected(1)));
        assert!(answer.in_transaction());
    }

    /// A numeric as the server sends it: 0, 0.05, 12.34, 10000.50, -9999.99, 123456789.
    #[test]
    fn numerics_are_read_in_hundredths() {
        let cases: [(&[u16], i64); 6] = [
            (&[0, 0, 0, 2], 0),
            (&[1, 0xffff, 0, 2, 500], 5),
            (&[2, 0, 0, 2, 12, 3400], 1_234),
            (&[3, 1, 0, 2, 1, 0, 5000], 1_000_050),
            (&[2, 0, 0x4000, 2, 9999, 9900], -999_999),
            (&[3, 2, 0, 0, 1, 2345, 6789], 12_345_678_900),
        ];
        for (words, expected) in cases {
            let value: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let columns = [&(value.len() as i32).to_be_bytes()[..], &value].concat();
            assert_eq!(
                Some(expected),
                Row { columns: &columns }.cents(0),
                "{words:?}"
            );
        }
    }

    /// However the bytes arrive, the answer is the same.
    #[test]
    fn an_answer_in_pieces_is_the_same() {
        for cut in 0..TWO_STEPS.len() {
            let mut answer = answer(&TWO_STEPS[..cut]);
            assert!(!answer.read_messages().unwrap(), "cut at {cut}");
            answer.input().append(&TWO_STEPS[cut..]);
            assert!(answer.read_messages().unwrap());
            assert_eq!(12, answer.affected(1));
            assert_eq!(Some(7), answer.first(0).unwrap().integer(0));
        }
    }

    /// The server goes on to "ready" after an error; after a fatal one nothing more comes.
    #[test]
    fn an_error_ends_the_batch_and_a_fatal_one_the_session() {
        let mut one = answer(b"E\0\0\0\x13VERROR\0C40001\0\0Z\0\0\0\x05I");
        assert!(one.read_messages().unwrap());
        assert_eq!("40001", one.take_error().unwrap().sqlstate);
        let mut fatal = answer(b"E\0\0\0\x13VFATAL\0C57P01\0\0");
        assert!(fatal.read_messages().unwrap());
        assert!(fatal.take_error().unwrap().ends_session);
    }
}
