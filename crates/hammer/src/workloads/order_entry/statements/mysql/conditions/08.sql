-- W_YTD equals the sum of H_AMOUNT of the payments to the warehouse
SELECT CONCAT('warehouse ', id, ': W_YTD ', COALESCE(MAX(w_ytd), ''),
    ', sum of H_AMOUNT ', COALESCE(MAX(h_sum), ''))
FROM (
    SELECT w_id AS id, w_ytd, NULL AS h_sum FROM warehouse
    UNION ALL
    SELECT h_w_id, NULL, SUM(h_amount) FROM history GROUP BY h_w_id
) AS sums
GROUP BY id
HAVING NOT (MAX(w_ytd) <=> MAX(h_sum))
