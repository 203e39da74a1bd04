-- W_YTD equals the sum of H_AMOUNT of the payments to the warehouse
SELECT format('warehouse %s: W_YTD %.2f, sum of H_AMOUNT %.2f',
    coalesce(w_id, h_w_id), w_ytd / 100.0, h_sum / 100.0)
FROM warehouse
FULL JOIN (SELECT h_w_id, sum(h_amount) AS h_sum FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM h_sum
