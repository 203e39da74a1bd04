-- D_YTD equals the sum of H_AMOUNT of the payments to the district
SELECT format('warehouse %s district %s: D_YTD %s, sum of H_AMOUNT %s',
    coalesce(d_w_id, h_w_id), coalesce(d_id, h_d_id), d_ytd, h_sum)
FROM district
FULL JOIN (
    SELECT h_w_id, h_d_id, sum(h_amount) AS h_sum FROM history GROUP BY h_w_id, h_d_id
) AS h ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd IS DISTINCT FROM h_sum
