-- C_BALANCE + C_YTD_PAYMENT equals the sum of OL_AMOUNT delivered to the customer
SELECT format(
    'warehouse %s district %s customer %s: C_BALANCE %.2f, C_YTD_PAYMENT %.2f, delivered %.2f',
    c_w_id, c_d_id, c_id, c_balance / 100.0, c_ytd_payment / 100.0, coalesce(delivered, 0) / 100.0)
FROM customer
LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
    FROM order_line
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    WHERE ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id
) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)
