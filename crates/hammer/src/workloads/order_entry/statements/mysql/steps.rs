//! The plain statements for MariaDB and MySQL. There is no `UPDATE … RETURNING`: what an UPDATE has left is read by
//! a second part of the same step, under the row's lock.

use crate::workloads::list_steps;
use crate::workloads::order_entry::plain::{Step, Steps};

pub(super) const STEPS: Steps = list_steps! { Step:
    TakeNumber:
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2; \
         SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = ?1 AND d_id = ?2";
    Rates:
        "SELECT c_discount, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
    Price: "SELECT i_price, i_data FROM item WHERE i_id = ?1";
    TakeStock:
        "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ?3 + 10 \
         THEN s_quantity - ?3 ELSE s_quantity - ?3 + 91 END, \
         s_ytd = s_ytd + ?3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?4 \
         WHERE s_w_id = ?1 AND s_i_id = ?2; \
         SELECT ELT(?5, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
         s_dist_08, s_dist_09, s_dist_10), s_data FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2";
    WriteOrder:
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7); SELECT CAST(?3 AS SIGNED)";
    WriteWaiting: "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?1, ?2, ?3)";
    WriteLine:
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    FindByName:
        "SELECT c_id FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first";
    Labels:
        "SELECT w_name, d_name FROM warehouse JOIN district ON d_w_id = w_id \
         WHERE w_id = ?1 AND d_id = ?2";
    Pay:
        "UPDATE customer SET c_balance = c_balance - ?4, \
         c_ytd_payment = c_ytd_payment + ?4, c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE c_credit WHEN 'BC' THEN LEFT(CONCAT(CONVERT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, \
         ?6, ?5, CAST(?4 AS DECIMAL(6,2))) USING latin1), ' | ', c_data), 500) ELSE c_data END \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3; \
         SELECT c_balance, c_street_1, c_street_2, c_city, c_state, c_zip FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
    PayDistrict:
        "UPDATE district SET d_ytd = d_ytd + ?3 WHERE d_w_id = ?1 AND d_id = ?2; \
         SELECT d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
         WHERE d_w_id = ?1 AND d_id = ?2";
    PayWarehouse:
        "UPDATE warehouse SET w_ytd = w_ytd + ?2 WHERE w_id = ?1; \
         SELECT w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?1";
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
    // The first part locks the oldest orders, so that the second one finds the same. DISTINCT, as a table
    // may be changed by what was read of it before, and not by what is read meanwhile.
    TakeOldest:
        "SELECT d_id, o_id FROM (SELECT district.d_id, (SELECT no_o_id FROM new_order \
         WHERE no_w_id = ?1 AND no_d_id = district.d_id ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS o_id \
         FROM JSON_TABLE(?2, '$[*]' COLUMNS (d_id SMALLINT PATH '$')) AS district) AS oldest \
         WHERE o_id IS NOT NULL; \
         DELETE new_order FROM (SELECT DISTINCT district.d_id, (SELECT no_o_id FROM new_order \
         WHERE no_w_id = ?1 AND no_d_id = district.d_id ORDER BY no_o_id LIMIT 1) AS o_id \
         FROM JSON_TABLE(?2, '$[*]' COLUMNS (d_id SMALLINT PATH '$')) AS district) AS oldest \
         STRAIGHT_JOIN new_order ON no_w_id = ?1 AND no_d_id = d_id AND no_o_id = o_id";
    Carry:
        "UPDATE orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3; \
         SELECT o_c_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3";
    DateLines:
        "UPDATE order_line SET ol_delivery_d = ?4 \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
    Credit:
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + \
         (SELECT SUM(ol_amount) FROM order_line \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?4) \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
    CountLowStock:
        "SELECT COUNT(DISTINCT s_i_id) FROM district \
         STRAIGHT_JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id \
         AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
         STRAIGHT_JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id \
         WHERE d_w_id = ?1 AND d_id = ?2 AND s_quantity < ?3";
};
