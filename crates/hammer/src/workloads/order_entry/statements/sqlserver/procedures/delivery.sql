-- The oldest waiting order of each of the ten districts of a warehouse is delivered (clause 2.7).
-- Gives the number of orders. Another delivery on the same warehouse may hold an order: this one waits,
-- and takes the next where it is gone. All take the districts in the same order. READPAST instead could leave
-- a hole in the queue.
CREATE PROCEDURE do_delivery
    @w_id INT, @carrier_id SMALLINT, @delivery_d DATETIME2(6)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @taken TABLE (taken_d_id SMALLINT NOT NULL PRIMARY KEY, taken_o_id INT NOT NULL);

    BEGIN TRANSACTION;
    DELETE waiting
    OUTPUT deleted.no_d_id, deleted.no_o_id INTO @taken (taken_d_id, taken_o_id)
      FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS district (id)
           CROSS APPLY (SELECT TOP (1) no_o_id
                          FROM new_order WITH (UPDLOCK, ROWLOCK)
                         WHERE no_w_id = @w_id AND no_d_id = district.id
                         ORDER BY no_o_id) AS oldest
           JOIN new_order AS waiting WITH (ROWLOCK)
           ON waiting.no_w_id = @w_id AND waiting.no_d_id = district.id
          AND waiting.no_o_id = oldest.no_o_id
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE orders
       SET o_carrier_id = @carrier_id
      FROM @taken JOIN orders WITH (ROWLOCK) ON o_w_id = @w_id AND o_d_id = taken_d_id AND o_id = taken_o_id
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE order_line
       SET ol_delivery_d = @delivery_d
      FROM @taken
           JOIN order_line WITH (ROWLOCK)
           ON ol_w_id = @w_id AND ol_d_id = taken_d_id AND ol_o_id = taken_o_id
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE customer
       SET c_balance = c_balance + due.amount, c_delivery_cnt = c_delivery_cnt + 1
      FROM (SELECT o_d_id, o_c_id, SUM(ol_amount) AS amount
              FROM @taken
                   JOIN orders ON o_w_id = @w_id AND o_d_id = taken_d_id AND o_id = taken_o_id
                   JOIN order_line ON ol_w_id = @w_id AND ol_d_id = taken_d_id AND ol_o_id = taken_o_id
             GROUP BY o_d_id, o_c_id) AS due
           JOIN customer WITH (ROWLOCK) ON c_w_id = @w_id AND c_d_id = due.o_d_id AND c_id = due.o_c_id
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;
    SELECT COUNT(*) AS delivered FROM @taken;
END
