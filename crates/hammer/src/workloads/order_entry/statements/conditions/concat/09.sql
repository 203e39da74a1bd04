-- D_YTD equals the sum of H_AMOUNT of the payments to the district
SELECT CONCAT_WS('', 'warehouse ', w_id, ' district ', id, ': D_YTD ', MAX(d_ytd),
    ', sum of H_AMOUNT ', MAX(h_sum))
FROM (
    SELECT d_w_id AS w_id, d_id AS id, d_ytd, NULL AS h_sum FROM district
    UNION ALL
    SELECT h_w_id, h_d_id, NULL, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id
) AS sums
GROUP BY w_id, id
HAVING COUNT(d_ytd) <> COUNT(h_sum) OR MAX(d_ytd) <> MAX(h_sum)
