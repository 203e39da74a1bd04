-- W_YTD equals the sum of D_YTD of the warehouse's districts
SELECT CONCAT_WS('', 'warehouse ', id, ': W_YTD ', MAX(w_ytd), ', sum of D_YTD ', MAX(d_sum))
FROM (
    SELECT w_id AS id, w_ytd, NULL AS d_sum FROM warehouse
    UNION ALL
    SELECT d_w_id, NULL, SUM(d_ytd) FROM district GROUP BY d_w_id
) AS sums
GROUP BY id
HAVING COUNT(w_ytd) <> COUNT(d_sum) OR MAX(w_ytd) <> MAX(d_sum)
