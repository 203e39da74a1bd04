-- W_YTD equals the sum of D_YTD of the warehouse's districts
SELECT format('warehouse %s: W_YTD %s, sum of D_YTD %s', coalesce(w_id, d_w_id), w_ytd, d_sum)
FROM warehouse
FULL JOIN (SELECT d_w_id, sum(d_ytd) AS d_sum FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM d_sum
