-- One new order (clause 2.4). The hammer drew everything; the lines come as lists of item, supplying
-- warehouse, quantity and pass, sorted by supplying warehouse and item, so that two orders take the locks on
-- stock in the same order.
-- A pass holds every item at most once: an item that is ordered twice is in pass 0 and in pass 1, as
-- one UPDATE changes a row only once.
-- A line is of a brand where the texts of item and stock both say ORIGINAL, else generic: bit n - 1 of
-- brand_lines is set where line n is of a brand.
-- An unused item undoes all and leaves order_id null; p_unused says that the caller is ready to.
CREATE PROCEDURE new_order(
    p_w_id INT, p_d_id SMALLINT, p_c_id INT, p_entry_d DATETIME(6), p_all_local SMALLINT,
    p_lines TEXT CHARACTER SET latin1, p_line_count SMALLINT, p_last_pass SMALLINT, p_unused BOOLEAN
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE order_id INT;
    DECLARE found_lines SMALLINT;
    DECLARE brand_lines INT;
    DECLARE this_pass SMALLINT DEFAULT 0;
    DECLARE factor DECIMAL(10,8);
    DECLARE amount DECIMAL(12,2);
    DECLARE missing VARCHAR(100);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT d_next_o_id - 1, (1 - c_discount) * (1 + w_tax + d_tax) INTO order_id, factor
      FROM district JOIN customer JOIN warehouse
     WHERE d_w_id = p_w_id AND d_id = p_d_id AND w_id = p_w_id
       AND c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;

    INSERT INTO orders (o_entry_d, o_w_id, o_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (p_entry_d, p_w_id, order_id, p_c_id, p_d_id, p_line_count, p_all_local);

    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (p_w_id, order_id, p_d_id);

    WHILE this_pass <= p_last_pass DO
        UPDATE JSON_TABLE(p_lines, '$[*]' COLUMNS (
                   item INT PATH '$[0]', supply INT PATH '$[1]', quantity SMALLINT PATH '$[2]',
                   pass SMALLINT PATH '$[3]')) AS line
               STRAIGHT_JOIN item ON i_id = line.item
               STRAIGHT_JOIN stock ON s_w_id = line.supply AND s_i_id = line.item
           SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10
                                 THEN s_quantity - line.quantity
                                 ELSE s_quantity - line.quantity + 91 END,
               s_ytd = s_ytd + line.quantity,
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + (line.supply <> p_w_id)
         WHERE line.pass = this_pass;
        SET this_pass = this_pass + 1;
    END WHILE;

    INSERT INTO order_line (ol_w_id, ol_o_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT p_w_id, order_id, line.item, line.supply, p_d_id, line.number, line.quantity,
           i_price * line.quantity,
           ELT(p_d_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
               s_dist_08, s_dist_09, s_dist_10)
      FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (
               number FOR ORDINALITY, item INT PATH '$[0]', supply INT PATH '$[1]',
               quantity SMALLINT PATH '$[2]')) AS line
           STRAIGHT_JOIN item ON i_id = line.item
           STRAIGHT_JOIN stock ON s_w_id = line.supply AND s_i_id = line.item;

    SELECT COUNT(*), SUM(ol_amount),
           BIT_OR(CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'
                       THEN 1 << (ol_number - 1) ELSE 0 END)
      INTO found_lines, amount, brand_lines
      FROM order_line
           STRAIGHT_JOIN item ON i_id = ol_i_id
           STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = order_id;

    IF found_lines = p_line_count THEN
        COMMIT;
    ELSEIF p_unused THEN
        ROLLBACK;
        SET order_id = NULL;
    ELSE
        SET missing = CONCAT('an item or its stock is missing: ', found_lines, ' of ', p_line_count,
                             ' lines found');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = missing;
    END IF;
    SELECT order_id, amount * factor AS total, brand_lines;
END
