//! The SQL of the workload for PostgreSQL.

use super::{Pair, Statements};

/// The workload on PostgreSQL.
pub struct OnPostgresql;

impl Pair for OnPostgresql {
    const STATEMENTS: &'static Statements = &Statements {
        create_meta: "CREATE TABLE stithy_meta (workload text NOT NULL, \
             schema_version integer NOT NULL, units bigint NOT NULL, size text NOT NULL, \
             seed numeric(20,0) NOT NULL)",
        write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
             VALUES ($1, $2, $3, $4, $5::text::numeric)",
        read_meta: "SELECT schema_version, size, seed::text FROM stithy_meta WHERE workload = $1",
        create_marks: "CREATE TABLE stithy_transaction_mark (marked_at timestamptz PRIMARY KEY, \
             user_number integer NOT NULL)",
        marks_by_date: "SELECT (extract(epoch FROM marked_at) * 1000000)::bigint - 946684800000000, \
             user_number FROM stithy_transaction_mark WHERE \
             marked_at >= timestamptz '2000-01-01 00:00:00+00' + $1::bigint * interval '1 microsecond' \
             AND \
             marked_at <= timestamptz '2000-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond' \
             ORDER BY 1",
        create_table: "CREATE TABLE sbtest{n} (id serial, k integer DEFAULT 0 NOT NULL, \
             c char(120) DEFAULT '' NOT NULL, pad char(60) DEFAULT '' NOT NULL)",
        key_index: Some("CREATE UNIQUE INDEX sbtest{n}_pkey ON sbtest{n} (id)"),
        finish_table: &[
            "ALTER TABLE sbtest{n} ADD CONSTRAINT sbtest{n}_pkey PRIMARY KEY USING INDEX sbtest{n}_pkey",
            "ALTER SEQUENCE sbtest{n}_id_seq RESTART WITH {next}",
        ],
        duplicate_key: "23505",
        tables_max: 5_000,
        parameter: |number| format!("${number}"),
        words: &[],
    };
}
