-- The orders that wait for delivery in a district have numbers without gaps
SELECT CONCAT('warehouse ', no_w_id, ' district ', no_d_id, ': NO_O_ID from ', MIN(no_o_id),
    ' to ', MAX(no_o_id), ', but ', COUNT(*), ' rows')
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)
