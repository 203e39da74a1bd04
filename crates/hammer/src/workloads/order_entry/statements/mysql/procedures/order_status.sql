-- The last order of a customer (clause 2.6), chosen as in payment. Gives one row a line.
CREATE PROCEDURE order_status(
    p_w_id INT, p_d_id SMALLINT, p_c_id INT,
    p_c_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin
) READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE customer_id INT DEFAULT p_c_id;
    DECLARE before_middle INT;
    DECLARE balance DECIMAL(12,2);
    DECLARE order_id INT;
    DECLARE entry_d DATETIME(6);
    DECLARE carrier_id SMALLINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION READ ONLY;
    IF p_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO before_middle
          FROM customer
         WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
        IF before_middle >= 0 THEN
            SELECT c_id INTO customer_id
              FROM customer
             WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last
             ORDER BY c_first LIMIT before_middle, 1;
        END IF;
    END IF;

    SELECT c_balance INTO balance
      FROM customer
     WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = customer_id;

    SELECT o_id, o_entry_d, o_carrier_id INTO order_id, entry_d, carrier_id
      FROM orders
     WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = customer_id
     ORDER BY o_id DESC LIMIT 1;

    SELECT customer_id, balance, order_id, entry_d, carrier_id,
           ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      FROM order_line
     WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = order_id;
    COMMIT;
END
