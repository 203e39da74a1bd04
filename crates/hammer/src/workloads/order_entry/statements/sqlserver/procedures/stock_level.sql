-- How many items of the last 20 orders of a district are low in stock (clause 2.8).
CREATE PROCEDURE do_stock_level
    @w_id INT, @d_id SMALLINT, @threshold SMALLINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @next_o_id INT;

    BEGIN TRANSACTION;
    SELECT @next_o_id = d_next_o_id FROM district WHERE d_w_id = @w_id AND d_id = @d_id;

    SELECT COUNT(DISTINCT s_i_id) AS low
      FROM order_line JOIN stock ON s_w_id = @w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = @w_id AND ol_d_id = @d_id
       AND ol_o_id >= @next_o_id - 20 AND ol_o_id < @next_o_id
       AND s_quantity < @threshold
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;
END
