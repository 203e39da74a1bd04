-- Changes of trades of the past and what is then shown of them: names of executors of trades by their numbers (JSON),
-- else settlements of an account's or cash transactions of a security's, from a moment on. Rows are locked in the
-- order of the trades' numbers.
CREATE PROCEDURE trade_update
    @ids NVARCHAR(4000), @ca_id BIGINT, @symb VARCHAR(15), @from DATETIME2(6)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @found TABLE (id BIGINT NOT NULL PRIMARY KEY);

    BEGIN TRANSACTION;
    IF @ca_id IS NOT NULL
    BEGIN
        INSERT INTO @found (id)
        SELECT TOP (20) t_id FROM trade WHERE t_ca_id = @ca_id AND t_dts >= @from ORDER BY t_dts, t_id;
        UPDATE settlement
           SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account'
                              WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END
          FROM @found JOIN settlement WITH (ROWLOCK) ON se_t_id = id
        OPTION (LOOP JOIN, FORCE ORDER);
    END
    ELSE IF @symb IS NOT NULL
    BEGIN
        INSERT INTO @found (id)
        SELECT TOP (20) t_id FROM trade WHERE t_s_symb = @symb AND t_dts >= @from ORDER BY t_dts, t_id;
        UPDATE cash_transaction
           SET ct_name = CASE WHEN ct_name LIKE '% shares of %' THEN REPLACE(ct_name, ' shares of ', ' Shares of ')
                         ELSE REPLACE(ct_name, ' Shares of ', ' shares of ') END
          FROM @found JOIN cash_transaction WITH (ROWLOCK) ON ct_t_id = id
        OPTION (LOOP JOIN, FORCE ORDER);
    END
    ELSE
    BEGIN
        INSERT INTO @found (id)
        SELECT id FROM OPENJSON(@ids) WITH (id BIGINT '$') AS given;
        UPDATE trade
           SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %' THEN REPLACE(t_exec_name, ' X ', ' ')
                             ELSE REPLACE(t_exec_name, ' ', ' X ') END
          FROM @found JOIN trade WITH (ROWLOCK) ON t_id = id
        OPTION (LOOP JOIN, FORCE ORDER);
    END;
    SELECT t_id, t_ca_id, t_tt_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price, tt_name, tt_is_mrkt, se_amt,
           se_cash_due_date, se_cash_type, ct_amt, ct_dts, ct_name
      FROM @found JOIN trade ON t_id = id JOIN trade_type ON tt_id = t_tt_id
           LEFT JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id
     ORDER BY t_dts, t_id
    OPTION (LOOP JOIN, FORCE ORDER);
    SELECT th_t_id, th_dts, th_st_id
      FROM @found JOIN trade_history ON th_t_id = id
     ORDER BY th_t_id, th_dts, th_st_id
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;
END
