//! The SQL of the workload for MariaDB and MySQL.

use super::{Pair, Statements};

/// The workload on MariaDB and MySQL.
pub struct OnMySql;

impl Pair for OnMySql {
    const STATEMENTS: &'static Statements = &Statements {
        create_meta: "CREATE TABLE stithy_meta (workload VARCHAR(100) NOT NULL, \
             schema_version INT NOT NULL, units BIGINT NOT NULL, size VARCHAR(100) NOT NULL, \
             seed BIGINT UNSIGNED NOT NULL, PRIMARY KEY (workload)) \
             ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
        write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
             VALUES (?, ?, ?, ?, ?)",
        read_meta: "SELECT schema_version, size, CAST(seed AS CHAR) FROM stithy_meta \
             WHERE workload = ?",
        create_marks: "CREATE TABLE stithy_transaction_mark (marked_at DATETIME(6) NOT NULL, \
             user_number INT NOT NULL, PRIMARY KEY (marked_at)) ENGINE = InnoDB",
        marks_by_date: "SELECT TIMESTAMPDIFF(MICROSECOND, '2000-01-01', marked_at), user_number \
             FROM stithy_transaction_mark WHERE marked_at BETWEEN '2000-01-01' + INTERVAL ? MICROSECOND \
             AND '2000-01-01' + INTERVAL ? MICROSECOND ORDER BY 1",
        create_table: "CREATE TABLE sbtest{n} (id INTEGER NOT NULL AUTO_INCREMENT, \
             k INTEGER DEFAULT 0 NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
        key_index: None,
        finish_table: &[],
        duplicate_key: "1062",
        tables_max: 5_000,
        parameter: |_| "?".into(),
        words: &[],
    };
}
