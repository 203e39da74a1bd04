//! The ledger: what the hammer meant to do and what the database acknowledged, in a file that lies
//! elsewhere than the database, so that after a failure it can be proven whether anything was lost.
//! A workload says what it keeps of a transaction ([`Kept`]); the rest is here, and the format in
//! `docs/reference/ledger.md`.
//!
//! What must be durable when. An acknowledgement counts once it is in the file, and it is written
//! only after the database's answer: so an entry that is there is never ahead of the database, and
//! one that is missing only makes the proof smaller, never wrong. Therefore no user ever waits for the
//! ledger: entries are gathered and synced in groups by a thread of its own. What was meant (`Sent`)
//! comes before its outcome in the file, so an outcome is never there without it; the last group may be
//! missing after a loss of power, and with it the knowledge of some doubts.

pub(crate) mod compare;
mod entry;
mod frame;
pub mod read;
pub(crate) mod unique_dates;
pub mod write;

pub use entry::{Entry, Kept, Stage};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a ledger belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The workload's name.
    pub workload: String,
    /// What the workload says of the loaded data.
    pub loaded: Map<String, Value>,
    /// Seed of the run.
    pub run_seed: u64,
}

#[cfg(test)]
mod tests;
