//! Reading a ledger, also one whose end was torn off.

use std::path::Path;

use super::frame::{checksum, FRAME_BYTES, MARK};
use super::{Entry, Head, Kept};
use crate::error::HammerError;

/// What a ledger holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents<K> {
    /// What it belongs to.
    pub head: Head,
    /// All whole entries, in the order in which they were written.
    pub entries: Vec<Entry<K>>,
    /// Bytes at the end that are no whole batch: the last group, which was not synced. Room that was
    /// ready for more, all zeros, is not among them.
    pub torn_bytes: u64,
}

impl<K: Kept> Contents<K> {
    /// Reads the file at `path`.
    ///
    /// Errors (precondition): `ledger-unreadable`, `ledger-damaged`.
    pub fn read(path: &Path) -> Result<Self, HammerError> {
        let refused = |code, problem: String, remedy| {
            HammerError::precondition(code, problem, path.display().to_string(), remedy)
        };
        let bytes = std::fs::read(path).map_err(|e| {
            let problem = format!("the ledger cannot be read: {e}");
            let remedy = "name the file that `stithy hammer run --ledger` wrote";
            refused("ledger-unreadable", problem, remedy).caused_by(e)
        })?;
        Self::parse(&bytes).map_err(|problem| {
            let remedy = "restore the file from a copy; no proof can be made from this one";
            refused("ledger-damaged", problem.into(), remedy)
        })
    }

    /// Reads the bytes of a file; an error tells what is wrong with them.
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let rest = bytes
            .strip_prefix(MARK)
            .ok_or("this is no ledger of this version")?;
        let (head, mut rest) = match batch(rest) {
            Batch::Whole(payload, rest) => (payload, rest),
            _ => return Err("the head of the ledger is damaged"),
        };
        let head = serde_json::from_slice(head).map_err(|_| "the head of the ledger is no head")?;
        let mut entries = Vec::new();
        loop {
            match batch(rest) {
                Batch::Whole(payload, after) => {
                    read_entries(payload, &mut entries)?;
                    rest = after;
                }
                // Each batch is synced before the next is begun, so only the last one can be torn.
                Batch::Damaged => return Err("a batch before the last one is damaged"),
                Batch::Torn => break,
            }
        }
        let last = rest.iter().rposition(|byte| *byte != 0);
        let torn_bytes = last.map_or(0, |at| at as u64 + 1);
        Ok(Contents {
            head,
            entries,
            torn_bytes,
        })
    }

    /// Of each transaction of a kind its last entry, which tells what became of it, by their keys.
    pub fn outcomes(&self, kind: usize) -> Vec<Entry<K>> {
        let of_kind = self.entries.iter().filter(|e| e.kept.kind() == kind);
        let mut sorted: Vec<Entry<K>> = of_kind.copied().collect();
        // Stable: the entries of a key stay in the order in which they were written.
        sorted.sort_by_key(|entry| entry.kept.key());
        let by_key = sorted.chunk_by(|a, b| a.kept.key() == b.kept.key());
        by_key
            .filter_map(|entries| entries.last().copied())
            .collect()
    }
}

fn read_entries<K: Kept>(payload: &[u8], entries: &mut Vec<Entry<K>>) -> Result<(), &'static str> {
    for bytes in payload.chunks(Entry::<K>::BYTES) {
        entries.push(Entry::read(bytes).ok_or("a batch holds what is no entry")?);
    }
    Ok(())
}

enum Batch<'a> {
    /// The payload, and what comes after the batch.
    Whole(&'a [u8], &'a [u8]),
    /// The end of the file, or a batch that reaches to it and is not whole.
    Torn,
    /// Not whole, and something comes after it.
    Damaged,
}

fn batch(bytes: &[u8]) -> Batch<'_> {
    let Some((frame, rest)) = bytes.split_first_chunk::<FRAME_BYTES>() else {
        return Batch::Torn;
    };
    let [a, b, c, d, sum @ ..] = *frame;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    match rest.split_at_checked(length) {
        Some((payload, after)) if checksum(payload).to_le_bytes() == sum => {
            Batch::Whole(payload, after)
        }
        // After the last batch there is only room for more.
        Some((payload, after)) if !payload.is_empty() && after.iter().any(|byte| *byte != 0) => {
            Batch::Damaged
        }
        _ => Batch::Torn,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::framed;
    use super::super::tests::{entry, Thing};
    use super::super::Stage::{Acknowledged, Refused, Sent};
    use super::*;

    fn file(batches: &[&[Entry<Thing>]]) -> Vec<u8> {
        let head = br#"{"workload":"things","loaded":{"things":9},"run_seed":2}"#;
        let mut bytes = [&MARK[..], &framed(head)].concat();
        for batch in batches {
            let mut payload = Vec::new();
            batch.iter().for_each(|entry| entry.write(&mut payload));
            bytes.extend(framed(&payload));
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Contents<Thing>, &'static str> {
        Contents::parse(bytes)
    }

    /// Wherever the last batch was cut off, all before it is read, and the rest is counted.
    #[test]
    fn a_torn_end_costs_only_the_last_batch() {
        let first = [entry(Sent, 1), entry(Acknowledged, 1)];
        let second = [entry(Sent, 2)];
        let (whole, kept) = (file(&[&first, &second]), file(&[&first]).len());
        for cut in kept..whole.len() {
            let contents = parse(&whole[..cut]).unwrap();
            assert_eq!(first.to_vec(), contents.entries, "cut at {cut}");
            assert!(contents.torn_bytes <= (cut - kept) as u64);
            let with_room = [&whole[..cut], &[0; 4096]].concat();
            // Where only zeros were cut off, the room puts them back.
            let again = parse(&with_room).unwrap();
            assert!(
                again == contents || again == parse(&whole).unwrap(),
                "cut at {cut}"
            );
        }
        assert_eq!(3, parse(&whole).unwrap().entries.len());
    }

    /// Room that was ready for more is no sign of anything lost.
    #[test]
    fn zeros_at_the_end_are_room() {
        let mut bytes = file(&[&[entry(Sent, 1)]]);
        bytes.extend([0; 4096]);
        let contents = parse(&bytes).unwrap();
        assert_eq!((1, 0), (contents.entries.len(), contents.torn_bytes));
    }

    /// Any changed byte before the last batch is noticed; one in the last batch makes it torn, but for
    /// its length, which no torn write changes to another one.
    #[test]
    fn damage_is_never_taken_for_entries() {
        let first = [entry(Sent, 1)];
        let (whole, kept) = (file(&[&first, &first]), file(&[&first]).len());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            match parse(&bytes) {
                Err(_) => assert!(at < kept + 4, "a damaged end is torn, at {at}"),
                Ok(contents) => assert!(contents.torn_bytes > 0, "damage at {at}"),
            }
        }
    }

    /// The last entry of a key tells what became of it: a conflict may be tried again.
    #[test]
    fn the_last_entry_of_a_transaction_counts() {
        let contents = parse(&file(&[&[
            entry(Sent, 7),
            entry(Sent, 5),
            entry(Refused, 7),
            entry(Sent, 7),
            entry(Acknowledged, 7),
        ]]))
        .unwrap();
        assert_eq!(
            vec![entry(Sent, 5), entry(Acknowledged, 7)],
            contents.outcomes(0)
        );
        assert!(contents.outcomes(1).is_empty());
    }
}
