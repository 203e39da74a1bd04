-- How many items of the last 20 orders of a district are low in stock (clause 2.8).
CREATE OR REPLACE FUNCTION stock_level(p_w_id integer, p_d_id smallint, p_threshold smallint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    next_o_id integer;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO next_o_id FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;

    SELECT count(DISTINCT s_i_id) INTO low
      FROM order_line JOIN stock ON s_w_id = p_w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id
       AND ol_o_id >= next_o_id - 20 AND ol_o_id < next_o_id
       AND s_quantity < p_threshold;
    RETURN low;
END
$$;
