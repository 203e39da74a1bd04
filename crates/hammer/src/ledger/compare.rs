//! What it means when ledger and database say different things of one transaction.

use std::collections::HashMap;

use stithy_wire::{LedgerCounts, LedgerFinding, LedgerFindingKind as Kind, Message};

use super::{Entry, Kept, Stage};

/// So many findings of each kind are named; the summary counts them all.
const NAMED_MAX: u64 = 100;

/// What was found so far of a kind of transactions.
pub(crate) struct Comparison<'a> {
    name: &'static str,
    /// All findings, counted.
    pub(crate) counts: LedgerCounts,
    named: HashMap<Kind, u64>,
    sink: &'a mut dyn FnMut(Message),
}

/// Whether everything acknowledged is there as it was acknowledged, and nothing refused is.
pub(crate) fn holds(counts: &LedgerCounts) -> bool {
    counts.lost + counts.differing + counts.returned == 0
}

impl<'a> Comparison<'a> {
    /// Nothing found yet.
    pub(crate) fn new(name: &'static str, sink: &'a mut dyn FnMut(Message)) -> Self {
        Comparison {
            name,
            counts: LedgerCounts::default(),
            named: HashMap::new(),
            sink,
        }
    }

    /// Takes note of a transaction as the ledger knows it and as the database holds it.
    pub(crate) fn take<K: Kept>(&mut self, kept: Option<&Entry<K>>, row: Option<&K>) {
        match kept.map(|entry| entry.stage) {
            Some(Stage::Acknowledged) => self.counts.acknowledged += 1,
            Some(Stage::Refused) => self.counts.refused += 1,
            Some(Stage::Sent) => self.counts.in_doubt += 1,
            None => {}
        }
        if let Some(kind) = kind(kept, row) {
            self.count(kind);
            self.name(kind, kept.map(|entry| &entry.kept), row);
        }
    }

    fn count(&mut self, kind: Kind) {
        let counter = match kind {
            Kind::Lost => &mut self.counts.lost,
            Kind::Differs => &mut self.counts.differing,
            Kind::Returned => &mut self.counts.returned,
            Kind::DoubtCommitted => &mut self.counts.in_doubt_found,
            Kind::Unknown => &mut self.counts.unknown,
            Kind::DoubtAbsent => return,
        };
        *counter += 1;
    }

    fn name<K: Kept>(&mut self, kind: Kind, kept: Option<&K>, row: Option<&K>) {
        let named = self.named.entry(kind).or_default();
        *named += 1;
        if *named > NAMED_MAX {
            return;
        }
        let text = match (kept, row) {
            (Some(kept), Some(row)) if kind == Kind::Differs => {
                format!("{}; in the database {}", kept.words(), row.words())
            }
            // The database knows more of a transaction whose answer never came.
            (_, Some(known)) | (Some(known), None) => known.words(),
            (None, None) => return,
        };
        let entry = self.name.into();
        (self.sink)(Message::LedgerFinding(LedgerFinding { entry, kind, text }));
    }
}

/// None where both agree.
fn kind<K: Kept>(kept: Option<&Entry<K>>, row: Option<&K>) -> Option<Kind> {
    match (kept.map(|entry| entry.stage), row) {
        (Some(Stage::Acknowledged), None) => Some(Kind::Lost),
        (Some(Stage::Acknowledged), _) => {
            (kept.map(|entry| &entry.kept) != row).then_some(Kind::Differs)
        }
        (Some(Stage::Refused), _) => row.map(|_| Kind::Returned),
        (Some(Stage::Sent), None) => Some(Kind::DoubtAbsent),
        (Some(Stage::Sent), Some(_)) => Some(Kind::DoubtCommitted),
        (None, _) => row.map(|_| Kind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{entry, Thing};
    use super::*;

    type Found = (LedgerCounts, Option<LedgerFinding>);

    fn compared(kept: Option<Entry<Thing>>, row: Option<Thing>) -> Found {
        let mut told = None;
        let mut sink = |message| match message {
            Message::LedgerFinding(finding) => told = Some(finding),
            other => panic!("no finding: {other:?}"),
        };
        let mut comparison = Comparison::new("thing", &mut sink);
        comparison.take(kept.as_ref(), row.as_ref());
        let counts = comparison.counts;
        (counts, told)
    }

    /// Every pair of what the ledger says and what the database holds has its own name.
    #[test]
    fn every_disagreement_has_a_name() {
        use Stage::{Acknowledged, Refused, Sent};
        let row = Some(entry(Acknowledged, 5).kept);
        let cases = [
            (Some(entry(Acknowledged, 5)), row, None),
            (Some(entry(Acknowledged, 5)), None, Some(Kind::Lost)),
            (Some(entry(Acknowledged, 6)), row, Some(Kind::Differs)),
            (Some(entry(Refused, 5)), None, None),
            (Some(entry(Refused, 5)), row, Some(Kind::Returned)),
            (Some(entry(Sent, 5)), row, Some(Kind::DoubtCommitted)),
            (Some(entry(Sent, 5)), None, Some(Kind::DoubtAbsent)),
            (None, row, Some(Kind::Unknown)),
        ];
        for (kept, row, expected) in cases {
            let (counts, told) = compared(kept, row);
            assert_eq!(expected, told.map(|finding| finding.kind));
            let bad = [Some(Kind::Lost), Some(Kind::Differs), Some(Kind::Returned)];
            assert_eq!(!bad.contains(&expected), holds(&counts), "{expected:?}");
        }
    }

    /// A person is told both sides of what differs.
    #[test]
    fn a_finding_is_in_the_words_of_its_workload() {
        let row = entry(Stage::Acknowledged, 6).kept;
        let (_, told) = compared(Some(entry(Stage::Acknowledged, 5)), Some(row));
        let finding = told.unwrap();
        assert_eq!(
            ("thing", "thing 7 at 5; in the database thing 7 at 6"),
            (finding.entry.as_str(), finding.text.as_str())
        );
    }
}
