-- The last order of a customer (clause 2.6), chosen as in payment. Gives one row a line.
CREATE OR REPLACE FUNCTION order_status(
    p_w_id integer, p_d_id smallint, p_c_id integer, p_c_last varchar
) RETURNS TABLE (
    customer_id integer, balance numeric, order_id integer, entry_d timestamptz, carrier_id smallint,
    item_id integer, supply_w_id integer, quantity smallint, amount numeric, delivery_d timestamptz
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    customer_id := p_c_id;
    IF p_c_id IS NULL THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_id
          FROM customer
         WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
    END IF;

    SELECT c_balance INTO balance
      FROM customer
     WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = customer_id;

    SELECT o_id, o_entry_d, o_carrier_id INTO order_id, entry_d, carrier_id
      FROM orders
     WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = customer_id
     ORDER BY o_id DESC LIMIT 1;

    FOR item_id, supply_w_id, quantity, amount, delivery_d IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
          FROM order_line
         WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = order_id
    LOOP
        RETURN NEXT;
    END LOOP;
END
$$;
