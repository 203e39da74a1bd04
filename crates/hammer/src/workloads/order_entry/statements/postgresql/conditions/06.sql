-- O_OL_CNT of an order equals its number of order lines
SELECT format('warehouse %s district %s order %s: O_OL_CNT %s, order lines %s',
    coalesce(o_w_id, ol_w_id), coalesce(o_d_id, ol_d_id), coalesce(o_id, ol_o_id),
    o_ol_cnt, ol_lines)
FROM orders
FULL JOIN (
    SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS ol_lines
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id
) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM ol_lines
