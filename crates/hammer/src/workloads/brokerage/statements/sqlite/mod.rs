//! The SQL of brokerage for SQLite, which has neither procedures nor decimals: amounts are integers in hundredths,
//! tax rates in ten-thousandths, days and microseconds are counted from the start of 2000.

mod steps;

use super::{Pair, Statements};
use crate::workloads::brokerage::plain::Plain;
use crate::workloads::brokerage::schema::Dialect;
use crate::workloads::brokerage::transactions::Texts;

/// Now, in microseconds since the start of 2000.
macro_rules! now {
    () => {
        "CAST((unixepoch('subsec') - 946684800) * 1000000 AS INTEGER)"
    };
}

/// Brokerage on SQLite.
pub struct OnSqlite;

impl Pair for OnSqlite {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = Plain<Self>;
}

const STATEMENTS: Statements = Statements {
    dialect: Dialect {
        types: &[
            ("id", "INTEGER"),
            ("flag", "INTEGER"),
            ("quantity", "INTEGER"),
            ("count", "INTEGER"),
            ("price", "INTEGER"),
            ("value", "INTEGER"),
            ("balance", "INTEGER"),
            ("total", "INTEGER"),
            ("percent", "INTEGER"),
            ("rate", "INTEGER"),
            ("date", "INTEGER"),
            ("moment", "INTEGER"),
            ("bytes", "TEXT"),
        ],
        text: "TEXT",
        clustered: true,
        alter: None,
        table_end: " STRICT, WITHOUT ROWID",
        partial_indexes: true,
        key: &[],
    },
    create_meta: "CREATE TABLE stithy_meta (workload TEXT NOT NULL, schema_version INTEGER NOT NULL, \
         units INTEGER NOT NULL, size TEXT NOT NULL, seed TEXT NOT NULL) STRICT",
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    read_meta: "SELECT schema_version, size, seed FROM stithy_meta WHERE workload = ?1",
    created_last: &[],
    texts: TEXTS,
    conditions: super::CONDITIONS,
    words: &[
        ("sum(commission))", "sum(commission) / 100.0)"),
        ("T_TRADE_PRICE ', t_trade_price", "T_TRADE_PRICE ', t_trade_price / 100.0"),
        ("CT_AMT ', ct_amt", "CT_AMT ', ct_amt / 100.0"),
        ("SE_AMT ', se_amt", "SE_AMT ', se_amt / 100.0"),
        ("sum(amount))", "sum(amount) / 100.0)"),
        ("100000.00", "10000000"),
        ("T_TAX ', t_tax", "T_TAX ', t_tax / 100.0"),
        ("T_COMM ', t_comm, ', rate ', cr_rate", "T_COMM ', t_comm / 100.0, ', rate ', cr_rate / 100.0"),
        (
            "round(cr_rate * t_qty * t_trade_price / 100, 2)",
            "(cr_rate * t_qty * t_trade_price + 5000) / 10000",
        ),
    ],
    clean_up: &[
        concat!("INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT tr_t_id, ", now!(), ", 'SBMT' FROM trade_request"),
        concat!(
            "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, max(", now!(),
            ", (SELECT max(th_dts) FROM trade_history AS earlier WHERE earlier.th_t_id = t_id)) + 1, 'CNCL' \
             FROM trade WHERE t_st_id IN ('SBMT', 'PNDG')"
        ),
        "UPDATE trade SET t_st_id = 'CNCL', t_dts = \
         (SELECT th_dts FROM trade_history WHERE th_t_id = t_id AND th_st_id = 'CNCL') \
          WHERE t_st_id IN ('SBMT', 'PNDG')",
        "DELETE FROM trade_request",
    ],
    kept: [
        "SELECT t_id, t_ca_id, t_qty, t_bid_price, t_s_symb, t_tt_id FROM trade \
          WHERE t_id BETWEEN ?1 AND ?2 ORDER BY 1",
        "SELECT t_id, t_trade_price, (t_st_id = 'CMPT') + (se_t_id IS NOT NULL) + (th_t_id IS NOT NULL) \
                + ((ct_t_id IS NOT NULL) = t_is_cash), 0, '', '' \
           FROM trade LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id \
           LEFT JOIN trade_history ON th_t_id = t_id AND th_st_id = 'CMPT' \
          WHERE t_id BETWEEN ?1 AND ?2 AND (t_st_id = 'CMPT' OR se_t_id IS NOT NULL OR ct_t_id IS NOT NULL \
                OR th_t_id IS NOT NULL) ORDER BY 1",
        "SELECT th_t_id, th_dts, 0, 0, '', '' \
           FROM trade_history JOIN trade ON t_id = th_t_id JOIN trade_type ON tt_id = t_tt_id \
          WHERE th_t_id BETWEEN ?1 AND ?2 AND th_st_id = 'SBMT' AND tt_is_mrkt = 0 ORDER BY 1",
    ],
    completed: "SELECT sum(b_num_trades) FROM broker",
    completed_of: "SELECT count(*) FROM settlement WHERE se_t_id IN (SELECT value FROM json_each(?1))",
};

/// What a list holds is worth more than on a day, per cent; its parameter is the second.
macro_rules! gain {
    ($from:literal, $where:literal) => {
        concat!(
            "SELECT coalesce(100.0 * sum(s_num_out * lt_price) / nullif(sum(s_num_out * dm_close), 0) - 100, 0) FROM ",
            $from,
            " JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ?2 WHERE ",
            $where
        )
    };
}

/// What the trades of a lookup are, behind which the parameters of its frame stand.
macro_rules! frames {
    ($start:literal, $end:literal) => {
        [
            concat!($start, "(SELECT value FROM json_each(?1))", $end),
            concat!(
                $start,
                "(SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
            concat!(
                $start,
                "(SELECT t_id FROM trade WHERE t_s_symb = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
        ]
    };
}

const TEXTS: Texts = Texts {
    broker_volume: "SELECT b_name, sum(tr_qty * tr_bid_price) AS volume \
           FROM broker JOIN trade_request ON tr_b_id = b_id JOIN security ON s_symb = tr_s_symb \
           JOIN company ON co_id = s_co_id JOIN industry ON in_id = co_in_id JOIN sector ON sc_id = in_sc_id \
          WHERE b_name IN (SELECT value FROM json_each('[\"' || replace(?1, ',', '\",\"') || '\"]')) AND sc_name = ?2 \
          GROUP BY b_name ORDER BY 2 DESC, 1",
    customer: common!(customer, "?"),
    position: common!(position, "?"),
    position_history: "SELECT t_id, t_s_symb, t_qty, st_name, th_dts \
           FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 10) \
                AS latest JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id \
          ORDER BY th_dts DESC, t_id, th_st_id LIMIT 30",
    market_watch: [
        gain!("watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb", "wl_c_id = ?1"),
        gain!("holding_summary JOIN security ON s_symb = hs_s_symb", "hs_ca_id = ?1"),
        gain!(
            "industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id",
            "in_name = ?1 AND co_id BETWEEN ?3 AND ?4"
        ),
    ],
    security_detail: common!(security_detail, "?"),
    daily: "SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market \
          WHERE dm_s_symb = ?1 AND dm_date >= ?2 ORDER BY dm_date LIMIT ?3",
    news: common!(news, "?"),
    trades: frames!(
        "SELECT t_id, t_ca_id, t_tt_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price, tt_name, tt_is_mrkt, \
                se_amt, se_cash_due_date, se_cash_type, ct_amt, ct_dts, ct_name FROM trade \
           JOIN trade_type ON tt_id = t_tt_id LEFT JOIN settlement ON se_t_id = t_id \
           LEFT JOIN cash_transaction ON ct_t_id = t_id WHERE t_id IN ",
        " ORDER BY t_dts, t_id"
    ),
    histories: frames!(
        "SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id IN ",
        " ORDER BY th_t_id, th_dts, th_st_id"
    ),
    holdings: "SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history WHERE hh_h_t_id IN \
         (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = \
         (SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 1)) \
          ORDER BY hh_h_t_id, hh_t_id LIMIT 20",
    status: [
        "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name \
           FROM (SELECT * FROM trade WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 50) AS latest \
           JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id \
           JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id ORDER BY t_dts DESC, t_id DESC",
        "SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id \
           JOIN broker ON b_id = ca_b_id WHERE ca_id = ?1",
    ],
    // LIKE takes no notice of case.
    updates: [
        "UPDATE trade SET t_exec_name = CASE WHEN instr(t_exec_name, ' X ') THEN replace(t_exec_name, ' X ', ' ') \
                ELSE replace(t_exec_name, ' ', ' X ') END WHERE t_id IN (SELECT value FROM json_each(?1))",
        "UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' \
                WHEN 'Cash' THEN 'Cash Account' WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END \
          WHERE se_t_id IN \
                (SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
        "UPDATE cash_transaction SET ct_name = CASE WHEN instr(ct_name, ' shares of ') \
                THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END \
          WHERE ct_t_id IN \
                (SELECT t_id FROM trade WHERE t_s_symb = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
    ],
    upkeep: [
        "UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '0000' THEN '0011' ELSE '0000' END \
          WHERE ap_ca_id = ?1 AND ap_tax_id = (SELECT min(ap_tax_id) FROM account_permission WHERE ap_ca_id = ?1)",
        "UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Upper Floor' THEN 'Lower Floor' ELSE 'Upper Floor' END \
          WHERE ad_id = ?1",
        "UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'A1+' THEN 'C2+' ELSE 'A1+' END WHERE co_id = ?1",
        "UPDATE customer SET c_email_2 = CASE WHEN instr(c_email_2, '@post.example') \
                THEN replace(c_email_2, '@post.example', '@mail.example') \
                ELSE replace(c_email_2, '@mail.example', '@post.example') END WHERE c_id = ?1",
        "UPDATE customer_taxrate SET cx_tx_id = CASE cx_tx_id WHEN 'FA5' THEN 'FA1' WHEN 'SB4' THEN 'SB1' \
                ELSE substr(cx_tx_id, 1, 2) || (substr(cx_tx_id, 3, 1) + 1) END \
          WHERE cx_c_id = ?1 AND substr(cx_tx_id, 1, 2) IN ('FA', 'SB')",
        "UPDATE daily_market SET dm_vol = dm_vol + 1 \
          WHERE dm_s_symb = ?2 AND CAST(strftime('%d', '2000-01-01', dm_date || ' days') AS INTEGER) = ?1",
        "UPDATE exchange SET ex_desc = substr(ex_desc, 1, 60) || ' Checked at ' || ?1",
        "UPDATE financial SET fi_qtr_start_date = fi_qtr_start_date \
                + CASE strftime('%d', '2000-01-01', fi_qtr_start_date || ' days') WHEN '01' THEN 1 ELSE -1 END \
          WHERE fi_co_id = ?1",
        "UPDATE news_item SET ni_dts = ni_dts + 86400000000 WHERE ni_id IN \
         (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = ?1)",
        "UPDATE security SET s_exch_date = s_exch_date + 1 WHERE s_symb = ?1",
        "UPDATE taxrate SET tx_name = CASE WHEN instr(tx_name, ' Tax ') THEN replace(tx_name, ' Tax ', ' TAX ') \
                ELSE replace(tx_name, ' TAX ', ' Tax ') END WHERE tx_id = ?1",
        "UPDATE watch_item SET wi_s_symb = (SELECT min(s_symb) FROM security WHERE s_symb > wi_s_symb AND s_symb \
                NOT IN (SELECT wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = ?1)) \
          WHERE wi_wl_id = ?1 AND wi_s_symb = (SELECT wi_s_symb FROM (SELECT wi_s_symb, \
                row_number() OVER (ORDER BY wi_s_symb) AS place, count(*) OVER () AS items FROM watch_item \
                WHERE wi_wl_id = ?1) AS list WHERE place = (items + 1) / 2) \
            AND wi_s_symb < (SELECT max(s_symb) FROM security WHERE s_symb NOT IN \
                (SELECT wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = ?1))",
    ],
    steps: &steps::STEPS,
};
