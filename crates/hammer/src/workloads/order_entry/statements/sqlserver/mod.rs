//! The SQL of order entry for SQL Server. Each procedure is a transaction of its own, which an error ends
//! (`XACT_ABORT`). Joins are forced to look up one row after the other, whatever parameters a plan was made for.
//! Times are microseconds since the start of 2000, UTC, where a statement gives a number; `DATEADD` takes
//! them in two parts.
//!
//! Where a read precedes a write, it locks the row (`UPDLOCK`), so that versions change nothing; other writes
//! are relative.

mod steps;

use super::{ExecutionMode, Modes, Pair, Statements, CONDITIONS_WITH_CONCAT};
use crate::error::HammerError;
use crate::workloads::order_entry::options::Options;
use crate::workloads::order_entry::plain::Steps;
use crate::workloads::order_entry::procedures::{Calls, Lines, Transaction};

/// Order entry on SQL Server.
pub struct OnSqlServer;

impl Pair for OnSqlServer {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = ExecutionMode<Self>;

    fn refuse_misfit(_: &Options) -> Result<(), HammerError> {
        Ok(())
    }
}

impl Modes for OnSqlServer {
    const CALLS: &'static Calls = &CALLS;
    const STEPS: &'static Steps = &steps::STEPS;
}

const STATEMENTS: Statements = Statements {
    create_meta: include_str!("tables/stithy_meta.sql"),
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, seed, c_last_load, \
         data_compressible_percent, data_duplicate_percent) VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7)",
    read_meta: "SELECT schema_version, units, CAST(seed AS VARCHAR(20)), c_last_load FROM stithy_meta \
         WHERE workload = @p1",
    tables: tables!(),
    created_last: &[
        "DROP PROCEDURE IF EXISTS do_new_order",
        include_str!("procedures/new_order.sql"),
        "DROP PROCEDURE IF EXISTS do_payment",
        include_str!("procedures/payment.sql"),
        "DROP PROCEDURE IF EXISTS do_order_status",
        include_str!("procedures/order_status.sql"),
        "DROP PROCEDURE IF EXISTS do_delivery",
        include_str!("procedures/delivery.sql"),
        "DROP PROCEDURE IF EXISTS do_stock_level",
        include_str!("procedures/stock_level.sql"),
    ],
    reads: READS,
    conditions: CONDITIONS_WITH_CONCAT,
    // 2016 has no CONCAT_WS; Babelfish's CONCAT gives a TEXT.
    words: &[("CONCAT_WS('', ", "'' + CONCAT(")],
    orders_by_date: "SELECT DATEDIFF_BIG(microsecond, '2000-01-01', o_entry_d), o_d_id, o_w_id, o_id, 0 \
         FROM orders \
         WHERE o_entry_d >= DATEADD(microsecond, @p1 % 1000000, \
         DATEADD(second, @p1 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) \
         AND o_entry_d <= DATEADD(microsecond, @p2 % 1000000, \
         DATEADD(second, @p2 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) ORDER BY 1",
    payments_by_date: "SELECT DATEDIFF_BIG(microsecond, '2000-01-01', h_date), h_d_id, h_w_id, 0, \
         CAST(h_amount * 100 AS INT) FROM history \
         WHERE h_date >= DATEADD(microsecond, @p1 % 1000000, \
         DATEADD(second, @p1 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) \
         AND h_date <= DATEADD(microsecond, @p2 % 1000000, \
         DATEADD(second, @p2 / 1000000, CAST('2000-01-01' AS DATETIME2(6)))) ORDER BY 1",
    order_numbers: "SELECT SUM(CAST(d_next_o_id AS BIGINT)) FROM district",
    present_orders: "SELECT COUNT(*) FROM OPENJSON(@p1) AS warehouses \
         JOIN OPENJSON(@p2) AS districts ON districts.[key] = warehouses.[key] \
         JOIN OPENJSON(@p3) AS dates ON dates.[key] = warehouses.[key] \
         JOIN orders ON o_w_id = CAST(warehouses.value AS INT) \
         AND o_d_id = CAST(districts.value AS SMALLINT) \
         AND o_entry_d = DATEADD(microsecond, CAST(dates.value AS BIGINT) % 1000000, \
         DATEADD(second, CAST(dates.value AS BIGINT) / 1000000, CAST('2000-01-01' AS DATETIME2(6))))",
};

/// A table may have the name of no procedure.
const CALLS: Calls = Calls {
    texts: [
        "EXEC do_new_order @p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9",
        "EXEC do_payment @p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8",
        "EXEC do_order_status @p1, @p2, @p3, @p4",
        "EXEC do_delivery @p1, @p2, @p3",
        "EXEC do_stock_level @p1, @p2, @p3",
    ],
    lines: Lines::Json,
    transaction: Transaction::OfTheProcedure,
};

const READS: [&str; 7] = [
    "SELECT w_ytd, d_next_o_id FROM warehouse JOIN district ON d_w_id = w_id \
      WHERE w_id = @p1 AND d_id = @p2",
    "SELECT c_balance FROM customer WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_id = @p3",
    "SELECT c_balance FROM customer WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_last = @p3",
    "SELECT i_price, s_quantity FROM OPENJSON(@p1) AS line \
      JOIN OPENJSON(@p2) AS supply ON supply.[key] = line.[key] \
      JOIN item ON i_id = CAST(line.value AS INT) \
      JOIN stock ON s_w_id = CAST(supply.value AS INT) AND s_i_id = i_id",
    "SELECT ol_amount FROM order_line WHERE ol_w_id = @p1 AND ol_d_id = @p2 AND ol_o_id = \
      (SELECT TOP (1) o_id FROM orders WHERE o_w_id = @p1 AND o_d_id = @p2 AND o_c_id = @p3 \
        ORDER BY o_id DESC)",
    "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = @p1 AND no_d_id = @p2",
    "SELECT COUNT(s_quantity) FROM order_line JOIN stock ON s_w_id = @p1 AND s_i_id = ol_i_id \
      WHERE ol_w_id = @p1 AND ol_d_id = @p2 AND ol_o_id >= \
      (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = @p1 AND d_id = @p2) \
      OPTION (LOOP JOIN, FORCE ORDER)",
];
