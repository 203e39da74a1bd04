-- D_YTD equals the sum of H_AMOUNT of the payments to the district
SELECT CONCAT('warehouse ', w_id, ' district ', id, ': D_YTD ', COALESCE(MAX(d_ytd), ''),
    ', sum of H_AMOUNT ', COALESCE(MAX(h_sum), ''))
FROM (
    SELECT d_w_id AS w_id, d_id AS id, d_ytd, NULL AS h_sum FROM district
    UNION ALL
    SELECT h_w_id, h_d_id, NULL, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id
) AS sums
GROUP BY w_id, id
HAVING NOT (MAX(d_ytd) <=> MAX(h_sum))
