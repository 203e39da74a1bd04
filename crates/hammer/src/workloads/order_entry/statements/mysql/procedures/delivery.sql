-- The oldest waiting order of each of the ten districts of a warehouse is delivered (clause 2.7).
-- Gives the number of orders. Another delivery on the same warehouse may hold an order: this one waits,
-- and takes the next where it is gone. All take the districts in the same order. Skipping locked rows instead
-- could leave a hole in the queue.
CREATE PROCEDURE delivery(p_w_id INT, p_carrier_id SMALLINT, p_delivery_d DATETIME(6)) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE delivered INT;
    DECLARE taken TEXT CHARACTER SET latin1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    SELECT COUNT(*), CONCAT('[', GROUP_CONCAT('[', d_id, ',', o_id, ']'), ']') INTO delivered, taken
      FROM (SELECT district.d_id,
                   (SELECT no_o_id FROM new_order
                     WHERE no_w_id = p_w_id AND no_d_id = district.d_id
                     ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS o_id
              FROM JSON_TABLE('[1,2,3,4,5,6,7,8,9,10]', '$[*]' COLUMNS (d_id SMALLINT PATH '$')) AS district
           ) AS oldest
     WHERE o_id IS NOT NULL;

    IF delivered > 0 THEN
        DELETE new_order
          FROM JSON_TABLE(taken, '$[*]' COLUMNS (d_id SMALLINT PATH '$[0]', o_id INT PATH '$[1]')) AS oldest
               STRAIGHT_JOIN new_order ON no_w_id = p_w_id AND no_d_id = d_id AND no_o_id = o_id;

        UPDATE JSON_TABLE(taken, '$[*]' COLUMNS (d_id SMALLINT PATH '$[0]', o_id INT PATH '$[1]')) AS oldest
               STRAIGHT_JOIN orders ON o_w_id = p_w_id AND o_d_id = d_id AND orders.o_id = oldest.o_id
           SET o_carrier_id = p_carrier_id;

        UPDATE JSON_TABLE(taken, '$[*]' COLUMNS (d_id SMALLINT PATH '$[0]', o_id INT PATH '$[1]')) AS oldest
               STRAIGHT_JOIN order_line ON ol_w_id = p_w_id AND ol_d_id = d_id AND ol_o_id = o_id
           SET ol_delivery_d = p_delivery_d;

        UPDATE (SELECT o_d_id, o_c_id, SUM(ol_amount) AS amount
                  FROM JSON_TABLE(taken, '$[*]' COLUMNS (
                           d_id SMALLINT PATH '$[0]', o_id INT PATH '$[1]')) AS oldest
                       STRAIGHT_JOIN orders
                       ON o_w_id = p_w_id AND o_d_id = d_id AND orders.o_id = oldest.o_id
                       STRAIGHT_JOIN order_line
                       ON ol_w_id = p_w_id AND ol_d_id = d_id AND ol_o_id = oldest.o_id
                 GROUP BY o_d_id, o_c_id) AS due
               STRAIGHT_JOIN customer ON c_w_id = p_w_id AND c_d_id = o_d_id AND c_id = o_c_id
           SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1;
    END IF;
    COMMIT;
    SELECT delivered;
END
