//! What the tests of a ledger keep in it.

use super::{Entry, Kept, Stage};
use crate::engines::Value;

/// A thing that was done with a number, of two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) kind: usize,
    pub(super) key: i64,
    pub(super) number: u8,
}

impl Kept for Thing {
    const KINDS: &'static [&'static str] = &["thing", "other"];
    const BYTES: usize = 1;

    fn kind(&self) -> usize {
        self.kind
    }

    fn key(&self) -> i64 {
        self.key
    }

    fn words(&self) -> String {
        format!("thing {} at {}", self.number, self.key)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.number);
    }

    fn read(kind: usize, key: i64, rest: &[u8]) -> Option<Self> {
        let [number] = *rest else { return None };
        Some(Thing { kind, key, number })
    }

    fn of_row(kind: usize, key: i64, columns: &[Value]) -> Self {
        let number = columns[0].integer() as u8;
        Thing { kind, key, number }
    }
}

/// An entry of the first kind.
pub(super) fn entry(stage: Stage, key: i64) -> Entry<Thing> {
    let (kind, number) = (0, 7);
    let kept = Thing { kind, key, number };
    Entry { stage, kept }
}
