-- W_YTD equals the sum of H_AMOUNT of the payments to the warehouse
SELECT CONCAT_WS('', 'warehouse ', id, ': W_YTD ', MAX(w_ytd), ', sum of H_AMOUNT ', MAX(h_sum))
FROM (
    SELECT w_id AS id, w_ytd, NULL AS h_sum FROM warehouse
    UNION ALL
    SELECT h_w_id, NULL, SUM(h_amount) FROM history GROUP BY h_w_id
) AS sums
GROUP BY id
HAVING COUNT(w_ytd) <> COUNT(h_sum) OR MAX(w_ytd) <> MAX(h_sum)
