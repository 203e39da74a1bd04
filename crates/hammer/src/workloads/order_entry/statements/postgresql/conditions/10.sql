-- C_BALANCE equals the sum of OL_AMOUNT delivered to the customer less the sum of H_AMOUNT paid
SELECT format('warehouse %s district %s customer %s: C_BALANCE %s, delivered %s, paid %s',
    c_w_id, c_d_id, c_id, c_balance, coalesce(delivered, 0), coalesce(paid, 0))
FROM customer
LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
    FROM order_line
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    WHERE ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id
) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (
    SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid
    FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)
