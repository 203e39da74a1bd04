//! What it means when ledger and database say different things of one transaction.

use std::collections::HashMap;

use stithy_wire::{LedgerCounts, LedgerFinding, LedgerFindingKind as Kind, Message};

use super::date;
use super::format::{Deal, Entry, Stage};

/// So many findings of each kind are named; the summary counts them all.
const NAMED_MAX: u64 = 100;

/// What was found so far.
pub struct Comparison<'a> {
    deal: Deal,
    /// All findings, counted.
    pub counts: LedgerCounts,
    named: HashMap<Kind, u64>,
    sink: &'a mut dyn FnMut(Message),
}

/// Whether everything acknowledged is there as it was acknowledged, and nothing refused is.
pub fn holds(counts: &LedgerCounts) -> bool {
    counts.lost + counts.differing + counts.returned == 0
}

impl<'a> Comparison<'a> {
    /// Nothing found yet.
    pub fn new(deal: Deal, sink: &'a mut dyn FnMut(Message)) -> Self {
        Comparison {
            deal,
            counts: LedgerCounts::default(),
            named: HashMap::new(),
            sink,
        }
    }

    /// Takes note of a transaction as the ledger knows it and as the database holds it.
    pub fn take(&mut self, kept: Option<&Entry>, row: Option<&Entry>) {
        match kept.map(|entry| entry.stage) {
            Some(Stage::Acknowledged) => self.counts.acknowledged += 1,
            Some(Stage::Refused) => self.counts.refused += 1,
            Some(Stage::Sent) => self.counts.in_doubt += 1,
            None => {}
        }
        if let Some(kind) = kind(kept, row) {
            self.count(kind);
            self.name(kind, kept, row);
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

    fn name(&mut self, kind: Kind, kept: Option<&Entry>, row: Option<&Entry>) {
        let named = self.named.entry(kind).or_default();
        *named += 1;
        if *named > NAMED_MAX {
            return;
        }
        let text = match (kept, row) {
            (Some(kept), Some(row)) if kind == Kind::Differs => {
                format!("{}; in the database {}", words(kept), words(row))
            }
            // The database knows the number of an order whose answer never came.
            (_, Some(entry)) | (Some(entry), None) => words(entry),
            (None, None) => return,
        };
        let entry = self.deal.name().into();
        (self.sink)(Message::LedgerFinding(LedgerFinding { entry, kind, text }));
    }
}

/// None where both agree.
fn kind(kept: Option<&Entry>, row: Option<&Entry>) -> Option<Kind> {
    match (kept.map(|entry| entry.stage), row) {
        (Some(Stage::Acknowledged), None) => Some(Kind::Lost),
        (Some(Stage::Acknowledged), _) => (kept != row).then_some(Kind::Differs),
        (Some(Stage::Refused), _) => row.map(|_| Kind::Returned),
        (Some(Stage::Sent), None) => Some(Kind::DoubtAbsent),
        (Some(Stage::Sent), Some(_)) => Some(Kind::DoubtCommitted),
        (None, _) => row.map(|_| Kind::Unknown),
    }
}

/// A transaction in words.
fn words(entry: &Entry) -> String {
    let place = format!("district {} of warehouse {}", entry.d_id, entry.w_id);
    let dated = format!("dated {}", date::text(entry.date_us));
    match entry.deal {
        Deal::Order if entry.number == 0 => format!("an order of {place}, {dated}"),
        Deal::Order => format!("order {} of {place}, {dated}", entry.number),
        Deal::Payment => {
            let (whole, cents) = (entry.amount_cents / 100, entry.amount_cents % 100);
            format!("a payment of {whole}.{cents:02} in {place}, {dated}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(stage: Stage, number: u32) -> Entry {
        Entry {
            deal: Deal::Order,
            stage,
            d_id: 4,
            w_id: 2,
            number,
            amount_cents: 0,
            date_us: 850_000_000_000_001,
        }
    }

    fn compared(kept: Option<Entry>, row: Option<Entry>) -> (LedgerCounts, Option<LedgerFinding>) {
        let mut told = None;
        let mut sink = |message| match message {
            Message::LedgerFinding(finding) => told = Some(finding),
            other => panic!("no finding: {other:?}"),
        };
        let mut comparison = Comparison::new(Deal::Order, &mut sink);
        comparison.take(kept.as_ref(), row.as_ref());
        let counts = comparison.counts;
        (counts, told)
    }

    /// Every pair of what the ledger says and what the database holds has its own name.
    #[test]
    fn every_disagreement_has_a_name() {
        use Stage::{Acknowledged, Refused, Sent};
        let row = Some(entry(Acknowledged, 3_001));
        let cases = [
            (Some(entry(Acknowledged, 3_001)), row, None),
            (Some(entry(Acknowledged, 3_001)), None, Some(Kind::Lost)),
            (Some(entry(Acknowledged, 3_002)), row, Some(Kind::Differs)),
            (Some(entry(Refused, 0)), None, None),
            (Some(entry(Refused, 0)), row, Some(Kind::Returned)),
            (Some(entry(Sent, 0)), row, Some(Kind::DoubtCommitted)),
            (Some(entry(Sent, 0)), None, Some(Kind::DoubtAbsent)),
            (None, row, Some(Kind::Unknown)),
        ];
        for (kept, row, expected) in cases {
            let (counts, told) = compared(kept, row);
            assert_eq!(expected, told.map(|finding| finding.kind));
            let bad = [Some(Kind::Lost), Some(Kind::Differs), Some(Kind::Returned)];
            assert_eq!(!bad.contains(&expected), holds(&counts), "{expected:?}");
        }
    }

    /// A person can find the order by what is said of it.
    #[test]
    fn a_finding_names_its_order() {
        let (_, told) = compared(Some(entry(Stage::Acknowledged, 3_001)), None);
        assert_eq!(
            Some(
                "order 3001 of district 4 of warehouse 2, dated 2026-12-07 23:06:40.000001 UTC"
                    .to_string()
            ),
            told.map(|finding| finding.text)
        );
    }
}
