-- The orders that wait for delivery in a district have numbers without gaps
SELECT format('warehouse %s district %s: NO_O_ID from %s to %s, but %s rows',
    no_w_id, no_d_id, min(no_o_id), max(no_o_id), count(*))
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
