//! The workload on each engine: what its SQL has of its own. `{n}` stands for a table's number, `{next}` for
//! the first id that was not loaded; `?` for a parameter.

mod mysql;
mod postgresql;
mod sqlite;
mod sqlserver;

pub use mysql::OnMySql;
pub use postgresql::OnPostgresql;
pub use sqlite::OnSqlite;
pub use sqlserver::OnSqlServer;

use super::transaction::Step;

/// The workload on one engine.
pub trait Pair: Send + Sync + 'static {
    /// Its SQL.
    const STATEMENTS: &'static Statements;
}

/// What the workload says to one engine.
pub struct Statements {
    /// Creates the table of one row that says what was loaded.
    pub create_meta: &'static str,
    /// Writes that row: workload, version, units, size and seed as text.
    pub write_meta: &'static str,
    /// Reads it for a workload: version, size and seed as text.
    pub read_meta: &'static str,
    /// Creates the table of marks, by which a ledger finds transactions.
    pub create_marks: &'static str,
    /// Date and user of marks dated within two bounds, by date.
    pub marks_by_date: &'static str,
    /// Creates a table.
    pub create_table: &'static str,
    /// Makes the index that becomes its key; none where the key is created with it.
    pub key_index: Option<&'static str>,
    /// Done when all rows and indexes are there.
    pub finish_table: &'static [&'static str],
    /// The engine's code of the error that a key is there already.
    pub duplicate_key: &'static str,
    /// As many tables as one of its statements can name.
    pub tables_max: u32,
    /// The parameter of a number, from 1.
    pub parameter: fn(usize) -> String,
    /// What common SQL calls otherwise than the engine, each with the engine's own.
    pub words: &'static [(&'static str, &'static str)],
}

/// Makes the index on `k`, where a database has one.
const INDEX: &str = "CREATE INDEX k_{n} ON sbtest{n}(k)";
/// Leaves a mark.
pub const MARK: &str = "INSERT INTO stithy_transaction_mark (marked_at, user_number) VALUES (?, ?)";
/// Reads the rows of a range.
pub const READ_ROWS: &str = "SELECT c, pad FROM sbtest{n} WHERE id BETWEEN ? AND ?";
/// Reads a range of the index.
pub const READ_INDEX: &str = "SELECT count(k) FROM sbtest{n} WHERE k BETWEEN ? AND ?";

impl Statements {
    /// SQL on a table, with parameters as the engine wants them.
    pub fn text(&self, sql: &str, table: u32) -> String {
        let mut parts = sql.split('?');
        let first = parts.next().unwrap_or_default().to_string();
        let numbered = (1..).zip(parts);
        let text = numbered.fold(first, |text, (number, part)| {
            text + &(self.parameter)(number) + part
        });
        self.translate(&name_table(&text, table))
    }

    /// Common SQL in the engine's own words.
    pub fn translate(&self, sql: &str) -> String {
        let replace = |sql: String, (common, own): &(&str, &str)| sql.replace(common, own);
        self.words.iter().fold(sql.to_string(), replace)
    }

    /// What a session prepares of steps: for each the tables in their order.
    pub fn texts(&self, steps: &[&str], tables: u32) -> Vec<String> {
        let on_tables = |sql| (1..=tables).map(move |table| self.text(sql, table));
        steps.iter().copied().flat_map(on_tables).collect()
    }

    /// The same of a transaction's.
    pub fn texts_of(&self, steps: &[Step], tables: u32) -> Vec<String> {
        let sql: Vec<&str> = steps.iter().map(|step| step.sql()).collect();
        self.texts(&sql, tables)
    }

    /// The indexes of a table.
    pub fn indexes(&self, table: u32, secondary: bool) -> Vec<String> {
        let secondary = secondary.then_some(INDEX);
        let indexes = self.key_index.into_iter().chain(secondary);
        indexes.map(|sql| name_table(sql, table)).collect()
    }

    /// What is done when rows and indexes are there.
    pub fn keys(&self, table: u32, rows: u32) -> Vec<String> {
        let next = (rows + 1).to_string();
        let named = |sql: &&str| name_table(sql, table).replace("{next}", &next);
        self.finish_table.iter().map(named).collect()
    }
}

/// SQL on a table of a number.
pub fn name_table(sql: &str, table: u32) -> String {
    sql.replace("{n}", &table.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters stand as the engine wants them, tables by their numbers.
    #[test]
    fn texts_name_tables_and_parameters() {
        let (postgresql, sqlite) = (OnPostgresql::STATEMENTS, OnSqlite::STATEMENTS);
        let texts = postgresql.texts_of(&[Step::UpdateNonIndex, Step::Point], 2);
        assert_eq!(
            [
                "UPDATE sbtest1 SET c=$1 WHERE id=$2",
                "UPDATE sbtest2 SET c=$1 WHERE id=$2",
                "SELECT c FROM sbtest1 WHERE id=$1",
                "SELECT c FROM sbtest2 WHERE id=$1",
            ],
            &texts[..]
        );
        assert_eq!(
            "INSERT INTO stithy_transaction_mark (marked_at, user_number) VALUES (?1, ?2)",
            sqlite.text(MARK, 0)
        );
    }

    /// The words of an engine stand for the common ones.
    #[test]
    fn texts_are_in_the_words_of_the_engine() {
        let sql_server = OnSqlServer::STATEMENTS;
        assert_eq!(
            "SELECT SUM(CAST(k AS BIGINT)) FROM sbtest3 WHERE id BETWEEN @p1 AND @p2",
            sql_server.text(Step::SumRange.sql(), 3)
        );
        assert_eq!(
            "LEN(rtrim(c)) <> 1",
            sql_server.translate("length(rtrim(c)) <> 1")
        );
    }

    /// Only PostgreSQL makes its keys after the rows; an index on `k` is left out on request.
    #[test]
    fn keys_and_indexes_are_as_asked() {
        let (postgresql, sqlite) = (OnPostgresql::STATEMENTS, OnSqlite::STATEMENTS);
        let counts = |of: &Statements| (of.indexes(1, true).len(), of.indexes(1, false).len());
        assert_eq!(((2, 1), (1, 0)), (counts(postgresql), counts(sqlite)));
        let keys = postgresql.keys(2, 10);
        assert_eq!("ALTER SEQUENCE sbtest2_id_seq RESTART WITH 11", keys[1]);
        assert!(sqlite.keys(2, 10).is_empty());
    }
}
