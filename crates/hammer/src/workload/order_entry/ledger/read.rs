//! Reading a ledger, also one whose end was torn off.

use std::path::Path;

use super::format::{checksum, Deal, Entry, Head, ENTRY_BYTES, FRAME_BYTES, MARK};
use crate::error::HammerError;

/// What a ledger holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// What it belongs to.
    pub head: Head,
    /// All whole entries, in the order in which they were written.
    pub entries: Vec<Entry>,
    /// Bytes at the end that are no whole batch: the last group, which was not synced. Room that was
    /// ready for more, all zeros, is not among them.
    pub torn_bytes: u64,
}

/// Reads the file at `path`.
///
/// Errors (precondition): `ledger-unreadable`, `ledger-damaged`.
pub fn read(path: &Path) -> Result<Contents, HammerError> {
    let bytes = std::fs::read(path).map_err(|e| {
        let problem = format!("the ledger cannot be read: {e}");
        let remedy = "name the file that `stithy hammer run --ledger` wrote";
        let place = path.display().to_string();
        HammerError::precondition("ledger-unreadable", problem, place, remedy).caused_by(e)
    })?;
    parse(&bytes).map_err(|problem| {
        let remedy = "restore the file from a copy; no proof can be made from this one";
        let place = path.display().to_string();
        HammerError::precondition("ledger-damaged", problem, place, remedy)
    })
}

/// Reads the bytes of a file; an error tells what is wrong with them.
pub fn parse(bytes: &[u8]) -> Result<Contents, &'static str> {
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
    Ok(Contents {
        head,
        entries,
        torn_bytes: rest
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at as u64 + 1),
    })
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
    let Some((frame, rest)) = bytes.split_at_checked(FRAME_BYTES) else {
        return Batch::Torn;
    };
    let word =
        |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    match rest.split_at_checked(word(0) as usize) {
        Some((payload, after)) if checksum(payload) == word(4) => Batch::Whole(payload, after),
        // After the last batch there is only room for more.
        Some((payload, after)) if !payload.is_empty() && after.iter().any(|byte| *byte != 0) => {
            Batch::Damaged
        }
        _ => Batch::Torn,
    }
}

fn read_entries(payload: &[u8], entries: &mut Vec<Entry>) -> Result<(), &'static str> {
    for bytes in payload.chunks(ENTRY_BYTES) {
        let entry = bytes.first_chunk().and_then(Entry::from_bytes);
        entries.push(entry.ok_or("a batch holds what is no entry")?);
    }
    Ok(())
}

/// Of each order or payment its last entry, which tells what became of it, in the order of the dates.
pub fn outcomes(entries: &[Entry], deal: Deal) -> Vec<Entry> {
    let mut sorted: Vec<Entry> = entries.iter().filter(|e| e.deal == deal).copied().collect();
    // Stable: the entries of a date stay in the order in which they were written.
    sorted.sort_by_key(|entry| entry.date_us);
    let by_date = sorted.chunk_by(|a, b| a.date_us == b.date_us);
    by_date
        .filter_map(|entries| entries.last().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::format::{framed, Stage};
    use super::*;

    fn entry(stage: Stage, date_us: i64) -> Entry {
        Entry {
            deal: Deal::Order,
            stage,
            d_id: 1,
            w_id: 1,
            number: 3_001,
            amount_cents: 0,
            date_us,
        }
    }

    fn head() -> Head {
        Head {
            workload: "order-entry".into(),
            warehouses: 1,
            loaded_seed: 1,
            run_seed: 2,
            started_us: 0,
        }
    }

    fn file(batches: &[&[Entry]]) -> Vec<u8> {
        let mut bytes = [&MARK[..], &framed(&serde_json::to_vec(&head()).unwrap())].concat();
        for batch in batches {
            let payload: Vec<u8> = batch.iter().flat_map(|e| e.to_bytes()).collect();
            bytes.extend(framed(&payload));
        }
        bytes
    }

    /// Wherever the last batch was cut off, all before it is read, and the rest is counted.
    #[test]
    fn a_torn_end_costs_only_the_last_batch() {
        let first = [entry(Stage::Sent, 1), entry(Stage::Acknowledged, 1)];
        let second = [entry(Stage::Sent, 2)];
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
        let mut bytes = file(&[&[entry(Stage::Sent, 1)]]);
        bytes.extend([0; 4096]);
        let contents = parse(&bytes).unwrap();
        assert_eq!((1, 0), (contents.entries.len(), contents.torn_bytes));
    }

    /// Any changed byte before the last batch is noticed; one in the last batch makes it torn, but for
    /// its length, which no torn write changes to another one.
    #[test]
    fn damage_is_never_taken_for_entries() {
        let first = [entry(Stage::Sent, 1)];
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

    /// The last entry of a date tells what became of it: a conflict may be tried again.
    #[test]
    fn the_last_entry_of_a_transaction_counts() {
        use Stage::{Acknowledged, Refused, Sent};
        let entries = [
            entry(Sent, 7),
            entry(Sent, 5),
            entry(Refused, 7),
            entry(Sent, 7),
            entry(Acknowledged, 7),
        ];
        let stages: Vec<_> = outcomes(&entries, Deal::Order)
            .iter()
            .map(|last| (last.date_us, last.stage))
            .collect();
        assert_eq!(vec![(5, Sent), (7, Acknowledged)], stages);
        assert!(outcomes(&entries, Deal::Payment).is_empty());
    }
}
