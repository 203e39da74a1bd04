-- Straight after loading, a district has 2100 more orders than orders that wait for delivery
SELECT CONCAT('warehouse ', d_w_id, ' district ', d_id, ': ', COALESCE(o_count, 0), ' orders, ',
    COALESCE(no_count, 0), ' of them wait')
FROM district
LEFT JOIN (
    SELECT o_w_id, o_d_id, COUNT(*) AS o_count FROM orders GROUP BY o_w_id, o_d_id
) AS o ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
    SELECT no_w_id, no_d_id, COUNT(*) AS no_count FROM new_order GROUP BY no_w_id, no_d_id
) AS n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE COALESCE(o_count, 0) - COALESCE(no_count, 0) <> 2100
