//! Order entry on SQLite: prepared statements in one transaction each, as there are no procedures. Amounts are
//! integers in hundredths, rates in ten-thousandths, times microseconds since the start of 2000, UTC.

use super::{Pair, Statements, Transactions};
use crate::engines::{Answer, Row, Session, SessionError};
use crate::error::HammerError;
use crate::workloads::list_steps;
use crate::workloads::order_entry::input::Input;
use crate::workloads::order_entry::options::Options;
use crate::workloads::order_entry::output::Shown;
use crate::workloads::order_entry::plain::{Plain, Step, Steps};

/// Order entry on SQLite.
pub struct OnSqlite;

impl Pair for OnSqlite {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = PreparedSql;

    fn refuse_misfit(options: &Options) -> Result<(), HammerError> {
        match options.procedures {
            Some(true) => Err(HammerError::usage(
                "job-invalid",
                "workload.procedures is true, and SQLite has no procedures",
                "workload.procedures",
                "give false, or leave it out",
            )),
            _ => Ok(()),
        }
    }
}

/// The prepared statements of one session.
#[derive(Debug, Clone)]
pub struct PreparedSql(Plain);

impl Transactions for PreparedSql {
    async fn prepare(session: &mut impl Session, _: &Options) -> Result<Self, SessionError> {
        Ok(PreparedSql(Plain::prepare(session, &STEPS).await?))
    }

    async fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        self.0.act(session, input, date_us).await
    }

    /// The first value of the last batch.
    fn order_number(&self, session: &impl Session) -> Option<u32> {
        let row = session.answer().first(0)?;
        u32::try_from(row.integer(0)?).ok()
    }
}

const STATEMENTS: Statements = Statements {
    create_meta: include_str!("tables/stithy_meta.sql"),
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, seed, c_last_load, \
         data_compressible_percent, data_duplicate_percent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    read_meta:
        "SELECT schema_version, units, seed, c_last_load FROM stithy_meta WHERE workload = ?1",
    tables: tables!(),
    created_last: &[],
    reads: READS,
    conditions: conditions_with_format!(),
    words: &[],
    orders_by_date: "SELECT o_entry_d, o_d_id, o_w_id, o_id, 0 FROM orders \
         WHERE o_entry_d BETWEEN ?1 AND ?2 ORDER BY 1",
    payments_by_date: "SELECT h_date, h_d_id, h_w_id, 0, h_amount FROM history \
         WHERE h_date BETWEEN ?1 AND ?2 ORDER BY 1",
    order_numbers: "SELECT sum(d_next_o_id) FROM district",
    present_orders: "SELECT count(*) FROM json_each(?1) AS sent JOIN orders \
         ON o_w_id = sent.value AND o_d_id = json_extract(?2, '$[' || sent.key || ']') \
         AND o_entry_d = json_extract(?3, '$[' || sent.key || ']')",
};

const READS: [&str; 7] = [
    "SELECT w_ytd, d_next_o_id FROM warehouse JOIN district ON d_w_id = w_id \
      WHERE w_id = ?1 AND d_id = ?2",
    "SELECT c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
    "SELECT c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3",
    "SELECT i_price, s_quantity FROM json_each(?1) AS line \
       JOIN item ON i_id = line.value \
       JOIN stock ON s_w_id = json_extract(?2, '$[' || line.key || ']') AND s_i_id = line.value",
    "SELECT ol_amount FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = \
      (SELECT o_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 \
        ORDER BY o_id DESC LIMIT 1)",
    "SELECT min(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2",
    "SELECT count(s_quantity) FROM order_line JOIN stock ON s_w_id = ?1 AND s_i_id = ol_i_id \
      WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= \
      (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = ?1 AND d_id = ?2)",
];

const STEPS: Steps = list_steps! { Step:
    TakeNumber:
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2 \
         RETURNING d_next_o_id - 1, d_tax";
    Rates:
        "SELECT c_discount, w_tax FROM customer, warehouse \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3 AND w_id = ?1";
    Price: "SELECT i_price, i_data FROM item WHERE i_id = ?1";
    TakeStock:
        "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ?3 + 10 \
         THEN s_quantity - ?3 ELSE s_quantity - ?3 + 91 END, \
         s_ytd = s_ytd + ?3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?4 \
         WHERE s_w_id = ?1 AND s_i_id = ?2 \
         RETURNING CASE ?5 \
         WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
         WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 \
         WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 \
         ELSE s_dist_10 END, s_data";
    WriteOrder:
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING o_id";
    WriteWaiting: "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?1, ?2, ?3)";
    WriteLine:
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    FindByName:
        "SELECT c_id FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first";
    Labels:
        "SELECT w_name, d_name FROM warehouse, district \
         WHERE w_id = ?1 AND d_w_id = ?1 AND d_id = ?2";
    Pay:
        "UPDATE customer SET c_balance = c_balance - ?4, \
         c_ytd_payment = c_ytd_payment + ?4, c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE c_credit WHEN 'BC' THEN substr(format('%d %d %d %d %d %d.%02d | %s', \
         c_id, c_d_id, c_w_id, ?6, ?5, ?4 / 100, ?4 % 100, c_data), 1, 500) ELSE c_data END \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3 \
         RETURNING c_balance, c_street_1, c_street_2, c_city, c_state, c_zip";
    PayDistrict:
        "UPDATE district SET d_ytd = d_ytd + ?3 WHERE d_w_id = ?1 AND d_id = ?2 \
         RETURNING d_street_1, d_street_2, d_city, d_state, d_zip";
    PayWarehouse:
        "UPDATE warehouse SET w_ytd = w_ytd + ?2 WHERE w_id = ?1 \
         RETURNING w_street_1, w_street_2, w_city, w_state, w_zip";
    WriteHistory:
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, \
         h_data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    Balance: "SELECT c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
    LastOrder:
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
         WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1";
    Lines:
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
         FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
    TakeOldest:
        "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN \
         (SELECT ?1, district.value, (SELECT min(oldest.no_o_id) FROM new_order AS oldest \
         WHERE oldest.no_w_id = ?1 AND oldest.no_d_id = district.value) \
         FROM json_each(?2) AS district) RETURNING no_d_id, no_o_id";
    Carry:
        "UPDATE orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3 \
         RETURNING o_c_id";
    DateLines:
        "UPDATE order_line SET ol_delivery_d = ?4 \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
    Credit:
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + \
         (SELECT sum(ol_amount) FROM order_line \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?4) \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
    CountLowStock:
        "SELECT count(DISTINCT s_i_id) FROM district \
         JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id \
         AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
         JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id \
         WHERE d_w_id = ?1 AND d_id = ?2 AND s_quantity < ?3";
};
