-- Straight after loading, a district has 2100 more orders than orders that wait for delivery
SELECT format('warehouse %s district %s: %s orders, %s of them wait', d_w_id, d_id,
    coalesce(o_count, 0), coalesce(no_count, 0))
FROM district
LEFT JOIN (
    SELECT o_w_id, o_d_id, count(*) AS o_count FROM orders GROUP BY o_w_id, o_d_id
) AS o ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
    SELECT no_w_id, no_d_id, count(*) AS no_count FROM new_order GROUP BY no_w_id, no_d_id
) AS n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE coalesce(o_count, 0) - coalesce(no_count, 0) <> 2100
