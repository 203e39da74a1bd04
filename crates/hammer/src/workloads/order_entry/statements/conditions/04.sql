-- The sum of O_OL_CNT of a district equals its number of order lines
SELECT format('warehouse %s district %s: sum of O_OL_CNT %s, order lines %s',
    coalesce(o_w_id, ol_w_id), coalesce(o_d_id, ol_d_id), o_lines, ol_lines)
FROM (
    SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS o_lines FROM orders GROUP BY o_w_id, o_d_id
) AS o
FULL JOIN (
    SELECT ol_w_id, ol_d_id, count(*) AS ol_lines FROM order_line GROUP BY ol_w_id, ol_d_id
) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE o_lines IS DISTINCT FROM ol_lines
