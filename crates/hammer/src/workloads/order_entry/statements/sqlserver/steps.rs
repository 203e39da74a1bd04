//! The plain statements for SQL Server: `OUTPUT` gives what a change has left.

use crate::workloads::list_steps;
use crate::workloads::order_entry::plain::{Step, Steps};

pub(super) const STEPS: Steps = list_steps! { Step:
    TakeNumber:
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 \
         OUTPUT inserted.d_next_o_id - 1, inserted.d_tax WHERE d_w_id = @p1 AND d_id = @p2";
    Rates:
        "SELECT c_discount, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
         WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_id = @p3";
    Price: "SELECT i_price, i_data FROM item WHERE i_id = @p1";
    // The texts of the districts have one width.
    TakeStock:
        "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= @p3 + 10 \
         THEN s_quantity - @p3 ELSE s_quantity - @p3 + 91 END, \
         s_ytd = s_ytd + @p3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + @p4 \
         OUTPUT SUBSTRING(CONCAT(inserted.s_dist_01, inserted.s_dist_02, inserted.s_dist_03, \
         inserted.s_dist_04, inserted.s_dist_05, inserted.s_dist_06, inserted.s_dist_07, \
         inserted.s_dist_08, inserted.s_dist_09, inserted.s_dist_10), 24 * @p5 - 23, 24), \
         inserted.s_data WHERE s_w_id = @p1 AND s_i_id = @p2";
    WriteOrder:
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         OUTPUT inserted.o_id VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7)";
    WriteWaiting: "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (@p1, @p2, @p3)";
    WriteLine:
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9)";
    FindByName:
        "SELECT c_id FROM customer \
         WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_last = @p3 ORDER BY c_first";
    Labels:
        "SELECT w_name, d_name FROM warehouse JOIN district ON d_w_id = w_id \
         WHERE w_id = @p1 AND d_id = @p2";
    Pay:
        "UPDATE customer SET c_balance = c_balance - @p4, \
         c_ytd_payment = c_ytd_payment + @p4, c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE c_credit WHEN 'BC' THEN LEFT(CONCAT(c_id, ' ', c_d_id, ' ', c_w_id, ' ', @p6, ' ', \
         @p5, ' ', @p4, ' | ', c_data), 500) ELSE c_data END \
         OUTPUT inserted.c_balance, inserted.c_street_1, inserted.c_street_2, inserted.c_city, \
         inserted.c_state, inserted.c_zip WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_id = @p3";
    PayDistrict:
        "UPDATE district SET d_ytd = d_ytd + @p3 \
         OUTPUT inserted.d_street_1, inserted.d_street_2, inserted.d_city, inserted.d_state, inserted.d_zip \
         WHERE d_w_id = @p1 AND d_id = @p2";
    PayWarehouse:
        "UPDATE warehouse SET w_ytd = w_ytd + @p2 \
         OUTPUT inserted.w_street_1, inserted.w_street_2, inserted.w_city, inserted.w_state, inserted.w_zip \
         WHERE w_id = @p1";
    WriteHistory:
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, \
         h_data) VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8)";
    Balance: "SELECT c_balance FROM customer WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_id = @p3";
    LastOrder:
        "SELECT TOP (1) o_id, o_entry_d, o_carrier_id FROM orders \
         WHERE o_w_id = @p1 AND o_d_id = @p2 AND o_c_id = @p3 ORDER BY o_id DESC";
    Lines:
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
         FROM order_line WHERE ol_w_id = @p1 AND ol_d_id = @p2 AND ol_o_id = @p3";
    TakeOldest:
        "DELETE waiting OUTPUT deleted.no_d_id, deleted.no_o_id \
         FROM OPENJSON(@p2) WITH (id SMALLINT '$') AS district \
         CROSS APPLY (SELECT TOP (1) no_o_id FROM new_order WITH (UPDLOCK, ROWLOCK) \
         WHERE no_w_id = @p1 AND no_d_id = district.id ORDER BY no_o_id) AS oldest \
         JOIN new_order AS waiting WITH (ROWLOCK) ON waiting.no_w_id = @p1 \
         AND waiting.no_d_id = district.id AND waiting.no_o_id = oldest.no_o_id \
         OPTION (LOOP JOIN, FORCE ORDER)";
    Carry:
        "UPDATE orders SET o_carrier_id = @p4 OUTPUT inserted.o_c_id \
         WHERE o_w_id = @p1 AND o_d_id = @p2 AND o_id = @p3";
    DateLines:
        "UPDATE order_line WITH (ROWLOCK) SET ol_delivery_d = @p4 \
         WHERE ol_w_id = @p1 AND ol_d_id = @p2 AND ol_o_id = @p3";
    Credit:
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + \
         (SELECT SUM(ol_amount) FROM order_line \
         WHERE ol_w_id = @p1 AND ol_d_id = @p2 AND ol_o_id = @p4) \
         WHERE c_w_id = @p1 AND c_d_id = @p2 AND c_id = @p3";
    CountLowStock:
        "SELECT COUNT(DISTINCT s_i_id) FROM district \
         JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id \
         AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
         JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id \
         WHERE d_w_id = @p1 AND d_id = @p2 AND s_quantity < @p3 OPTION (LOOP JOIN, FORCE ORDER)";
};
