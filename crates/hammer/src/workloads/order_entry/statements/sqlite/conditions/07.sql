-- OL_DELIVERY_D of an order line is null if and only if O_CARRIER_ID of its order is null
SELECT format('warehouse %s district %s order %s line %s: OL_DELIVERY_D %s, O_CARRIER_ID %s',
    ol_w_id, ol_d_id, ol_o_id, ol_number, coalesce(ol_delivery_d, 'null'),
    coalesce(o_carrier_id, 'null'))
FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)
