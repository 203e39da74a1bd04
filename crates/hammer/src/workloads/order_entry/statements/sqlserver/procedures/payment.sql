-- One payment (clause 2.5), by a customer of any warehouse, chosen by number or, where that is null,
-- by last name: then the middle one by first name. Gives the customer's number and new balance, and
-- the addresses of customer, district and warehouse.
CREATE PROCEDURE do_payment
    @w_id INT, @d_id SMALLINT, @c_w_id INT, @c_d_id SMALLINT, @c_id INT, @c_last VARCHAR(16),
    @amount DECIMAL(6,2), @date DATETIME2(6)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @customer_id INT = @c_id, @before_middle INT, @missing VARCHAR(200),
            @w_name VARCHAR(10), @d_name VARCHAR(10),
            @d_street_1 VARCHAR(20), @d_street_2 VARCHAR(20), @d_city VARCHAR(20),
            @d_state CHAR(2), @d_zip CHAR(9),
            @w_street_1 VARCHAR(20), @w_street_2 VARCHAR(20), @w_city VARCHAR(20),
            @w_state CHAR(2), @w_zip CHAR(9);

    BEGIN TRANSACTION;
    IF @c_id IS NULL
    BEGIN
        SELECT @before_middle = (COUNT(*) - 1) / 2
          FROM customer
         WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last;
        SELECT @customer_id = c_id
          FROM customer
         WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last
         ORDER BY c_first OFFSET @before_middle ROWS FETCH NEXT 1 ROWS ONLY;
    END;

    UPDATE customer
       SET c_balance = c_balance - @amount,
           c_ytd_payment = c_ytd_payment + @amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
                    WHEN 'BC' THEN LEFT(CONCAT(c_id, ' ', c_d_id, ' ', c_w_id, ' ', @d_id, ' ', @w_id, ' ',
                                               @amount, ' | ', c_data), 500)
                    ELSE c_data END
     WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @customer_id;
    IF @@ROWCOUNT <> 1
    BEGIN
        ROLLBACK TRANSACTION;
        SET @missing = CONCAT('no customer ', @c_id, @c_last, ' in district ', @c_d_id, ' of warehouse ',
                              @c_w_id);
        THROW 50000, @missing, 1;
    END;

    UPDATE district
       SET d_ytd = d_ytd + @amount, @d_name = d_name, @d_street_1 = d_street_1, @d_street_2 = d_street_2,
           @d_city = d_city, @d_state = d_state, @d_zip = d_zip
     WHERE d_w_id = @w_id AND d_id = @d_id

    -- The row that most others wait for comes late, so that it is locked for a short time.
    UPDATE warehouse
       SET w_ytd = w_ytd + @amount, @w_name = w_name, @w_street_1 = w_street_1, @w_street_2 = w_street_2,
           @w_city = w_city, @w_state = w_state, @w_zip = w_zip
     WHERE w_id = @w_id

    INSERT INTO history (h_date, h_c_w_id, h_c_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    VALUES (@date, @c_w_id, @customer_id, @w_id, @c_d_id, @d_id, @amount,
            CONCAT(@w_name, '    ', @d_name));

    SELECT c_id, c_balance, c_street_1, c_street_2, c_city, c_state, c_zip,
           @d_street_1 AS d_street_1, @d_street_2 AS d_street_2, @d_city AS d_city, @d_state AS d_state,
           @d_zip AS d_zip,
           @w_street_1 AS w_street_1, @w_street_2 AS w_street_2, @w_city AS w_city, @w_state AS w_state,
           @w_zip AS w_zip
      FROM customer
     WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @customer_id;
    COMMIT TRANSACTION;
END
