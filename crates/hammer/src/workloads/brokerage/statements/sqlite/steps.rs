//! The steps of orders, results and feeds.

use crate::workloads::brokerage::plain::Step;
use crate::workloads::list_steps;

pub(super) const STEPS: [&str; 30] = list_steps! { Step:
    Account:
        "SELECT ca_bal, ca_b_id, ca_c_id, ca_tax_st, c_tier, c_f_name || ' ' || c_l_name, b_name \
           FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ?1";
    Executor:
        "SELECT ap_f_name || ' ' || ap_l_name FROM account_permission \
          WHERE ap_ca_id = ?1 AND ap_tax_id = ?2 AND ap_l_name = ?3 AND ap_f_name = ?4";
    BySymbol:
        "SELECT s_symb, s_ex_id, s_name, co_name, lt_price \
           FROM security JOIN company ON co_id = s_co_id JOIN last_trade ON lt_s_symb = s_symb WHERE s_symb = ?1";
    ByCompany:
        "SELECT s_symb, s_ex_id, s_name, co_name, lt_price \
           FROM company JOIN security ON s_co_id = co_id AND s_issue = ?2 \
           JOIN last_trade ON lt_s_symb = s_symb WHERE co_name = ?1";
    Kind: "SELECT tt_is_sell, tt_is_mrkt FROM trade_type WHERE tt_id = ?1";
    Rate:
        "SELECT cr_rate FROM commission_rate \
          WHERE cr_c_tier = ?1 AND cr_tt_id = ?2 AND cr_ex_id = ?3 AND cr_from_qty <= ?4 AND cr_to_qty >= ?4";
    Charge: "SELECT ch_chrg FROM charge WHERE ch_tt_id = ?1 AND ch_c_tier = ?2";
    Lots:
        "SELECT h_t_id, h_qty, h_price FROM holding_summary \
           JOIN holding ON h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb \
          WHERE hs_ca_id = ?1 AND hs_s_symb = ?2 AND hs_qty * ?4 < 0 \
          ORDER BY CASE ?3 WHEN 1 THEN -h_dts ELSE h_dts END, h_t_id";
    TaxRate: "SELECT sum(tx_rate) FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = ?1";
    Assets:
        "SELECT sum(hs_qty * lt_price) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb \
          WHERE hs_ca_id = ?1";
    WriteTrade:
        "INSERT INTO trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, \
         t_exec_name, t_chrg, t_comm, t_tax, t_lifo) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13)";
    WriteRequest:
        "INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    WriteState: "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (?1, ?2, ?3)";
    Deal:
        "SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, tt_name, ca_b_id, \
                ca_c_id, ca_tax_st, c_tier, s_ex_id FROM trade JOIN trade_type ON tt_id = t_tt_id \
           JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id \
           JOIN security ON s_symb = t_s_symb WHERE t_id = ?1 AND t_st_id = 'SBMT'";
    Held: "SELECT hs_qty FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2";
    WriteSummary: "INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (?1, ?2, ?3)";
    ChangeSummary: "UPDATE holding_summary SET hs_qty = ?3 WHERE hs_ca_id = ?1 AND hs_s_symb = ?2";
    DropSummary: "DELETE FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2";
    ChangeLot: "UPDATE holding SET h_qty = ?2 WHERE h_t_id = ?1";
    DropLot: "DELETE FROM holding WHERE h_t_id = ?1";
    WriteChange:
        "INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty) VALUES (?1, ?2, ?3, ?4)";
    WriteLot:
        "INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    Complete:
        "UPDATE trade SET t_comm = ?2, t_tax = ?3, t_dts = ?4, t_st_id = 'CMPT', t_trade_price = ?5 WHERE t_id = ?1";
    Settle:
        "INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) VALUES (?1, ?2, ?3, ?4)";
    Pay: "UPDATE customer_account SET ca_bal = ca_bal + ?2 WHERE ca_id = ?1 RETURNING ca_bal";
    WriteCash: "INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) VALUES (?1, ?2, ?3, ?4)";
    Credit:
        "UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + ?2 WHERE b_id = ?1";
    Quote: "UPDATE last_trade SET lt_price = ?2, lt_vol = lt_vol + ?3, lt_dts = ?4 WHERE lt_s_symb = ?1";
    TakeReached:
        "DELETE FROM trade_request WHERE tr_s_symb = ?1 AND ((tr_tt_id = 'TSL' AND tr_bid_price >= ?2) \
             OR (tr_tt_id = 'TLS' AND tr_bid_price <= ?2) OR (tr_tt_id = 'TLB' AND tr_bid_price >= ?2)) \
            AND ?3 > (SELECT t_dts FROM trade WHERE t_id = tr_t_id) RETURNING tr_t_id";
    Submit: "UPDATE trade SET t_st_id = 'SBMT', t_dts = ?2 WHERE t_id = ?1";
};
