-- One new order (clause 2.4). The hammer drew everything; the lines come as lists of item, supplying
-- warehouse, quantity, pass and number, sorted by supplying warehouse and item, so that two orders take the
-- locks on stock in the same order.
-- A pass holds every item at most once: an item that is ordered twice is in pass 0 and in pass 1, as
-- one UPDATE changes a row only once.
-- A line is of a brand where the texts of item and stock both say ORIGINAL, else generic: bit n - 1 of
-- brand_lines is set where line n is of a brand.
-- An unused item undoes all and leaves order_id null; @unused says that the caller is ready to.
-- Rates are read first: who waits for their rows then holds none that a payment waits for.
CREATE PROCEDURE do_new_order
    @w_id INT, @d_id SMALLINT, @c_id INT, @entry_d DATETIME2(6), @all_local SMALLINT,
    @lines NVARCHAR(4000), @line_count SMALLINT, @last_pass SMALLINT, @unused BIT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @order_id INT, @found_lines SMALLINT, @brand_lines INT, @pass SMALLINT = 0,
            @factor DECIMAL(10,8), @d_tax DECIMAL(4,4), @w_tax DECIMAL(4,4), @discount DECIMAL(4,4),
            @amount DECIMAL(12,2), @missing VARCHAR(100);

    BEGIN TRANSACTION;
    SELECT @discount = c_discount, @w_tax = w_tax
      FROM customer JOIN warehouse ON w_id = c_w_id
     WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id;

    UPDATE district
       SET @order_id = d_next_o_id = d_next_o_id + 1, @d_tax = d_tax
     WHERE d_w_id = @w_id AND d_id = @d_id
    SET @order_id = @order_id - 1;
    SET @factor = (1 - @discount) * (1 + @w_tax + @d_tax);

    INSERT INTO orders (o_entry_d, o_w_id, o_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (@entry_d, @w_id, @order_id, @c_id, @d_id, @line_count, @all_local);

    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (@w_id, @order_id, @d_id);

    WHILE @pass <= @last_pass
    BEGIN
        UPDATE stock
           SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10
                                 THEN s_quantity - line.quantity
                                 ELSE s_quantity - line.quantity + 91 END,
               s_ytd = s_ytd + line.quantity,
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + CASE WHEN line.supply <> @w_id THEN 1 ELSE 0 END
          FROM OPENJSON(@lines) WITH (item INT '$[0]', supply INT '$[1]', quantity SMALLINT '$[2]',
                                      pass SMALLINT '$[3]') AS line
               JOIN item ON i_id = line.item
               JOIN stock WITH (ROWLOCK) ON s_w_id = line.supply AND s_i_id = line.item
         WHERE line.pass = @pass
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @pass = @pass + 1;
    END;

    INSERT INTO order_line (ol_w_id, ol_o_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT @w_id, @order_id, line.item, line.supply, @d_id, line.number, line.quantity,
           i_price * line.quantity,
           CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                      WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                      WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                      ELSE s_dist_10 END
      FROM OPENJSON(@lines) WITH (item INT '$[0]', supply INT '$[1]', quantity SMALLINT '$[2]',
                                  number SMALLINT '$[4]') AS line
           JOIN item ON i_id = line.item
           JOIN stock ON s_w_id = line.supply AND s_i_id = line.item
    OPTION (LOOP JOIN, FORCE ORDER);

    SELECT @found_lines = COUNT(*), @amount = SUM(ol_amount),
           @brand_lines = SUM(CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'
                                   THEN POWER(2, ol_number - 1) ELSE 0 END)
      FROM order_line
           JOIN item ON i_id = ol_i_id
           JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @order_id
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @found_lines = @line_count
        COMMIT TRANSACTION;
    ELSE
    BEGIN
        ROLLBACK TRANSACTION;
        SET @order_id = NULL;
        IF @unused = 0
        BEGIN
            SET @missing = CONCAT('an item or its stock is missing: ', @found_lines, ' of ', @line_count,
                                  ' lines found');
            THROW 50000, @missing, 1;
        END;
    END;
    SELECT @order_id AS order_id, @amount * @factor AS total, @brand_lines AS brand_lines;
END
