-- O_CARRIER_ID is null if and only if the order waits for delivery
SELECT CONCAT('warehouse ', no_w_id, ' district ', no_d_id, ' order ', no_o_id,
    ': waits, but was delivered or does not exist')
FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
    AND o_carrier_id IS NULL
WHERE o_id IS NULL
UNION ALL
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id,
    ': has no carrier, but does not wait')
FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_carrier_id IS NULL AND no_o_id IS NULL
