//! How far loading is: counts what the loaders report, and decides what is worth telling.

use std::collections::BTreeMap;
use std::time::Instant;

use stithy_wire::{Progress, TableRows};

use super::loader::Event;
use super::TableLoad;

/// Progress is reported after so many slices, or it would be most of the output.
const PROGRESS_SLICES: u64 = 200;

/// What the loaders have done so far.
pub struct Tally {
    start: Instant,
    slices: u64,
    slices_total: u64,
    slices_told: u64,
    indexes: u64,
    indexes_total: u64,
    /// When the last row was copied, seconds from the start.
    pub copy_s: f64,
    rows: BTreeMap<String, u64>,
}

impl Tally {
    /// Nothing done yet of loading tables.
    pub fn new(tables: &[TableLoad], start: Instant) -> Self {
        Tally {
            start,
            slices: 0,
            slices_total: tables.iter().map(|table| table.slices).sum(),
            slices_told: 0,
            indexes: 0,
            indexes_total: tables.iter().map(|t| t.indexes.len() as u64).sum(),
            copy_s: 0.0,
            rows: BTreeMap::new(),
        }
    }

    /// Takes note of an event; gives progress where there is some worth telling.
    pub fn take(&mut self, event: Event) -> Option<Progress> {
        match event {
            Event::Copied {
                table,
                slices,
                rows,
            } => {
                self.slices += slices;
                *self.rows.entry(table).or_default() += rows;
                self.copy_s = self.start.elapsed().as_secs_f64();
                self.copy_progress()
            }
            Event::IndexBuilt => {
                self.indexes += 1;
                let all_copied = self.slices == self.slices_total;
                all_copied.then(|| progress("building indexes", self.indexes, self.indexes_total))
            }
            Event::Ended(_) => None,
        }
    }

    fn copy_progress(&mut self) -> Option<Progress> {
        let end = self.slices == self.slices_total;
        if !end && self.slices < self.slices_told + PROGRESS_SLICES {
            return None;
        }
        self.slices_told = self.slices;
        Some(progress("copying rows", self.slices, self.slices_total))
    }

    /// Rows copied, by table.
    pub fn table_rows(&self) -> Vec<TableRows> {
        let rows = self.rows.iter();
        rows.map(|(table, rows)| TableRows {
            table: table.to_string(),
            rows: *rows,
        })
        .collect()
    }
}

fn progress(stage: &str, done: u64, total: u64) -> Progress {
    Progress {
        stage: stage.to_string(),
        done,
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample_tables;
    use super::*;

    fn copied(slices: u64) -> Event {
        Event::Copied {
            table: "lines".into(),
            slices,
            rows: 2 * slices,
        }
    }

    /// Progress grows to its total; the index stage begins when all rows are there.
    #[test]
    fn progress_reaches_its_total() {
        let mut tally = Tally::new(&sample_tables(), Instant::now());
        let total = tally.slices_total;
        assert_eq!(None, tally.take(copied(1)));
        assert_eq!(
            None,
            tally.take(Event::IndexBuilt),
            "rows are still being copied"
        );
        let last = tally.take(copied(total - 1));
        assert_eq!(Some(progress("copying rows", total, total)), last);
        let next = tally.take(Event::IndexBuilt);
        assert_eq!(
            Some(progress("building indexes", 2, tally.indexes_total)),
            next
        );
        let rows = vec![TableRows {
            table: "lines".into(),
            rows: 2 * total,
        }];
        assert_eq!(rows, tally.table_rows());
    }

    /// Progress is reported once in many slices, not for each.
    #[test]
    fn progress_is_told_sparsely() {
        let mut tally = Tally::new(&sample_tables(), Instant::now());
        let told = (0..tally.slices_total)
            .filter_map(|_| tally.take(copied(1)))
            .count() as u64;
        assert_eq!(tally.slices_total.div_ceil(PROGRESS_SLICES), told);
    }
}
