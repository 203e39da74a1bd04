-- D_NEXT_O_ID - 1 equals the district's largest O_ID, and its largest NO_O_ID where it has one
SELECT CONCAT_WS('', 'warehouse ', d_w_id, ' district ', d_id, ': D_NEXT_O_ID ', d_next_o_id,
    ', largest O_ID ', o_max, ', largest NO_O_ID ', no_max)
FROM (
    SELECT d_w_id, d_id, d_next_o_id,
        (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS o_max,
        (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS no_max
    FROM district
) AS largest
WHERE o_max IS NULL OR d_next_o_id - 1 <> o_max OR d_next_o_id - 1 <> no_max
