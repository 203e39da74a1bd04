-- How many items of the last 20 orders of a district are low in stock (clause 2.8).
CREATE PROCEDURE stock_level(p_w_id INT, p_d_id SMALLINT, p_threshold SMALLINT) READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE next_o_id INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION READ ONLY;
    SELECT d_next_o_id INTO next_o_id FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;

    SELECT COUNT(DISTINCT s_i_id)
      FROM order_line STRAIGHT_JOIN stock ON s_w_id = p_w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id
       AND ol_o_id >= next_o_id - 20 AND ol_o_id < next_o_id
       AND s_quantity < p_threshold;
    COMMIT;
END
