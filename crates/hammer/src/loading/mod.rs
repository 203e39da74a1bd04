//! Loading a database: a workload says what its tables are and what a slice of their rows holds; how
//! the slices are divided over connections, sent, and told of is here, and the job in
//! `crates/hammer/src/jobs/prepare.rs`.

pub(crate) mod loader;
mod rows;
pub(crate) mod sample;
pub(crate) mod schedule;
pub(crate) mod tally;
mod text;

pub use rows::Rows;
pub use text::{Lengths, Shape, DUPLICATE_STREAM};

use std::future::Future;

use serde_json::{Map, Value};

use crate::engines::Control;
use crate::error::HammerError;

/// One table that is to be loaded.
#[derive(Debug, Clone)]
pub struct TableLoad {
    /// Its name in the database.
    pub name: String,
    /// SQL that creates it, with neither indexes nor keys.
    pub create: String,
    /// SQL for each index, independent of the others; done as soon as the rows are there.
    pub indexes: Vec<String>,
    /// SQL that makes keys of the indexes; quick, and done when all tables have theirs.
    pub keys: Vec<String>,
    /// Into how many slices its rows are cut, in the order of its key.
    pub slices: u64,
    /// Of the first so many of them a sample is measured; the same ones whatever the size.
    pub sampled: u64,
    /// Time to load and index its rows, roughly; only its ratio to the other tables matters.
    pub cost: u32,
}

/// What a workload loads into an empty database.
pub trait Load: Send + Sync + 'static {
    /// The table that says what was loaded: its name, and SQL that creates it. It is made before all
    /// others, so that no two jobs load one database.
    fn mark(&self) -> (&'static str, &'static str);

    /// All other tables.
    fn tables(&self) -> Vec<TableLoad>;

    /// Appends the rows of a slice of a table, each counted from 0. They depend on the seed and the two
    /// numbers alone, so slices may be made anywhere and in any order.
    fn write_slice(&self, table: usize, slice: u64, rows: &mut Rows);

    /// What is done after rows, indexes and keys, in one transaction with the keys; the row that says what
    /// was loaded last.
    fn finish(&self, control: &impl Control) -> impl Future<Output = Result<(), HammerError>>;

    /// What there is to say of the load in particular.
    fn told(&self) -> Map<String, Value>;
}

/// Three tables, the costly one first.
#[cfg(test)]
fn sample_tables() -> Vec<TableLoad> {
    let table = |(name, slices, cost, indexes): (_, _, _, usize)| TableLoad {
        name: String::from(name),
        create: format!("create {name}"),
        indexes: vec![format!("index {name}"); indexes],
        keys: Vec::new(),
        slices,
        sampled: 1,
        cost,
    };
    [
        ("lines", 300, 50, 1),
        ("heads", 7, 30, 2),
        ("notes", 1, 20, 0),
    ]
    .map(table)
    .to_vec()
}
