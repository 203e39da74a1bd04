//! The SQL of the workload for SQL Server, for which sysbench has none: as for the others. Numbers come from a
//! sequence, not an `IDENTITY`: a row that was deleted is inserted with its number again.

use super::{Pair, Statements};

/// The workload on SQL Server.
pub struct OnSqlServer;

impl Pair for OnSqlServer {
    const STATEMENTS: &'static Statements = &Statements {
        create_meta: "CREATE TABLE stithy_meta (workload VARCHAR(100) NOT NULL, \
             schema_version INT NOT NULL, units BIGINT NOT NULL, size VARCHAR(100) NOT NULL, \
             seed DECIMAL(20,0) NOT NULL, PRIMARY KEY CLUSTERED (workload))",
        write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
             VALUES (@p1, @p2, @p3, @p4, @p5)",
        read_meta: "SELECT schema_version, size, CAST(seed AS VARCHAR(20)) FROM stithy_meta \
             WHERE workload = @p1",
        create_marks: "CREATE TABLE stithy_transaction_mark (marked_at DATETIME2(6) NOT NULL, \
             user_number INT NOT NULL, PRIMARY KEY CLUSTERED (marked_at))",
        marks_by_date: "SELECT DATEDIFF_BIG(microsecond, '2000-01-01', marked_at), user_number \
             FROM stithy_transaction_mark WHERE marked_at BETWEEN DATEADD(microsecond, @p1 % 1000000, \
             DATEADD(second, @p1 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) \
             AND DATEADD(microsecond, @p2 % 1000000, \
             DATEADD(second, @p2 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) ORDER BY 1",
        create_table: "DROP SEQUENCE IF EXISTS sbtest{n}_id; \
             CREATE SEQUENCE sbtest{n}_id AS INT START WITH 1 INCREMENT BY 1 CACHE 1000; \
             CREATE TABLE sbtest{n} (id INT NOT NULL DEFAULT NEXT VALUE FOR sbtest{n}_id, \
             k INT DEFAULT 0 NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY CLUSTERED (id))",
        key_index: None,
        finish_table: &["ALTER SEQUENCE sbtest{n}_id RESTART WITH {next}"],
        duplicate_key: "2627",
        tables_max: 5_000,
        parameter: |number| format!("@p{number}"),
        words: &[("length(", "LEN("), ("SUM(k)", "SUM(CAST(k AS BIGINT))")],
    };
}
