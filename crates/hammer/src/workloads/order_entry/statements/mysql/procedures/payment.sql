-- One payment (clause 2.5), by a customer of any warehouse, chosen by number or, where that is null,
-- by last name: then the middle one by first name. Gives the customer's number and new balance, and
-- the addresses of customer, district and warehouse.
CREATE PROCEDURE payment(
    p_w_id INT, p_d_id SMALLINT, p_c_w_id INT, p_c_d_id SMALLINT, p_c_id INT,
    p_c_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin, p_amount DECIMAL(6,2),
    p_date DATETIME(6)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE customer_id INT DEFAULT p_c_id;
    DECLARE before_middle INT;
    DECLARE balance DECIMAL(12,2);
    DECLARE label VARCHAR(24) CHARACTER SET latin1;
    DECLARE missing VARCHAR(100);
    DECLARE c_street_a, c_street_b, c_town, d_street_a, d_street_b, d_town, w_street_a, w_street_b,
            w_town VARCHAR(20) CHARACTER SET latin1;
    DECLARE c_land, d_land, w_land CHAR(2) CHARACTER SET latin1;
    DECLARE c_code, d_code, w_code CHAR(9) CHARACTER SET latin1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    IF p_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO before_middle
          FROM customer
         WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        IF before_middle >= 0 THEN
            SELECT c_id INTO customer_id
              FROM customer
             WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last
             ORDER BY c_first LIMIT before_middle, 1;
        END IF;
    END IF;

    UPDATE customer
       SET c_balance = c_balance - p_amount,
           c_ytd_payment = c_ytd_payment + p_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
                    WHEN 'BC' THEN LEFT(CONCAT(CONVERT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, p_d_id,
                                                                 p_w_id, p_amount) USING latin1),
                                               ' | ', c_data), 500)
                    ELSE c_data END
     WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = customer_id;
    IF ROW_COUNT() <> 1 THEN
        SET missing = CONCAT('no customer ', COALESCE(p_c_id, p_c_last), ' in district ', p_c_d_id,
                             ' of warehouse ', p_c_w_id);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = missing;
    END IF;

    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w_id AND d_id = p_d_id;

    SELECT c_balance, c_street_1, c_street_2, c_city, c_state, c_zip,
           d_street_1, d_street_2, d_city, d_state, d_zip,
           w_street_1, w_street_2, w_city, w_state, w_zip, CONCAT(w_name, '    ', d_name)
      INTO balance, c_street_a, c_street_b, c_town, c_land, c_code,
           d_street_a, d_street_b, d_town, d_land, d_code,
           w_street_a, w_street_b, w_town, w_land, w_code, label
      FROM customer JOIN district JOIN warehouse
     WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = customer_id
       AND d_w_id = p_w_id AND d_id = p_d_id AND w_id = p_w_id;

    INSERT INTO history (h_date, h_c_w_id, h_c_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    VALUES (p_date, p_c_w_id, customer_id, p_w_id, p_c_d_id, p_d_id, p_amount, label);

    -- The row that most others wait for comes last, so that it is locked for the shortest time.
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w_id;
    COMMIT;

    SELECT customer_id, balance, c_street_a, c_street_b, c_town, c_land, c_code,
           d_street_a, d_street_b, d_town, d_land, d_code,
           w_street_a, w_street_b, w_town, w_land, w_code;
END
