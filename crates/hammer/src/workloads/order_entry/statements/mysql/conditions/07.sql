-- OL_DELIVERY_D of an order line is null if and only if O_CARRIER_ID of its order is null
SELECT CONCAT('warehouse ', ol_w_id, ' district ', ol_d_id, ' order ', ol_o_id, ' line ', ol_number,
    ': OL_DELIVERY_D ', COALESCE(ol_delivery_d, 'null'), ', O_CARRIER_ID ',
    COALESCE(o_carrier_id, 'null'))
FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)
