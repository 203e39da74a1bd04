//! The SQL of order entry for MariaDB and MySQL: what both take. Parameters are numbered, as some values
//! are used twice. Times are microseconds since the start of 2000, UTC, where a statement gives a number.
//!
//! An unsuccessful read that locks also locks the gap where the next row would come, but under READ
//! COMMITTED, the default; with stricter isolation a delivery holds up the orders of other districts.

mod steps;

use super::{ExecutionMode, Modes, Pair, Statements, CONDITIONS_WITH_CONCAT};
use crate::error::HammerError;
use crate::workloads::order_entry::options::Options;
use crate::workloads::order_entry::plain::Steps;
use crate::workloads::order_entry::procedures::{Calls, Lines, Transaction};

/// Order entry on MariaDB and MySQL.
pub struct OnMySql;

impl Pair for OnMySql {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = ExecutionMode<Self>;

    fn refuse_misfit(_: &Options) -> Result<(), HammerError> {
        Ok(())
    }
}

impl Modes for OnMySql {
    const CALLS: &'static Calls = &CALLS;
    const STEPS: &'static Steps = &steps::STEPS;
}

const STATEMENTS: Statements = Statements {
    create_meta: include_str!("tables/stithy_meta.sql"),
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, seed, c_last_load, \
         data_compressible_percent, data_duplicate_percent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    read_meta: "SELECT schema_version, units, CAST(seed AS CHAR), c_last_load FROM stithy_meta \
         WHERE workload = ?1",
    tables: tables!(),
    // `CREATE OR REPLACE PROCEDURE` is MariaDB's only.
    created_last: &[
        "DROP PROCEDURE IF EXISTS new_order",
        include_str!("procedures/new_order.sql"),
        "DROP PROCEDURE IF EXISTS payment",
        include_str!("procedures/payment.sql"),
        "DROP PROCEDURE IF EXISTS order_status",
        include_str!("procedures/order_status.sql"),
        "DROP PROCEDURE IF EXISTS delivery",
        include_str!("procedures/delivery.sql"),
        "DROP PROCEDURE IF EXISTS stock_level",
        include_str!("procedures/stock_level.sql"),
    ],
    reads: READS,
    conditions: CONDITIONS_WITH_CONCAT,
    words: &[],
    orders_by_date: include_str!("ledger/orders.sql"),
    payments_by_date: include_str!("ledger/payments.sql"),
    order_numbers: "SELECT CAST(SUM(d_next_o_id) AS SIGNED) FROM district",
    present_orders: include_str!("ledger/present_orders.sql"),
};

const CALLS: Calls = Calls {
    texts: [
        "CALL new_order(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        "CALL payment(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        "CALL order_status(?1, ?2, ?3, ?4)",
        "CALL delivery(?1, ?2, ?3)",
        "CALL stock_level(?1, ?2, ?3)",
    ],
    lines: Lines::Json,
    transaction: Transaction::OfTheProcedure,
};

const READS: [&str; 7] = [
    "SELECT w_ytd, d_next_o_id FROM warehouse JOIN district ON d_w_id = w_id \
      WHERE w_id = ?1 AND d_id = ?2",
    "SELECT c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
    "SELECT c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3",
    "SELECT i_price, s_quantity FROM \
      JSON_TABLE(?1, '$[*]' COLUMNS (number FOR ORDINALITY, id INT PATH '$')) AS line \
      STRAIGHT_JOIN item ON i_id = line.id \
      STRAIGHT_JOIN stock ON s_i_id = line.id \
       AND s_w_id = CAST(JSON_EXTRACT(?2, CONCAT('$[', line.number - 1, ']')) AS SIGNED)",
    "SELECT ol_amount FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = \
      (SELECT o_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 \
        ORDER BY o_id DESC LIMIT 1)",
    "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2",
    "SELECT COUNT(s_quantity) FROM order_line \
      STRAIGHT_JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
      WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= \
      (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = ?1 AND d_id = ?2)",
];
