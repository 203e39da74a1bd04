//! An entry of a ledger: how far an attempt had come, and what the workload keeps of its transaction.

use std::fmt::Debug;

use stithy_measure::Outcome;

use crate::engines::{SessionError, Value};

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

impl Stage {
    /// What an attempt's result makes certain; None where no answer came.
    pub fn of(result: &Result<Outcome, SessionError>) -> Option<Self> {
        match result {
            Ok(Outcome::Committed) => Some(Stage::Acknowledged),
            Err(error) if error.is_lost() => None,
            _ => Some(Stage::Refused),
        }
    }
}

/// What a workload keeps of a transaction.
pub trait Kept: Debug + Copy + Eq + Send + 'static {
    /// The kinds of transactions that are kept, as findings and counts call them.
    const KINDS: &'static [&'static str];
    /// Size of what [`Kept::write`] appends.
    const BYTES: usize;

    /// Which of the kinds.
    fn kind(&self) -> usize;

    /// Its key, which no other transaction has, and by which the database finds its row. Later
    /// transactions have greater ones.
    fn key(&self) -> i64;

    /// The transaction in words.
    fn words(&self) -> String;

    /// Appends the rest of it.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads it again; `rest` has [`Kept::BYTES`].
    fn read(kind: usize, key: i64, rest: &[u8]) -> Option<Self>;

    /// What would be kept of a row of the database, had it been acknowledged: the key, then the
    /// columns of the workload's SQL.
    fn of_row(kind: usize, key: i64, columns: &[Value]) -> Self;
}

/// One entry. Those of one transaction have its kind and key in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<K> {
    /// How far it had come.
    pub stage: Stage,
    /// What the workload keeps of it.
    pub kept: K,
}

/// Stage, kind and key, before what the workload keeps.
const START_BYTES: usize = 10;

impl<K: Kept> Entry<K> {
    /// Size of an entry.
    pub(super) const BYTES: usize = START_BYTES + K::BYTES;

    /// Appends its bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let stage = match self.stage {
            Stage::Sent => b's',
            Stage::Acknowledged => b'a',
            Stage::Refused => b'r',
        };
        out.extend_from_slice(&[stage, self.kept.kind() as u8]);
        out.extend_from_slice(&self.kept.key().to_le_bytes());
        self.kept.write(out);
    }

    /// The entry of its bytes; None where they are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (start, rest) = bytes.split_first_chunk::<START_BYTES>()?;
        let [stage, kind, key @ ..] = *start;
        let stage = match stage {
            b's' => Stage::Sent,
            b'a' => Stage::Acknowledged,
            b'r' => Stage::Refused,
            _ => return None,
        };
        let whole = usize::from(kind) < K::KINDS.len() && rest.len() == K::BYTES;
        let kept = whole.then(|| K::read(kind.into(), i64::from_le_bytes(key), rest))??;
        Some(Entry { stage, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{entry, Thing};
    use super::*;

    /// Every entry is read as it was written, and what is none is not taken for one.
    #[test]
    fn entries_are_read_as_written() {
        for stage in [Stage::Sent, Stage::Acknowledged, Stage::Refused] {
            for key in [0, -1, i64::MAX, i64::MIN, 850_000_000_123_456] {
                let (entry, mut bytes) = (entry(stage, key), Vec::new());
                entry.write(&mut bytes);
                assert_eq!(Entry::<Thing>::BYTES, bytes.len());
                assert_eq!(Some(entry), Entry::read(&bytes));
                assert_eq!(None, Entry::<Thing>::read(&bytes[1..]));
            }
        }
        assert_eq!(None, Entry::<Thing>::read(&[0; Entry::<Thing>::BYTES]));
        assert_eq!(
            None,
            Entry::<Thing>::read(b"s\x0212345678x"),
            "a third kind"
        );
    }
}
