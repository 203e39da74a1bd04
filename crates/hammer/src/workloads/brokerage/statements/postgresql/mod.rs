//! The SQL of brokerage for PostgreSQL.

use super::{Pair, Statements};
use crate::workloads::brokerage::schema::Dialect;
use crate::workloads::brokerage::transactions::{Calls, Texts};

/// Brokerage on PostgreSQL.
pub struct OnPostgresql;

impl Pair for OnPostgresql {
    const STATEMENTS: &'static Statements = &STATEMENTS;
    type Transactions = Calls<Self>;
}

const STATEMENTS: Statements = Statements {
    dialect: Dialect {
        types: &[
            ("id", "bigint"),
            ("flag", "smallint"),
            ("quantity", "integer"),
            ("count", "bigint"),
            ("price", "numeric(8,2)"),
            ("value", "numeric(10,2)"),
            ("balance", "numeric(12,2)"),
            ("total", "numeric(15,2)"),
            ("percent", "numeric(5,2)"),
            ("rate", "numeric(6,5)"),
            ("date", "date"),
            ("moment", "timestamptz"),
            ("bytes", "bytea"),
        ],
        text: "varchar({})",
        clustered: false,
        alter: Some(["ALTER TABLE {table} ADD ", ", ADD "]),
        table_end: " WITH (fillfactor = {fill})",
        partial_indexes: true,
        key: &["ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY USING INDEX {table}_pkey"],
    },
    create_meta: "CREATE TABLE stithy_meta (workload text NOT NULL, schema_version integer NOT NULL, \
         units bigint NOT NULL, size text NOT NULL, seed numeric(20,0) NOT NULL)",
    write_meta: "INSERT INTO stithy_meta (workload, schema_version, units, size, seed) \
         VALUES ($1, $2, $3, $4, $5::text::numeric)",
    read_meta: "SELECT schema_version, size, seed::text FROM stithy_meta WHERE workload = $1",
    created_last: &[
        include_str!("procedures/trade_order.sql"),
        include_str!("procedures/trade_result.sql"),
        include_str!("procedures/market_feed.sql"),
    ],
    texts: TEXTS,
    conditions: super::CONDITIONS,
    words: &[],
    clean_up: &[
        "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT tr_t_id, now(), 'SBMT' FROM trade_request",
        "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) \
         SELECT t_id, now() + interval '1 microsecond', 'CNCL' FROM trade WHERE t_st_id IN ('SBMT', 'PNDG')",
        "UPDATE trade SET t_dts = now() + interval '1 microsecond', t_st_id = 'CNCL' \
          WHERE t_st_id IN ('SBMT', 'PNDG')",
        "DELETE FROM trade_request",
    ],
    kept: [
        "SELECT t_id, t_ca_id, t_qty, (t_bid_price * 100)::bigint, t_s_symb, t_tt_id FROM trade \
          WHERE t_id BETWEEN $1 AND $2 ORDER BY 1",
        "SELECT t_id, (t_trade_price * 100)::bigint, (t_st_id = 'CMPT')::integer + (se_t_id IS NOT NULL)::integer \
                + (th_t_id IS NOT NULL)::integer + ((ct_t_id IS NOT NULL) = (t_is_cash = 1))::integer, 0, '', '' \
           FROM trade LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id \
           LEFT JOIN trade_history ON th_t_id = t_id AND th_st_id = 'CMPT' \
          WHERE t_id BETWEEN $1 AND $2 AND (t_st_id = 'CMPT' OR se_t_id IS NOT NULL OR ct_t_id IS NOT NULL \
                OR th_t_id IS NOT NULL) ORDER BY 1",
        "SELECT th_t_id, (extract(epoch FROM th_dts) * 1000000)::bigint - 946684800000000, 0, 0, '', '' \
           FROM trade_history JOIN trade ON t_id = th_t_id JOIN trade_type ON tt_id = t_tt_id \
          WHERE th_t_id BETWEEN $1 AND $2 AND th_st_id = 'SBMT' AND tt_is_mrkt = 0 ORDER BY 1",
    ],
    completed: "SELECT sum(b_num_trades)::bigint FROM broker",
    completed_of: "SELECT count(*) FROM settlement WHERE se_t_id = ANY($1::bigint[])",
};

/// What the trades of a lookup are, behind which the parameters of its frame stand.
macro_rules! frames {
    ($start:literal, $end:literal) => {
        [
            concat!($start, "(SELECT unnest($1::bigint[]))", $end),
            concat!(
                $start,
                "(SELECT t_id FROM trade WHERE t_ca_id = $1 AND t_dts >= $2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
            concat!(
                $start,
                "(SELECT t_id FROM trade WHERE t_s_symb = $1 AND t_dts >= $2 ORDER BY t_dts, t_id LIMIT 20)",
                $end
            ),
        ]
    };
}

const TEXTS: Texts = Texts {
    broker_volume: "SELECT b_name, sum(tr_qty * tr_bid_price) AS volume \
           FROM trade_request JOIN broker ON b_id = tr_b_id JOIN security ON s_symb = tr_s_symb \
           JOIN company ON co_id = s_co_id JOIN industry ON in_id = co_in_id JOIN sector ON sc_id = in_sc_id \
          WHERE b_name = ANY(string_to_array($1, ',')) AND sc_name = $2 GROUP BY b_name ORDER BY 2 DESC, 1",
    customer: common!(customer, "$"),
    position: common!(position, "$"),
    position_history: "SELECT t_id, t_s_symb, t_qty, st_name, th_dts \
           FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = $1 ORDER BY t_dts DESC, t_id DESC LIMIT 10) \
                AS latest JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id \
          ORDER BY th_dts DESC, t_id, th_st_id LIMIT 30",
    market_watch: [
        "SELECT coalesce(100 * (sum(s_num_out * lt_price) / nullif(sum(s_num_out * dm_close), 0) - 1), 0) \
           FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb \
           JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = date '2000-01-01' + $2::integer WHERE wl_c_id = $1",
        "SELECT coalesce(100 * (sum(s_num_out * lt_price) / nullif(sum(s_num_out * dm_close), 0) - 1), 0) \
           FROM holding_summary JOIN security ON s_symb = hs_s_symb JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = date '2000-01-01' + $2::integer WHERE hs_ca_id = $1",
        "SELECT coalesce(100 * (sum(s_num_out * lt_price) / nullif(sum(s_num_out * dm_close), 0) - 1), 0) \
           FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id \
           JOIN last_trade ON lt_s_symb = s_symb \
           JOIN daily_market ON dm_s_symb = s_symb AND dm_date = date '2000-01-01' + $2::integer \
          WHERE in_name = $1 AND co_id BETWEEN $3 AND $4",
    ],
    security_detail: common!(security_detail, "$"),
    daily: "SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market \
          WHERE dm_s_symb = $1 AND dm_date >= date '2000-01-01' + $2::integer ORDER BY dm_date LIMIT $3::smallint",
    news: common!(news, "$"),
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
         (SELECT t_id FROM trade WHERE t_ca_id = $1 AND t_dts >= $2 ORDER BY t_dts, t_id LIMIT 1)) \
          ORDER BY hh_h_t_id, hh_t_id LIMIT 20",
    status: [
        "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name \
           FROM (SELECT * FROM trade WHERE t_ca_id = $1 ORDER BY t_dts DESC, t_id DESC LIMIT 50) AS latest \
           JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id \
           JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id ORDER BY t_dts DESC, t_id DESC",
        "SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id \
           JOIN broker ON b_id = ca_b_id WHERE ca_id = $1",
    ],
    updates: [
        "UPDATE trade SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %' THEN replace(t_exec_name, ' X ', ' ') \
                ELSE replace(t_exec_name, ' ', ' X ') END \
           FROM (SELECT t_id AS id FROM trade WHERE t_id = ANY($1) ORDER BY t_id FOR NO KEY UPDATE) AS locked \
          WHERE t_id = id",
        "UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' \
                WHEN 'Cash' THEN 'Cash Account' WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END \
           FROM (SELECT se_t_id AS id FROM settlement WHERE se_t_id IN \
                 (SELECT t_id FROM trade WHERE t_ca_id = $1 AND t_dts >= $2 ORDER BY t_dts, t_id LIMIT 20) \
                 ORDER BY se_t_id FOR NO KEY UPDATE) AS locked WHERE se_t_id = id",
        "UPDATE cash_transaction SET ct_name = CASE WHEN ct_name LIKE '% shares of %' \
                THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END \
           FROM (SELECT ct_t_id AS id FROM cash_transaction WHERE ct_t_id IN \
                 (SELECT t_id FROM trade WHERE t_s_symb = $1 AND t_dts >= $2 ORDER BY t_dts, t_id LIMIT 20) \
                 ORDER BY ct_t_id FOR NO KEY UPDATE) AS locked WHERE ct_t_id = id",
    ],
    upkeep: [
        "UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '0000' THEN '0011' ELSE '0000' END \
          WHERE ap_ca_id = $1 AND ap_tax_id = (SELECT min(ap_tax_id) FROM account_permission WHERE ap_ca_id = $1)",
        "UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Upper Floor' THEN 'Lower Floor' ELSE 'Upper Floor' END \
          WHERE ad_id = $1",
        "UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'A1+' THEN 'C2+' ELSE 'A1+' END WHERE co_id = $1",
        "UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@post.example' \
                THEN replace(c_email_2, '@post.example', '@mail.example') \
                ELSE replace(c_email_2, '@mail.example', '@post.example') END WHERE c_id = $1",
        "UPDATE customer_taxrate SET cx_tx_id = CASE cx_tx_id WHEN 'FA5' THEN 'FA1' WHEN 'SB4' THEN 'SB1' \
                ELSE left(cx_tx_id, 2) || (substr(cx_tx_id, 3, 1)::integer + 1) END \
          WHERE cx_c_id = $1 AND (cx_tx_id LIKE 'FA%' OR cx_tx_id LIKE 'SB%')",
        "UPDATE daily_market SET dm_vol = dm_vol + 1 WHERE dm_s_symb = $2 AND extract(day FROM dm_date) = $1::integer",
        "UPDATE exchange SET ex_desc = left(ex_desc, 60) || ' Checked at ' || $1",
        "UPDATE financial SET fi_qtr_start_date = fi_qtr_start_date \
                + CASE extract(day FROM fi_qtr_start_date) WHEN 1 THEN 1 ELSE -1 END WHERE fi_co_id = $1",
        "UPDATE news_item SET ni_dts = ni_dts + interval '1 day' WHERE ni_id IN \
         (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = $1)",
        "UPDATE security SET s_exch_date = s_exch_date + 1 WHERE s_symb = $1",
        "UPDATE taxrate SET tx_name = CASE WHEN tx_name LIKE '% Tax %' THEN replace(tx_name, ' Tax ', ' TAX ') \
                ELSE replace(tx_name, ' TAX ', ' Tax ') END WHERE tx_id = $1",
        "UPDATE watch_item SET wi_s_symb = (SELECT min(s_symb) FROM security WHERE s_symb > wi_s_symb AND s_symb \
                NOT IN (SELECT wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = $1)) \
          WHERE wi_wl_id = $1 AND wi_s_symb = (SELECT wi_s_symb FROM (SELECT wi_s_symb, \
                row_number() OVER (ORDER BY wi_s_symb) AS place, count(*) OVER () AS items FROM watch_item \
                WHERE wi_wl_id = $1) AS list WHERE place = (items + 1) / 2) \
            AND wi_s_symb < (SELECT max(s_symb) FROM security WHERE s_symb NOT IN \
                (SELECT wi_s_symb FROM watch_item AS others WHERE others.wi_wl_id = $1))",
    ],
    steps: &[
        "SELECT * FROM trade_order($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        "SELECT * FROM trade_result($1, $2, $3)",
        "SELECT * FROM market_feed($1, $2, $3, $4)",
    ],
};
