//! What a job says to the workload alone.

use serde::{Deserialize, Serialize};
use stithy_wire::WorkloadChoice;

use super::distribution::Law;
use crate::error::HammerError;
use crate::workloads;

/// With the longest range, ids stay below 2^31.
const ROWS_MAX: u32 = 2_000_000_000;
const RANGE_MAX: u32 = 1_000_000;
/// More statements of a kind than this are no transaction.
const COUNT_MAX: u32 = 10_000;
const DRAWS_MAX: u32 = 1_000;

/// What a transaction consists of, by sysbench's name of its script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Point selects, ranges, updates, and rows that are deleted and inserted again.
    #[default]
    ReadWrite,
    /// Point selects and ranges.
    ReadOnly,
    /// Updates, and rows that are deleted and inserted again.
    WriteOnly,
    /// One point select.
    PointSelect,
    /// One update of an indexed column.
    UpdateIndex,
    /// One update of a column without an index.
    UpdateNonIndex,
    /// One new row.
    Insert,
}

/// How many statements of each kind a transaction has, where its mix has the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    /// Selects of one row.
    pub point_selects: u32,
    /// Selects of a range.
    pub simple_ranges: u32,
    /// The same with a sum.
    pub sum_ranges: u32,
    /// The same, sorted.
    pub order_ranges: u32,
    /// The same, sorted, each value once.
    pub distinct_ranges: u32,
    /// Updates of `k`.
    pub index_updates: u32,
    /// Updates of `c`.
    pub non_index_updates: u32,
    /// Rows that are deleted and inserted again.
    pub delete_inserts: u32,
    /// Rows in a range.
    pub range_rows: u32,
}

impl Default for Counts {
    /// As sysbench.
    fn default() -> Self {
        Counts {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_rows: 100,
        }
    }
}

impl Counts {
    fn named(&self) -> [(&'static str, u32); 8] {
        [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
        ]
    }
}

/// What a job says; jobs that run nothing need no more than the size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Only the first so many rows of each table are touched. None: all.
    #[serde(default)]
    pub rows_touched: Option<u32>,
    /// What a transaction consists of.
    #[serde(default)]
    pub mix: Mix,
    /// How many statements of each kind it has.
    #[serde(default)]
    pub statements: Counts,
    /// How rows are drawn.
    #[serde(default)]
    pub distribution: Law,
    /// Whether `k` has an index.
    #[serde(default = "with_index")]
    pub secondary_index: bool,
    /// Each statement is a transaction of its own.
    #[serde(default)]
    pub skip_trx: bool,
}

fn with_index() -> bool {
    true
}

impl Options {
    /// Reads a job's choice.
    ///
    /// Errors: `job-invalid` (usage).
    pub fn read(choice: &WorkloadChoice, tables_max: u32) -> Result<Self, HammerError> {
        let options: Options = workloads::options(choice)?;
        refuse_outside("tables", options.tables, 1, tables_max)?;
        refuse_outside("rows", options.rows, 1, ROWS_MAX)?;
        if let Some(touched) = options.rows_touched {
            refuse_outside("rows_touched", touched, 1, options.rows)?;
        }
        refuse_outside("range_rows", options.statements.range_rows, 1, RANGE_MAX)?;
        for (name, count) in options.statements.named() {
            refuse_outside(name, count, 0, COUNT_MAX)?;
        }
        options.refuse_wrong_law()?;
        Ok(options)
    }

    /// How many rows of each table are touched at most.
    pub fn touched(&self) -> u32 {
        self.rows_touched.unwrap_or(self.rows)
    }

    fn refuse_wrong_law(&self) -> Result<(), HammerError> {
        let refuse = |value: f64, right| Err(refusal("distribution", value, right));
        match self.distribution {
            Law::Uniform => Ok(()),
            Law::Gaussian { draws } => refuse_outside("distribution", draws, 1, DRAWS_MAX),
            Law::Special {
                draws,
                percent,
                share_percent,
            } => {
                refuse_outside("distribution", draws, 1, DRAWS_MAX)?;
                refuse_outside("distribution", percent.into(), 1, 100)?;
                refuse_outside("distribution", share_percent.into(), 1, 100)
            }
            Law::Pareto { h } if h > 0.0 && h < 1.0 => Ok(()),
            Law::Pareto { h } => refuse(h, "give h above 0 and below 1"),
            Law::Zipfian { exponent } if exponent > 0.0 && exponent <= 10.0 => Ok(()),
            Law::Zipfian { exponent } => refuse(exponent, "give an exponent above 0, at most 10"),
        }
    }
}

fn refuse_outside(key: &str, value: u32, least: u32, most: u32) -> Result<(), HammerError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => {
            let right = format!("give a number from {least} to {most}");
            Err(refusal(key, value, &right))
        }
    }
}

fn refusal(key: &str, value: impl std::fmt::Display, right: &str) -> HammerError {
    let place = format!("workload.{key}");
    HammerError::usage("job-invalid", format!("{place} is {value}"), place, right)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    fn read(more: serde_json::Value) -> Result<Options, HammerError> {
        let mut choice = json!({"name": "oltp", "tables": 3, "rows": 1_000});
        let (keys, more) = (choice.as_object_mut(), more);
        keys.unwrap().extend(more.as_object().unwrap().clone());
        Options::read(&serde_json::from_value(choice).unwrap(), 500)
    }

    /// Three tables of 1,000 rows, all else as sysbench has it.
    pub(in super::super) fn options() -> Options {
        read(json!({})).unwrap()
    }

    /// What cannot be is refused by its key.
    #[test]
    fn wrong_options_are_refused_by_key() {
        let wrong = [
            (json!({"tables": 501}), "workload.tables"),
            (json!({"rows": 0}), "workload.rows"),
            (json!({"rows_touched": 1_001}), "workload.rows_touched"),
            (
                json!({"statements": {"range_rows": 0}}),
                "workload.range_rows",
            ),
            (
                json!({"statements": {"sum_ranges": 10_001}}),
                "workload.sum_ranges",
            ),
            (
                json!({"distribution": {"law": "pareto", "h": 1.0}}),
                "workload.distribution",
            ),
            (
                json!({"distribution": {"law": "zipfian", "exponent": -1.0}}),
                "workload.distribution",
            ),
            (json!({"mix": "tpcc"}), "workload"),
        ];
        for (more, place) in wrong {
            let error = read(more).unwrap_err();
            assert_eq!(("job-invalid", place), (error.code, &*error.place));
        }
    }
}
