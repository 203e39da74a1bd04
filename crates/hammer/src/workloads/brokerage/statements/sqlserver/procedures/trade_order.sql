-- One order: whose it is and who gives it, what it would cost and gain, then the order itself. The limit is null for
-- market orders, which are sent with the last price; the executor is null where the owner gives it. Prices come and
-- go in hundredths. An order that is taken back leaves nothing.
CREATE PROCEDURE trade_order
    @t_id BIGINT, @ca_id BIGINT, @tax_id VARCHAR(20), @l_name VARCHAR(25), @f_name VARCHAR(20), @symb VARCHAR(15),
    @co_name VARCHAR(60), @issue VARCHAR(6), @tt_id VARCHAR(3), @qty INT, @limit_cents BIGINT, @is_cash SMALLINT,
    @lifo SMALLINT, @dts DATETIME2(6), @taken_back BIT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @balance DECIMAL(20,2), @assets DECIMAL(20,2), @gain DECIMAL(20,2), @fee DECIMAL(10,2),
            @commission DECIMAL(10,2), @tax DECIMAL(10,2) = 0, @price DECIMAL(8,2), @broker_id BIGINT,
            @customer_id BIGINT, @tax_status SMALLINT, @tier SMALLINT, @is_market SMALLINT, @is_sell SMALLINT,
            @held INT, @executor VARCHAR(49), @broker_name VARCHAR(49), @exchange_id VARCHAR(6),
            @security_name VARCHAR(70), @company_name VARCHAR(60), @state VARCHAR(4), @problem VARCHAR(100);

    BEGIN TRANSACTION;
    SELECT @balance = ca_bal, @broker_id = ca_b_id, @customer_id = ca_c_id, @tax_status = ca_tax_st, @tier = c_tier,
           @executor = CONCAT(c_f_name, ' ', c_l_name), @broker_name = b_name
      FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id
     WHERE ca_id = @ca_id;
    IF @tax_id IS NOT NULL
    BEGIN
        SET @executor = NULL;
        SELECT @executor = CONCAT(ap_f_name, ' ', ap_l_name)
          FROM account_permission
         WHERE ap_ca_id = @ca_id AND ap_tax_id = @tax_id AND ap_l_name = @l_name AND ap_f_name = @f_name;
    END;
    IF @executor IS NULL
    BEGIN
        SET @problem = CONCAT('nobody of that name may act for account ', @ca_id);
        THROW 50000, @problem, 1;
    END;

    IF @symb IS NULL
        SELECT @symb = s_symb, @exchange_id = s_ex_id, @security_name = s_name, @company_name = co_name,
               @price = lt_price
          FROM company JOIN security ON s_co_id = co_id AND s_issue = @issue
          JOIN last_trade ON lt_s_symb = s_symb
         WHERE co_name = @co_name;
    ELSE
        SELECT @exchange_id = s_ex_id, @security_name = s_name, @company_name = co_name, @price = lt_price
          FROM security JOIN company ON co_id = s_co_id JOIN last_trade ON lt_s_symb = s_symb
         WHERE s_symb = @symb;
    SELECT @is_sell = tt_is_sell, @is_market = tt_is_mrkt FROM trade_type WHERE tt_id = @tt_id;
    IF @is_market = 0
        SET @price = @limit_cents / 100.0;

    SELECT @held = hs_qty FROM holding_summary WHERE hs_ca_id = @ca_id AND hs_s_symb = @symb;
    IF (@is_sell = 1 AND @held > 0) OR (@is_sell = 0 AND @held < 0)
    BEGIN
        SELECT @gain = SUM(CASE WHEN ABS(h_qty) < @qty - before_it THEN ABS(h_qty) ELSE @qty - before_it END
                           * SIGN(h_qty) * (@price - h_price))
          FROM (SELECT h_qty, h_price, SUM(ABS(h_qty)) OVER (
                       ORDER BY CASE @lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id ROWS UNBOUNDED PRECEDING
                       ) - ABS(h_qty) AS before_it
                  FROM holding WHERE h_ca_id = @ca_id AND h_s_symb = @symb) AS lot
         WHERE before_it < @qty;
        IF @gain > 0 AND @tax_status > 0
            SELECT @tax = ROUND(@gain * CAST(SUM(tx_rate) AS DECIMAL(8,5)), 2)
              FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = @customer_id;
    END;
    SELECT @commission = ROUND(cr_rate * @qty * @price / 100, 2)
      FROM commission_rate
     WHERE cr_c_tier = @tier AND cr_tt_id = @tt_id AND cr_ex_id = @exchange_id
       AND cr_from_qty <= @qty AND cr_to_qty >= @qty;
    SELECT @fee = ch_chrg FROM charge WHERE ch_tt_id = @tt_id AND ch_c_tier = @tier;
    SET @assets = @balance;
    IF @is_cash = 0
        SELECT @assets = @balance + COALESCE(SUM(hs_qty * lt_price), 0)
          FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = @ca_id;

    SET @state = CASE @is_market WHEN 1 THEN 'SBMT' ELSE 'PNDG' END;
    INSERT INTO trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name,
                       t_chrg, t_comm, t_tax, t_lifo)
    VALUES (@t_id, @dts, @state, @tt_id, @is_cash, @symb, @qty, @price, @ca_id, @executor, @fee, @commission, 0,
            @lifo);
    IF @is_market = 0
        INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
        VALUES (@t_id, @tt_id, @symb, @qty, @price, @broker_id);
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (@t_id, @dts, @state);
    IF @taken_back = 1
        ROLLBACK TRANSACTION;
    ELSE
        COMMIT TRANSACTION;
    SELECT CAST(@price * 100 AS BIGINT) AS price_cents, @fee AS fee, @commission AS commission, @tax AS tax,
           @assets AS assets, @broker_name AS broker_name, @security_name AS security_name,
           @company_name AS company_name;
END
