-- The last order of a customer (clause 2.6), chosen as in payment. Gives one row a line.
CREATE PROCEDURE do_order_status
    @w_id INT, @d_id SMALLINT, @c_id INT, @c_last VARCHAR(16)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @customer_id INT = @c_id, @before_middle INT, @balance DECIMAL(12,2), @order_id INT,
            @entry_d DATETIME2(6), @carrier_id SMALLINT;

    BEGIN TRANSACTION;
    IF @c_id IS NULL
    BEGIN
        SELECT @before_middle = (COUNT(*) - 1) / 2
          FROM customer
         WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last;
        SELECT @customer_id = c_id
          FROM customer
         WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last
         ORDER BY c_first OFFSET @before_middle ROWS FETCH NEXT 1 ROWS ONLY;
    END;

    SELECT @balance = c_balance
      FROM customer
     WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @customer_id;

    SELECT TOP (1) @order_id = o_id, @entry_d = o_entry_d, @carrier_id = o_carrier_id
      FROM orders
     WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_c_id = @customer_id
     ORDER BY o_id DESC;

    SELECT @customer_id AS customer_id, @balance AS balance, @order_id AS order_id, @entry_d AS entry_d,
           @carrier_id AS carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      FROM order_line
     WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @order_id;
    COMMIT TRANSACTION;
END
