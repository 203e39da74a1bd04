-- W_YTD equals the sum of D_YTD of the warehouse's districts
SELECT format('warehouse %s: W_YTD %.2f, sum of D_YTD %.2f',
    coalesce(w_id, d_w_id), w_ytd / 100.0, d_sum / 100.0)
FROM warehouse
FULL JOIN (SELECT d_w_id, sum(d_ytd) AS d_sum FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM d_sum
