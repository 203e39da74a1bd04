-- OL_DELIVERY_D of an order line is null if and only if O_CARRIER_ID of its order is null
SELECT CONCAT_WS('', 'warehouse ', ol_w_id, ' district ', ol_d_id, ' order ', ol_o_id, ' line ',
    ol_number, ': OL_DELIVERY_D ', CASE WHEN ol_delivery_d IS NULL THEN 'null' END, ol_delivery_d,
    ', O_CARRIER_ID ', CASE WHEN o_carrier_id IS NULL THEN 'null' END, o_carrier_id)
FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE CASE WHEN ol_delivery_d IS NULL THEN 1 ELSE 0 END
    <> CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END
