-- The sum of O_OL_CNT of a district equals its number of order lines
SELECT CONCAT_WS('', 'warehouse ', w_id, ' district ', d_id, ': sum of O_OL_CNT ', MAX(o_lines),
    ', order lines ', MAX(ol_lines))
FROM (
    SELECT o_w_id AS w_id, o_d_id AS d_id, SUM(o_ol_cnt) AS o_lines, NULL AS ol_lines
    FROM orders GROUP BY o_w_id, o_d_id
    UNION ALL
    SELECT ol_w_id, ol_d_id, NULL, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id
) AS counts
GROUP BY w_id, d_id
HAVING COUNT(o_lines) <> COUNT(ol_lines) OR MAX(o_lines) <> MAX(ol_lines)
