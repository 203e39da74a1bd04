//! The SQL of brokerage for MariaDB and MySQL: what both take. Parameters are numbered, as some values are used
//! twice; lists are JSON.
//!
//! InnoDB locks rows to which new ones refer, shared, and those that a change of several tables reads: so trades that
//! are to be changed are found before, without locks.

use super::{Pair, Statements};
use crate::workloads::brokerage::schema::Dialect;
use crate::workloads::brokerage::transactions::{Calls, Texts};

/// Brokerage on MariaDB and MySQL.
pub struct OnMySql;

impl Pair for OnMySql {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = Calls<Self>;
    const CALLS_COMMIT: bool = true;
}

const STATEMENTS: Statements = Statements {
    dialect: Dialect {
        types: &[
            ("id", "BIGINT"),
            ("flag", "SMALLINT"),
            ("quantity", "INT"),
            ("count", "BIGINT"),
            ("price", "DECIMAL(8,2)"),
            ("value", "DECIMAL(10,2)"),
            ("balance", "DECIMAL(12,2)"),
            ("total", "DECIMAL(15,2)"),
            ("percent", "DECIMAL(5,2)"),
            ("rate", "DECIMAL(6,5)"),
            ("date", "DATE"),
            ("moment", "DATETIME(6)"),
            // An article is longer than a BLOB.
            ("bytes", "MEDIUMBLOB"),
        ],
        text: "VARCHAR({})",
        clustered: true,
        // With checks the server would copy each table once more.
        alter: Some(["SET SESSION foreign_key_checks = 0; ALTER TABLE {table} ADD ", ", ADD "]),
        table_end: " ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
        partial_indexes: false,
        key: &[],
    },
    create_meta: "CREATE TABLE stithy_meta (workload VARCHAR(100) NOT NULL, schema_version INT NOT NULL, \
         units BIGINT NOT NULL, size VARCHAR(100) NOT NULL, seed BIGINT UNSIGNED NOT NULL, PRIMARY KEY (workload)) \
         ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) VALUES (?, ?, ?, ?, ?)",
    read_meta: "SELECT schema_version, size, CAST(seed AS CHAR) FROM stithy_meta WHERE workload = ?",
    // `CREATE OR REPLACE PROCEDURE` is MariaDB's only.
    created_last: procedures!(),
    texts: TEXTS,
    conditions: super::CONDITIONS,
    words: &[
        // Of a text with null nothing is left otherwise.
        ("concat(", "concat_ws('', "),
        // In the order of accounts trades would be read one by one.
        (
            "FROM trade JOIN customer_account ON ca_id = t_ca_id\n    WHERE",
            "FROM trade STRAIGHT_JOIN customer_account ON ca_id = t_ca_id\n    WHERE",
        ),
        ("FROM settlement JOIN", "FROM settlement STRAIGHT_JOIN"),
    ],
    clean_up: &[
        // Not before what the driver, whose clock may be another, has dated last.
        "SET @now = NOW(6)",
        "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) \
         SELECT t_id, GREATEST(CAST(@now AS DATETIME(6)), t_dts), 'SBMT' FROM trade_request JOIN trade ON t_id = tr_t_id",
        "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) \
         SELECT t_id, GREATEST(CAST(@now AS DATETIME(6)), t_dts) + INTERVAL 1 MICROSECOND, 'CNCL' \
           FROM trade WHERE t_st_id IN ('SBMT', 'PNDG')",
        "UPDATE trade SET t_dts = GREATEST(CAST(@now AS DATETIME(6)), t_dts) + INTERVAL 1 MICROSECOND, t_st_id = 'CNCL' \
          WHERE t_st_id IN ('SBMT', 'PNDG')",
        "DELETE FROM trade_request",
    ],
    kept: [
        "SELECT t_id, t_ca_id, t_qty, CAST(t_bid_price * 100 AS SIGNED), t_s_symb, t_tt_id FROM trade \
          WHERE t_id BETWEEN ?1 AND ?2 ORDER BY 1",
        "SELECT t_id, CAST(t_trade_price * 100 AS SIGNED), (t_st_id = 'CMPT') + (se_t_id IS NOT NULL) \
                + (th_t_id IS NOT NULL) + ((ct_t_id IS NOT NULL) = (t_is_cash = 1)), 0, '', '' \
           FROM trade LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id \
           LEFT JOIN trade_history ON th_t_id = t_id AND th_st_id = 'CMPT' \
          WHERE t_id BETWEEN ?1 AND ?2 AND (t_st_id = 'CMPT' OR se_t_id IS NOT NULL OR ct_t_id IS NOT NULL \
                OR th_t_id IS NOT NULL) ORDER BY 1",
        "SELECT th_t_id, TIMESTAMPDIFF(MICROSECOND, '2000-01-01', th_dts), 0, 0, '', '' \
           FROM trade_history JOIN trade ON t_id = th_t_id JOIN trade_type ON tt_id = t_tt_id \
          WHERE th_t_id BETWEEN ?1 AND ?2 AND th_st_id = 'SBMT' AND tt_is_mrkt = 0 ORDER BY 1",
    ],
    completed: "SELECT CAST(SUM(b_num_trades) AS SIGNED) FROM broker",
    completed_of: "SELECT COUNT(*) FROM JSON_TABLE(?1, '$[*]' COLUMNS (id BIGINT PATH '$')) AS sent \
         STRAIGHT_JOIN settlement ON se_t_id = sent.id",
};

/// What the trades of a lookup are: of numbers, of an account, of a security.
macro_rules! frames {
    ($start:literal, $end:literal) => {
        [
            concat!($start, "JSON_TABLE(?1, '$[*]' COLUMNS (id BIGINT PATH '$'))", $end),
            concat!(
                $start,
                "(SELECT t_id AS id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
            concat!(
                $start,
                "(SELECT t_id AS id FROM trade WHERE t_s_symb = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
        ]
    };
}

const TEXTS: Texts = Texts {
    broker_volume: "SELECT b_name, SUM(tr_qty * tr_bid_price) AS volume \
           FROM trade_request JOIN broker ON b_id = tr_b_id JOIN security ON s_symb = tr_s_symb \
           JOIN company ON co_id = s_co_id JOIN industry ON in_id = co_in_id JOIN sector ON sc_id = in_sc_id \
          WHERE FIND_IN_SET(b_name, ?1) AND sc_name = ?2 GROUP BY b_name ORDER BY 2 DESC, 1",
    customer: common!(customer, "?"),
    position: common!(position, "?"),
    position_history: "SELECT t_id, t_s_symb, t_qty, st_name, th_dts \
           FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 10) \
                AS latest STRAIGHT_JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id \
          ORDER BY th_dts DESC, t_id, th_st_id LIMIT 30",
    market_watch: [
        "SELECT COALESCE(100 * (SUM(s_num_out * lt_price) / NULLIF(SUM(s_num_out * dm_close), 0) - 1), 0) \
           FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb \
           JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = DATE'2000-01-01' + INTERVAL ?2 DAY WHERE wl_c_id = ?1",
        "SELECT COALESCE(100 * (SUM(s_num_out * lt_price) / NULLIF(SUM(s_num_out * dm_close), 0) - 1), 0) \
           FROM holding_summary JOIN security ON s_symb = hs_s_symb JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = DATE'2000-01-01' + INTERVAL ?2 DAY WHERE hs_ca_id = ?1",
        "SELECT COALESCE(100 * (SUM(s_num_out * lt_price) / NULLIF(SUM(s_num_out * dm_close), 0) - 1), 0) \
           FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id \
           JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = DATE'2000-01-01' + INTERVAL ?2 DAY \
          WHERE in_name = ?1 AND co_id BETWEEN ?3 AND ?4",
    ],
    security_detail: common!(security_detail, "?"),
    daily: "SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market \
          WHERE dm_s_symb = ?1 AND dm_date >= DATE'2000-01-01' + INTERVAL ?2 DAY ORDER BY dm_date LIMIT ?3",
    news: common!(news, "?"),
    trades: frames!(
        "SELECT t_id, t_ca_id, t_tt_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price, tt_name, tt_is_mrkt, \
                se_amt, se_cash_due_date, se_cash_type, ct_amt, ct_dts, ct_name FROM ",
        " AS found STRAIGHT_JOIN trade ON t_id = id JOIN trade_type ON tt_id = t_tt_id \
          LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id ORDER BY t_dts, t_id"
    ),
    histories: frames!(
        "SELECT th_t_id, th_dts, th_st_id FROM ",
        " AS found STRAIGHT_JOIN trade_history ON th_t_id = id ORDER BY th_t_id, th_dts, th_st_id"
    ),
    holdings: "SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM (SELECT DISTINCT hh_h_t_id AS id \
           FROM holding_history WHERE hh_t_id = \
           (SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 1)) AS found \
         STRAIGHT_JOIN holding_history ON hh_h_t_id = id ORDER BY hh_h_t_id, hh_t_id LIMIT 20",
    status: [
        "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name \
           FROM (SELECT * FROM trade WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 50) AS latest \
           JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id \
           JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id ORDER BY t_dts DESC, t_id DESC",
        "SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id \
           JOIN broker ON b_id = ca_b_id WHERE ca_id = ?1",
    ],
    updates: [
        "CALL trade_update(?1, NULL, NULL, NULL)",
        "CALL trade_update(NULL, ?1, NULL, ?2)",
        "CALL trade_update(NULL, NULL, ?1, ?2)",
    ],
    upkeep: [
        "UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '0000' THEN '0011' ELSE '0000' END \
          WHERE ap_ca_id = ?1 ORDER BY ap_tax_id LIMIT 1",
        "UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Upper Floor' THEN 'Lower Floor' ELSE 'Upper Floor' END \
          WHERE ad_id = ?1",
        "UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'A1+' THEN 'C2+' ELSE 'A1+' END WHERE co_id = ?1",
        "UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@post.example' \
                THEN REPLACE(c_email_2, '@post.example', '@mail.example') \
                ELSE REPLACE(c_email_2, '@mail.example', '@post.example') END WHERE c_id = ?1",
        "UPDATE customer_taxrate SET cx_tx_id = CASE cx_tx_id WHEN 'FA5' THEN 'FA1' WHEN 'SB4' THEN 'SB1' \
                ELSE CONCAT(LEFT(cx_tx_id, 2), CAST(SUBSTR(cx_tx_id, 3, 1) AS SIGNED) + 1) END \
          WHERE cx_c_id = ?1 AND (cx_tx_id LIKE 'FA%' OR cx_tx_id LIKE 'SB%')",
        "UPDATE daily_market SET dm_vol = dm_vol + 1 WHERE dm_s_symb = ?2 AND DAYOFMONTH(dm_date) = ?1",
        "UPDATE exchange SET ex_desc = CONCAT(LEFT(ex_desc, 60), ' Checked at ', ?1)",
        "UPDATE financial SET fi_qtr_start_date = fi_qtr_start_date \
                + INTERVAL CASE DAYOFMONTH(fi_qtr_start_date) WHEN 1 THEN 1 ELSE -1 END DAY WHERE fi_co_id = ?1",
        "UPDATE news_xref STRAIGHT_JOIN news_item ON ni_id = nx_ni_id SET ni_dts = ni_dts + INTERVAL 1 DAY \
          WHERE nx_co_id = ?1",
        "UPDATE security SET s_exch_date = s_exch_date + INTERVAL 1 DAY WHERE s_symb = ?1",
        "UPDATE taxrate SET tx_name = CASE WHEN tx_name LIKE '% Tax %' THEN REPLACE(tx_name, ' Tax ', ' TAX ') \
                ELSE REPLACE(tx_name, ' TAX ', ' Tax ') END WHERE tx_id = ?1",
        // A limit keeps the server from reading and changing the list at once.
        "UPDATE (SELECT middle, (SELECT MIN(s_symb) FROM security WHERE s_symb > middle AND s_symb NOT IN \
                  (SELECT wi_s_symb FROM watch_item WHERE wi_wl_id = ?1)) AS after_it \
             FROM (SELECT wi_s_symb AS middle, ROW_NUMBER() OVER (ORDER BY wi_s_symb) AS place, \
                          COUNT(*) OVER () AS items FROM watch_item WHERE wi_wl_id = ?1) AS list \
            WHERE place = (items + 1) DIV 2 LIMIT 1) AS moved \
         STRAIGHT_JOIN watch_item ON wi_wl_id = ?1 AND wi_s_symb = middle \
           SET wi_s_symb = after_it WHERE after_it IS NOT NULL",
    ],
    steps: &[
        "CALL trade_order(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        "CALL trade_result(?1, ?2, ?3)",
        "CALL market_feed(?1, ?2, ?3, ?4)",
    ],
};
