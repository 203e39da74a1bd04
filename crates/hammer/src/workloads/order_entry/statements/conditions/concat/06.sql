-- O_OL_CNT of an order equals its number of order lines
SELECT CONCAT_WS('', 'warehouse ', ol_w_id, ' district ', ol_d_id, ' order ', ol_o_id,
    ': O_OL_CNT ', o_ol_cnt, ', order lines ', ol_lines)
FROM (
    SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS ol_lines
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id
) AS counts
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_ol_cnt IS NULL OR o_ol_cnt <> ol_lines
UNION ALL
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id,
    ': O_OL_CNT ', o_ol_cnt, ', order lines 0')
FROM orders
WHERE NOT EXISTS (
    SELECT * FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
)
