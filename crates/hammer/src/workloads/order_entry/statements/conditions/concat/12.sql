-- C_BALANCE + C_YTD_PAYMENT equals the sum of OL_AMOUNT delivered to the customer
SELECT CONCAT('warehouse ', c_w_id, ' district ', c_d_id, ' customer ', c_id, ': C_BALANCE ', c_balance,
    ', C_YTD_PAYMENT ', c_ytd_payment, ', delivered ', COALESCE(delivered, 0))
FROM customer
LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered
    FROM order_line
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    WHERE ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id
) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)
