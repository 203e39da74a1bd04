-- O_CARRIER_ID is null if and only if the order waits for delivery
SELECT format('warehouse %s district %s order %s: %s',
    coalesce(o_w_id, no_w_id), coalesce(o_d_id, no_d_id), coalesce(o_id, no_o_id),
    CASE WHEN o_id IS NULL THEN 'waits, but was delivered or does not exist'
        ELSE 'has no carrier, but does not wait' END)
FROM (SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_carrier_id IS NULL) AS o
FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL OR no_o_id IS NULL
