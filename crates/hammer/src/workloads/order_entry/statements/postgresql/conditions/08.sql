-- W_YTD equals the sum of H_AMOUNT of the payments to the warehouse
SELECT format('warehouse %s: W_YTD %s, sum of H_AMOUNT %s', coalesce(w_id, h_w_id), w_ytd, h_sum)
FROM warehouse
FULL JOIN (SELECT h_w_id, sum(h_amount) AS h_sum FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM h_sum
