//! The SQL of brokerage for SQL Server. Each procedure is a transaction of its own, which an error ends
//! (`XACT_ABORT`). Joins of trades are forced to look up one row after the other, whatever parameters a plan was made
//! for; lists are JSON.

use super::{Pair, Statements};
use crate::workloads::brokerage::schema::Dialect;
use crate::workloads::brokerage::transactions::{Calls, Texts};

/// Brokerage on SQL Server.
pub struct OnSqlServer;

impl Pair for OnSqlServer {
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
            ("moment", "DATETIME2(6)"),
            ("bytes", "VARBINARY(MAX)"),
        ],
        text: "VARCHAR({})",
        clustered: true,
        alter: Some(["ALTER TABLE {table} ADD ", "; ALTER TABLE {table} ADD "]),
        table_end: "",
        partial_indexes: true,
        key: &[],
    },
    create_meta: "CREATE TABLE stithy_meta (workload VARCHAR(100) NOT NULL, schema_version INT NOT NULL, \
         units BIGINT NOT NULL, size VARCHAR(100) NOT NULL, seed DECIMAL(20,0) NOT NULL, PRIMARY KEY (workload))",
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) VALUES (@p1, @p2, @p3, @p4, @p5)",
    read_meta: "SELECT schema_version, size, CAST(seed AS VARCHAR(20)) FROM stithy_meta WHERE workload = @p1",
    created_last: procedures!(),
    texts: TEXTS,
    conditions: super::CONDITIONS,
    // An INT holds no more than 2,147,483,647; Babelfish's CONCAT gives a TEXT, which has no least one.
    words: &[
        ("SELECT concat(", "SELECT '' + CONCAT("),
        ("count(*) AS settled", "COUNT_BIG(*) AS settled"),
        ("sum(b_num_trades)", "sum(CAST(b_num_trades AS BIGINT))"),
    ],
    // Not before what the driver, whose clock may be another, has dated last. A variable is of one batch.
    clean_up: &[
        "DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); \
         INSERT INTO trade_history (th_t_id, th_dts, th_st_id) \
         SELECT t_id, CASE WHEN t_dts > @now THEN t_dts ELSE @now END, 'SBMT' \
           FROM trade_request JOIN trade ON t_id = tr_t_id; \
         INSERT INTO trade_history (th_t_id, th_dts, th_st_id) \
         SELECT t_id, DATEADD(microsecond, 1, CASE WHEN t_dts > @now THEN t_dts ELSE @now END), 'CNCL' \
           FROM trade WHERE t_st_id IN ('SBMT', 'PNDG'); \
         UPDATE trade SET t_dts = DATEADD(microsecond, 1, CASE WHEN t_dts > @now THEN t_dts ELSE @now END), \
                t_st_id = 'CNCL' WHERE t_st_id IN ('SBMT', 'PNDG'); \
         DELETE FROM trade_request",
    ],
    kept: [
        "SELECT t_id, t_ca_id, t_qty, CAST(t_bid_price * 100 AS BIGINT), t_s_symb, t_tt_id FROM trade \
          WHERE t_id BETWEEN @p1 AND @p2 ORDER BY 1",
        "SELECT t_id, CAST(t_trade_price * 100 AS BIGINT), CASE t_st_id WHEN 'CMPT' THEN 1 ELSE 0 END \
                + CASE WHEN se_t_id IS NULL THEN 0 ELSE 1 END + CASE WHEN th_t_id IS NULL THEN 0 ELSE 1 END \
                + CASE WHEN t_is_cash = CASE WHEN ct_t_id IS NULL THEN 0 ELSE 1 END THEN 1 ELSE 0 END, 0, '', '' \
           FROM trade LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id \
           LEFT JOIN trade_history ON th_t_id = t_id AND th_st_id = 'CMPT' \
          WHERE t_id BETWEEN @p1 AND @p2 AND (t_st_id = 'CMPT' OR se_t_id IS NOT NULL OR ct_t_id IS NOT NULL \
                OR th_t_id IS NOT NULL) ORDER BY 1",
        "SELECT th_t_id, DATEDIFF_BIG(microsecond, '2000-01-01', th_dts), 0, 0, '', '' \
           FROM trade_history JOIN trade ON t_id = th_t_id JOIN trade_type ON tt_id = t_tt_id \
          WHERE th_t_id BETWEEN @p1 AND @p2 AND th_st_id = 'SBMT' AND tt_is_mrkt = 0 ORDER BY 1",
    ],
    completed: "SELECT SUM(CAST(b_num_trades AS BIGINT)) FROM broker",
    completed_of: "SELECT COUNT(*) FROM OPENJSON(@p1) WITH (id BIGINT '$') AS sent JOIN settlement ON se_t_id = id",
};

/// A day that the second parameter counts from the start of 2000.
macro_rules! day {
    () => {
        "DATEADD(day, @p2, CAST('2000-01-01' AS DATE))"
    };
}

/// What a list holds is worth more than on a day, per cent.
macro_rules! gain {
    ($from:literal, $where:literal) => {
        concat!(
            "SELECT COALESCE(100 * (SUM(s_num_out * lt_price) / NULLIF(SUM(s_num_out * dm_close), 0) - 1), 0) FROM ",
            $from,
            " JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ",
            day!(),
            " WHERE ",
            $where
        )
    };
}

/// What the trades of a lookup are: of numbers, of an account, of a security.
macro_rules! frames {
    ($start:literal, $end:literal) => {
        [
            concat!($start, "OPENJSON(@p1) WITH (id BIGINT '$')", $end),
            concat!(
                $start,
                "(SELECT TOP (20) t_id AS id FROM trade WHERE t_ca_id = @p1 AND t_dts >= @p2 ORDER BY t_dts, t_id)",
                $end
            ),
            concat!(
                $start,
                "(SELECT TOP (20) t_id AS id FROM trade WHERE t_s_symb = @p1 AND t_dts >= @p2 ORDER BY t_dts, t_id)",
                $end
            ),
        ]
    };
}

const TEXTS: Texts = Texts {
    broker_volume: "SELECT b_name, SUM(tr_qty * tr_bid_price) AS volume \
           FROM trade_request JOIN broker ON b_id = tr_b_id JOIN security ON s_symb = tr_s_symb \
           JOIN company ON co_id = s_co_id JOIN industry ON in_id = co_in_id JOIN sector ON sc_id = in_sc_id \
          WHERE b_name IN (SELECT value FROM STRING_SPLIT(@p1, ',')) AND sc_name = @p2 \
          GROUP BY b_name ORDER BY 2 DESC, 1",
    customer: common!(customer, "@p"),
    position: common!(position, "@p", "OFFSET 0 ROWS FETCH NEXT", "ROWS ONLY"),
    position_history: "SELECT TOP (30) t_id, t_s_symb, t_qty, st_name, th_dts \
           FROM (SELECT TOP (10) t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = @p1 ORDER BY t_dts DESC, t_id DESC) \
                AS latest JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id \
          ORDER BY th_dts DESC, t_id, th_st_id OPTION (LOOP JOIN, FORCE ORDER)",
    market_watch: [
        gain!("watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb", "wl_c_id = @p1"),
        gain!("holding_summary JOIN security ON s_symb = hs_s_symb", "hs_ca_id = @p1"),
        gain!(
            "industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id",
            "in_name = @p1 AND co_id BETWEEN @p3 AND @p4"
        ),
    ],
    security_detail: common!(security_detail, "@p", "OFFSET 0 ROWS FETCH NEXT", "ROWS ONLY"),
    daily: concat!(
        "SELECT TOP (@p3) dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market WHERE dm_s_symb = @p1 AND dm_date >= ",
        day!(),
        " ORDER BY dm_date"
    ),
    news: common!(news, "@p", "OFFSET 0 ROWS FETCH NEXT", "ROWS ONLY"),
    trades: frames!(
        "SELECT t_id, t_ca_id, t_tt_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price, tt_name, tt_is_mrkt, \
                se_amt, se_cash_due_date, se_cash_type, ct_amt, ct_dts, ct_name FROM ",
        " AS found JOIN trade ON t_id = id JOIN trade_type ON tt_id = t_tt_id \
          LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id ORDER BY t_dts, t_id \
          OPTION (LOOP JOIN, FORCE ORDER)"
    ),
    histories: frames!(
        "SELECT th_t_id, th_dts, th_st_id FROM ",
        " AS found JOIN trade_history ON th_t_id = id ORDER BY th_t_id, th_dts, th_st_id \
          OPTION (LOOP JOIN, FORCE ORDER)"
    ),
    holdings: "SELECT TOP (20) hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM (SELECT DISTINCT hh_h_t_id AS id \
           FROM holding_history WHERE hh_t_id = \
           (SELECT TOP (1) t_id FROM trade WHERE t_ca_id = @p1 AND t_dts >= @p2 ORDER BY t_dts, t_id)) AS found \
         JOIN holding_history ON hh_h_t_id = id ORDER BY hh_h_t_id, hh_t_id OPTION (LOOP JOIN, FORCE ORDER)",
    status: [
        "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name \
           FROM (SELECT TOP (50) * FROM trade WHERE t_ca_id = @p1 ORDER BY t_dts DESC, t_id DESC) AS latest \
           JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id \
           JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id ORDER BY t_dts DESC, t_id DESC \
         OPTION (LOOP JOIN, FORCE ORDER)",
        "SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id \
           JOIN broker ON b_id = ca_b_id WHERE ca_id = @p1",
    ],
    updates: [
        "EXEC trade_update @p1, NULL, NULL, NULL",
        "EXEC trade_update NULL, @p1, NULL, @p2",
        "EXEC trade_update NULL, NULL, @p1, @p2",
    ],
    upkeep: [
        "UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '0000' THEN '0011' ELSE '0000' END \
          WHERE ap_ca_id = @p1 AND ap_tax_id = (SELECT MIN(ap_tax_id) FROM account_permission WHERE ap_ca_id = @p1)",
        "UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Upper Floor' THEN 'Lower Floor' ELSE 'Upper Floor' END \
          WHERE ad_id = @p1",
        "UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'A1+' THEN 'C2+' ELSE 'A1+' END WHERE co_id = @p1",
        "UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@post.example' \
                THEN REPLACE(c_email_2, '@post.example', '@mail.example') \
                ELSE REPLACE(c_email_2, '@mail.example', '@post.example') END WHERE c_id = @p1",
        "UPDATE customer_taxrate SET cx_tx_id = CASE cx_tx_id WHEN 'FA5' THEN 'FA1' WHEN 'SB4' THEN 'SB1' \
                ELSE CONCAT(LEFT(cx_tx_id, 2), CAST(SUBSTRING(cx_tx_id, 3, 1) AS INT) + 1) END \
          WHERE cx_c_id = @p1 AND (cx_tx_id LIKE 'FA%' OR cx_tx_id LIKE 'SB%')",
        "UPDATE daily_market SET dm_vol = dm_vol + 1 WHERE dm_s_symb = @p2 AND DAY(dm_date) = @p1",
        "UPDATE exchange SET ex_desc = CONCAT(LEFT(ex_desc, 60), ' Checked at ', @p1)",
        "UPDATE financial SET fi_qtr_start_date = DATEADD(day, \
                CASE DAY(fi_qtr_start_date) WHEN 1 THEN 1 ELSE -1 END, fi_qtr_start_date) WHERE fi_co_id = @p1",
        "UPDATE news_item SET ni_dts = DATEADD(day, 1, ni_dts) WHERE ni_id IN \
         (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = @p1)",
        "UPDATE security SET s_exch_date = DATEADD(day, 1, s_exch_date) WHERE s_symb = @p1",
        "UPDATE taxrate SET tx_name = CASE WHEN tx_name LIKE '% Tax %' THEN REPLACE(tx_name, ' Tax ', ' TAX ') \
                ELSE REPLACE(tx_name, ' TAX ', ' Tax ') END WHERE tx_id = @p1",
        "UPDATE watch_item SET wi_s_symb = (SELECT MIN(s_symb) FROM security WHERE s_symb > wi_s_symb AND s_symb \
                NOT IN (SELECT others.wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = @p1)) \
          WHERE wi_wl_id = @p1 AND wi_s_symb = (SELECT wi_s_symb FROM (SELECT wi_s_symb, \
                ROW_NUMBER() OVER (ORDER BY wi_s_symb) AS place, COUNT(*) OVER () AS items FROM watch_item \
                WHERE wi_wl_id = @p1) AS list WHERE place = (items + 1) / 2) \
            AND wi_s_symb < (SELECT MAX(s_symb) FROM security WHERE s_symb NOT IN \
                (SELECT others.wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = @p1))",
    ],
    steps: &[
        "EXEC trade_order @p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9, @p10, @p11, @p12, @p13, @p14, @p15",
        "EXEC trade_result @p1, @p2, @p3",
        "EXEC market_feed @p1, @p2, @p3, @p4",
    ],
};
