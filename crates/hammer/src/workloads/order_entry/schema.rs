//! The schema's SQL, cut into what is done before, after and beside copying rows.
//!
//! No foreign keys: the specification lists them but does not ask that the server enforces them.
//! Each would add a look-up to every inserted row, ten and more to a new order, and with it measure
//! the database's triggers instead of its storage. The consistency conditions find what a foreign
//! key would have refused.

use super::statements::Statements;
use super::tables::{Table, TABLES};
use crate::loading::TableLoad;
use crate::workloads::meta::META_TABLE;

/// Version of tables and rules of population; 1: the first; 2: `stithy_meta` tells the shape of the
/// text; 3: procedures give brands and addresses; 4: `stithy_meta` counts `units`.
pub const SCHEMA_VERSION: i32 = 4;

/// What loading a table of a number of warehouses takes.
pub fn table_load(statements: &Statements, table: &Table, warehouses: u32) -> TableLoad {
    let text = statements
        .tables
        .iter()
        .find(|(name, _)| *name == table.name);
    let mut all = split(text.map_or("", |(_, text)| text)).into_iter();
    let create = all.next().unwrap_or_default();
    let (indexes, keys) = all.partition(|statement| !statement.starts_with("ALTER"));
    TableLoad {
        name: table.name.into(),
        create,
        indexes,
        keys,
        slices: table.slices(warehouses),
        sampled: table.slices(1),
        cost: table.cost_ms,
    }
}

/// Every table that loading makes, the one about the load included.
pub fn table_names() -> Vec<&'static str> {
    let tables = TABLES.iter().map(|table| table.name);
    tables.chain([META_TABLE]).collect()
}

/// Statements without comment lines; no statement of this schema has a semicolon inside.
fn split(sql: &str) -> Vec<String> {
    let code: Vec<&str> = sql.lines().filter(|line| !line.starts_with("--")).collect();
    let statements = code.join("\n");
    statements
        .split(';')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::statements::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite, Pair};
    use super::*;

    fn statements_of(table: &Table) -> TableLoad {
        table_load(OnPostgresql::STATEMENTS, table, 1)
    }

    /// Where rows lie by their key, it is part of the table, and only further indexes come afterwards.
    #[test]
    fn a_clustered_key_is_created_with_its_table() {
        for (statements, clusters) in [
            (OnSqlite::STATEMENTS, "WITHOUT ROWID"),
            (OnMySql::STATEMENTS, "ENGINE = InnoDB"),
            (OnSqlServer::STATEMENTS, "CLUSTERED"),
        ] {
            for table in TABLES {
                let parts = table_load(statements, table, 1);
                let clustered =
                    parts.create.contains("PRIMARY KEY") && parts.create.contains(clusters);
                let keyless = table.name == "history" && clusters != "ENGINE = InnoDB";
                assert_eq!(!keyless, clustered, "{}", parts.create);
                let no_keys = parts.keys.iter().all(|sql| sql.contains("LOCK_ESCALATION"));
                assert!(no_keys && parts.indexes.len() <= 1, "{}", table.name);
            }
        }
    }

    /// Every table's file begins with its own CREATE TABLE and goes on with indexes and keys.
    #[test]
    fn every_table_s_sql_has_the_expected_parts() {
        for table in TABLES {
            let parts = statements_of(table);
            let start = format!("CREATE TABLE {} (", table.name);
            assert!(parts.create.starts_with(&start), "{}", parts.create);
            let index =
                |s: &String| s.starts_with("CREATE INDEX") || s.starts_with("CREATE UNIQUE");
            assert!(parts.indexes.iter().all(index), "{:?}", parts.indexes);
            let keys = usize::from(table.name != "history");
            assert_eq!(keys, parts.keys.len(), "{}", table.name);
        }
    }

    /// Comments may hold semicolons.
    #[test]
    fn comments_are_no_statements() {
        assert_eq!(
            vec!["SELECT 1", "SELECT\n2"],
            split("-- a; b\nSELECT 1;\n\nSELECT\n2;\n")
        );
    }

    /// In every key of a table with warehouses, the warehouse comes first.
    #[test]
    fn the_warehouse_comes_first_in_every_key() {
        for table in TABLES.iter().filter(|table| table.name != "item") {
            for index in statements_of(table).indexes {
                let columns = index.split('(').nth(1).unwrap_or_default().to_string();
                let first = columns
                    .split([',', ')'])
                    .next()
                    .unwrap_or_default()
                    .to_string();
                assert!(first.ends_with("w_id"), "{index}");
            }
        }
    }
}
