-- O_OL_CNT of an order equals its number of order lines
SELECT format('warehouse %s district %s order %s: O_OL_CNT %s, order lines %s',
    ol_w_id, ol_d_id, ol_o_id, o_ol_cnt, ol_lines)
FROM (
    SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS ol_lines
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id
)
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_ol_cnt IS DISTINCT FROM ol_lines
UNION ALL
SELECT format('warehouse %s district %s order %s: O_OL_CNT %s, order lines 0',
    o_w_id, o_d_id, o_id, o_ol_cnt)
FROM orders
WHERE NOT EXISTS (
    SELECT * FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
)
