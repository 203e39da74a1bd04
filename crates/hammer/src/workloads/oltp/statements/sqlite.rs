//! The SQL of the workload for SQLite, for which sysbench has none: as for the others, with the types of a
//! strict table.

use super::{Pair, Statements};

/// The workload on SQLite.
pub struct OnSqlite;

impl Pair for OnSqlite {
    const STATEMENTS: &'static Statements = &Statements {
        create_meta: "CREATE TABLE stithy_meta (workload TEXT NOT NULL, \
             schema_version INTEGER NOT NULL, units INTEGER NOT NULL, size TEXT NOT NULL, \
             seed TEXT NOT NULL) STRICT",
        write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        read_meta: "SELECT schema_version, size, seed FROM stithy_meta WHERE workload = ?1",
        create_marks: "CREATE TABLE stithy_transaction_mark (marked_at INTEGER PRIMARY KEY, \
             user_number INTEGER NOT NULL) STRICT",
        marks_by_date: "SELECT marked_at, user_number FROM stithy_transaction_mark \
             WHERE marked_at BETWEEN ?1 AND ?2 ORDER BY 1",
        create_table: "CREATE TABLE sbtest{n} (id INTEGER PRIMARY KEY, \
             k INTEGER DEFAULT 0 NOT NULL, c TEXT DEFAULT '' NOT NULL, \
             pad TEXT DEFAULT '' NOT NULL) STRICT",
        key_index: None,
        finish_table: &[],
        duplicate_key: "SQLITE_CONSTRAINT",
        tables_max: 500,
        parameter: |number| format!("?{number}"),
        words: &[],
    };
}
