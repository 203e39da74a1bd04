-- D_NEXT_O_ID - 1 equals the district's largest O_ID, and its largest NO_O_ID where it has one
SELECT format('warehouse %s district %s: D_NEXT_O_ID %s, largest O_ID %s, largest NO_O_ID %s',
    d_w_id, d_id, d_next_o_id, o_max, no_max)
FROM (
    SELECT d_w_id, d_id, d_next_o_id,
        (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS o_max,
        (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS no_max
    FROM district
)
WHERE d_next_o_id - 1 IS DISTINCT FROM o_max OR d_next_o_id - 1 <> no_max
