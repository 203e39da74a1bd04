//! Brokerage on each engine, a folder for each: its statements, and how its transactions go through them.

/// Texts that engines share but for the mark of their parameters, and what stands before and behind a number of rows.
macro_rules! common {
    (customer, $mark:literal) => {
        [
            concat!("SELECT * FROM customer WHERE c_id = ", $mark, "1"),
            concat!("SELECT * FROM customer WHERE c_tax_id = ", $mark, "1"),
        ]
    };
    (position, $mark:literal) => {
        common!(position, $mark, "LIMIT", "")
    };
    (position, $mark:literal, $limit:literal, $rows:literal) => {
        [
            concat!("SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS assets \
               FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id \
               LEFT JOIN last_trade ON lt_s_symb = hs_s_symb \
              WHERE ca_c_id = ", $mark, "1 GROUP BY ca_id, ca_bal ORDER BY 3, 1 ", $limit, " 10 ", $rows),
            concat!("SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS assets \
               FROM customer JOIN customer_account ON ca_c_id = c_id LEFT JOIN holding_summary ON hs_ca_id = ca_id \
               LEFT JOIN last_trade ON lt_s_symb = hs_s_symb \
              WHERE c_tax_id = ", $mark, "1 GROUP BY ca_id, ca_bal ORDER BY 3, 1 ", $limit, " 10 ", $rows),
        ]
    };
    (security_detail, $mark:literal) => {
        common!(security_detail, $mark, "LIMIT", "")
    };
    (security_detail, $mark:literal, $limit:literal, $rows:literal) => {
        [
            concat!("SELECT s_name, s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high, s_52wk_low, s_dividend, s_yield, \
                    co_id, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id, a.ad_line1, a.ad_line2, \
                    z.zc_town, z.zc_div, a.ad_zc_code, a.ad_ctry, ex_name, ex_desc, ex_num_symb, ex_open, ex_close, \
                    e.ad_line1, e.ad_line2, y.zc_town, y.zc_div, e.ad_zc_code, e.ad_ctry \
               FROM security JOIN company ON co_id = s_co_id JOIN address AS a ON a.ad_id = co_ad_id \
               JOIN zip_code AS z ON z.zc_code = a.ad_zc_code JOIN exchange ON ex_id = s_ex_id \
               JOIN address AS e ON e.ad_id = ex_ad_id JOIN zip_code AS y ON y.zc_code = e.ad_zc_code WHERE s_symb = ", $mark, "1"),
            concat!("SELECT co_name, in_name FROM security JOIN company_competitor ON cp_co_id = s_co_id \
               JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id \
              WHERE s_symb = ", $mark, "1 ORDER BY co_id ", $limit, " 3 ", $rows),
            concat!("SELECT financial.* FROM security JOIN financial ON fi_co_id = s_co_id \
              WHERE s_symb = ", $mark, "1 ORDER BY fi_year, fi_qtr ", $limit, " 20 ", $rows),
            concat!("SELECT lt_price, lt_open_price, lt_vol FROM last_trade WHERE lt_s_symb = ", $mark, "1"),
        ]
    };
    (news, $mark:literal) => {
        common!(news, $mark, "LIMIT", "")
    };
    (news, $mark:literal, $limit:literal, $rows:literal) => {
        [
            concat!("SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary FROM security \
               JOIN news_xref ON nx_co_id = s_co_id JOIN news_item ON ni_id = nx_ni_id \
              WHERE s_symb = ", $mark, "1 ORDER BY ni_id ", $limit, " 2 ", $rows),
            concat!("SELECT ni_item, ni_dts, ni_source, ni_author FROM security \
               JOIN news_xref ON nx_co_id = s_co_id JOIN news_item ON ni_id = nx_ni_id \
              WHERE s_symb = ", $mark, "1 ORDER BY ni_id ", $limit, " 2 ", $rows),
        ]
    };
}

/// What creates the procedures of an engine that cannot replace one, from files of its own.
macro_rules! procedures {
    () => {
        &[
            "DROP PROCEDURE IF EXISTS trade_order",
            include_str!("procedures/trade_order.sql"),
            "DROP PROCEDURE IF EXISTS trade_result",
            include_str!("procedures/trade_result.sql"),
            "DROP PROCEDURE IF EXISTS market_feed",
            include_str!("procedures/market_feed.sql"),
            "DROP PROCEDURE IF EXISTS trade_update",
            include_str!("procedures/trade_update.sql"),
        ]
    };
}

mod mysql;
mod postgresql;
mod sqlite;
mod sqlserver;

use std::future::Future;

pub use mysql::OnMySql;
pub use postgresql::OnPostgresql;
pub use sqlite::OnSqlite;
pub use sqlserver::OnSqlServer;

use super::input::Input;
use super::population::Population;
use super::schema::Dialect;
use super::transactions::Texts;
use crate::engines::{Session, SessionError};

/// Brokerage on one engine.
pub trait Pair: Send + Sync + 'static {
    /// What is said to the engine.
    const STATEMENTS: &'static Statements;
    /// How its transactions are done.
    type Transactions: Transactions;
    /// Whether procedures begin and end their transactions themselves, with all that these read: what comes behind a
    /// call would be a wait of its own.
    const CALLS_COMMIT: bool = false;
}

/// What a transaction showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Whether it was rolled back as it should be.
    pub rolled_back: bool,
    /// Hundredths: the price with which an order was sent.
    pub price_cents: i64,
    /// Orders whose limits a feed has reached.
    pub reached: Vec<i64>,
}

/// How the transactions are done on one engine: the prepared statements of a session, and the steps through them.
pub trait Transactions: Clone + Send + Sync + 'static {
    /// Prepares the statements of a session.
    fn prepare(
        session: &mut impl Session,
    ) -> impl Future<Output = Result<Self, SessionError>> + Send;

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    fn act(
        &self,
        session: &mut impl Session,
        population: &Population,
        input: &Input,
        date_us: i64,
    ) -> impl Future<Output = Result<Shown, SessionError>> + Send;
}

/// What brokerage says to one engine.
pub struct Statements {
    /// How it is told of tables.
    pub dialect: Dialect,
    /// Creates the table of one row that says what was loaded.
    pub create_meta: &'static str,
    /// Writes that row: workload, version, units, size and seed as text.
    pub write_meta: &'static str,
    /// Reads it for a workload: version, size and seed as text.
    pub read_meta: &'static str,
    /// What is created after loading: procedures.
    pub created_last: &'static [&'static str],
    /// What its transactions say.
    pub texts: Texts,
    /// Gives the rows that break each consistency condition.
    pub conditions: [&'static str; CONDITIONS.len()],
    /// What the common text of conditions calls otherwise than the engine, each with the engine's own.
    pub words: &'static [(&'static str, &'static str)],
    /// Cancels, in one transaction, the orders that were left open.
    pub clean_up: &'static [&'static str],
    /// Of orders, results and feeds with numbers within two bounds: the number, three integers, symbol and type.
    pub kept: [&'static str; 3],
    /// How many trades brokers have completed.
    pub completed: &'static str,
    /// How many of a list of trades are settled.
    pub completed_of: &'static str,
}

/// The conditions in common SQL, in their order.
pub const CONDITIONS: [&str; 16] = [
    include_str!("conditions/01.sql"),
    include_str!("conditions/02.sql"),
    include_str!("conditions/03.sql"),
    include_str!("conditions/04.sql"),
    include_str!("conditions/05.sql"),
    include_str!("conditions/06.sql"),
    include_str!("conditions/07.sql"),
    include_str!("conditions/08.sql"),
    include_str!("conditions/09.sql"),
    include_str!("conditions/10.sql"),
    include_str!("conditions/11.sql"),
    include_str!("conditions/12.sql"),
    include_str!("conditions/13.sql"),
    include_str!("conditions/14.sql"),
    include_str!("conditions/15.sql"),
    include_str!("conditions/16.sql"),
];
