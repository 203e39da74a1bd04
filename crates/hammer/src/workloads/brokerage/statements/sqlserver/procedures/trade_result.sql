-- What the exchange has done with an order. The account is locked first, so that results of one account follow each
-- other; then, in the order of their numbers, the trades to which rows will refer, each of which a trade-update may
-- hold; its broker, for whom most others wait, is changed last. What is decided by is read with locks.
CREATE PROCEDURE trade_result
    @t_id BIGINT, @price_cents BIGINT, @dts DATETIME2(6)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @price DECIMAL(8,2) = @price_cents / 100.0, @account_id BIGINT, @broker_id BIGINT, @customer_id BIGINT,
            @is_lifo SMALLINT, @is_cash SMALLINT, @tax_status SMALLINT, @direction SMALLINT, @kind VARCHAR(3),
            @kind_name VARCHAR(12), @symbol VARCHAR(15), @state VARCHAR(4), @quantity INT, @rest INT, @held INT,
            @holds INT, @fee DECIMAL(10,2), @commission DECIMAL(10,2), @amount DECIMAL(10,2),
            @balance DECIMAL(12,2), @gain DECIMAL(20,2), @tax DECIMAL(10,2) = 0, @problem VARCHAR(100);

    BEGIN TRANSACTION;
    SELECT @account_id = t_ca_id, @kind = t_tt_id, @symbol = t_s_symb, @quantity = t_qty, @fee = t_chrg,
           @is_lifo = t_lifo, @is_cash = t_is_cash, @kind_name = tt_name, @direction = 1 - 2 * tt_is_sell
      FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id = @t_id;
    SELECT @broker_id = ca_b_id, @customer_id = ca_c_id, @tax_status = ca_tax_st, @balance = ca_bal
      FROM customer_account WITH (UPDLOCK, ROWLOCK) WHERE ca_id = @account_id;
    SELECT @held = hs_qty
      FROM holding_summary WITH (UPDLOCK, ROWLOCK) WHERE hs_ca_id = @account_id AND hs_s_symb = @symbol;
    IF @held * @direction < 0
        SELECT @state = MAX(CASE t_id WHEN @t_id THEN t_st_id END)
          FROM (SELECT TOP (1000000) id
                  FROM (SELECT h_t_id AS id FROM holding WHERE h_ca_id = @account_id AND h_s_symb = @symbol
                         UNION ALL SELECT @t_id) AS parts
                 ORDER BY id) AS referred
               JOIN trade WITH (UPDLOCK, ROWLOCK) ON t_id = id
        OPTION (LOOP JOIN, FORCE ORDER);
    ELSE
        SELECT @state = t_st_id FROM trade WITH (UPDLOCK, ROWLOCK) WHERE t_id = @t_id;
    IF @state IS NULL OR @state <> 'SBMT'
    BEGIN
        SET @problem = CONCAT('trade ', @t_id, ' was not submitted');
        THROW 50000, @problem, 1;
    END;

    SET @rest = @quantity;
    SET @holds = COALESCE(@held, 0) + @direction * @quantity;
    IF @held IS NULL
        INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (@account_id, @symbol, @holds);
    ELSE IF @holds <> 0
        UPDATE holding_summary SET hs_qty = @holds WHERE hs_ca_id = @account_id AND hs_s_symb = @symbol;
    IF @held * @direction < 0
    BEGIN
        INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
        SELECT @t_id, h_t_id, h_qty, h_qty + @direction
               * CASE WHEN ABS(h_qty) < @quantity - before_it THEN ABS(h_qty) ELSE @quantity - before_it END
          FROM (SELECT h_t_id, h_qty, SUM(ABS(h_qty)) OVER (
                       ORDER BY CASE @is_lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id ROWS UNBOUNDED PRECEDING
                       ) - ABS(h_qty) AS before_it
                  FROM holding WHERE h_ca_id = @account_id AND h_s_symb = @symbol) AS lot
         WHERE before_it < @quantity;
        SELECT @gain = SUM((hh_before_qty - hh_after_qty) * (@price - h_price)),
               @rest = @quantity - SUM(ABS(hh_before_qty - hh_after_qty))
          FROM holding_history JOIN holding ON h_t_id = hh_h_t_id WHERE hh_t_id = @t_id
        OPTION (LOOP JOIN, FORCE ORDER);
        UPDATE holding
           SET h_qty = hh_after_qty
          FROM holding_history JOIN holding WITH (ROWLOCK) ON h_t_id = hh_h_t_id
         WHERE hh_t_id = @t_id AND hh_after_qty <> 0
        OPTION (LOOP JOIN, FORCE ORDER);
        DELETE holding
          FROM holding_history JOIN holding WITH (ROWLOCK) ON h_t_id = hh_h_t_id
         WHERE hh_t_id = @t_id AND hh_after_qty = 0
        OPTION (LOOP JOIN, FORCE ORDER);
    END;
    IF @rest > 0
    BEGIN
        INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
        VALUES (@t_id, @account_id, @symbol, @dts, @price, @direction * @rest);
        INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
        VALUES (@t_id, @t_id, 0, @direction * @rest);
    END;
    IF @holds = 0
        DELETE FROM holding_summary WHERE hs_ca_id = @account_id AND hs_s_symb = @symbol;

    IF @gain > 0 AND @tax_status > 0
        SELECT @tax = ROUND(@gain * CAST(SUM(tx_rate) AS DECIMAL(8,5)), 2)
          FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = @customer_id;
    SELECT @commission = ROUND(cr_rate * @quantity * @price / 100, 2)
      FROM security JOIN customer ON c_id = @customer_id
      JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = @kind AND cr_ex_id = s_ex_id
       AND cr_from_qty <= @quantity AND cr_to_qty >= @quantity
     WHERE s_symb = @symbol;

    UPDATE trade
       SET t_comm = @commission, t_tax = @tax, t_dts = @dts, t_st_id = 'CMPT', t_trade_price = @price
     WHERE t_id = @t_id;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (@t_id, @dts, 'CMPT');
    SET @amount = -@direction * @quantity * @price - @fee - @commission - CASE @tax_status WHEN 1 THEN @tax ELSE 0 END;
    INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
    VALUES (@t_id, CASE @is_cash WHEN 1 THEN 'Cash Account' ELSE 'Margin' END,
            CAST(DATEADD(day, 2, @dts) AS DATE), @amount);
    IF @is_cash = 1
    BEGIN
        SET @balance = @balance + @amount;
        UPDATE customer_account SET ca_bal = @balance WHERE ca_id = @account_id;
        INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
        VALUES (@t_id, @dts, @amount, CONCAT(@kind_name, ' ', @quantity, ' shares of ', @symbol));
    END;
    UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + @commission
     WHERE b_id = @broker_id;
    COMMIT TRANSACTION;
    SELECT @balance AS balance, @amount AS amount;
END
