-- W_YTD equals the sum of D_YTD of the warehouse's districts
SELECT CONCAT('warehouse ', id, ': W_YTD ', COALESCE(MAX(w_ytd), ''),
    ', sum of D_YTD ', COALESCE(MAX(d_sum), ''))
FROM (
    SELECT w_id AS id, w_ytd, NULL AS d_sum FROM warehouse
    UNION ALL
    SELECT d_w_id, NULL, SUM(d_ytd) FROM district GROUP BY d_w_id
) AS sums
GROUP BY id
HAVING NOT (MAX(w_ytd) <=> MAX(d_sum))
