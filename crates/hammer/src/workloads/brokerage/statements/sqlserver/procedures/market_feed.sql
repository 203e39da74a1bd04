-- Prices of a feed, which come in the order of their symbols, so that two feeds take their locks in one order; gives
-- the orders before it whose limits they reach, which are submitted. Symbols have commas between them; prices and
-- quantities are JSON.
CREATE PROCEDURE market_feed
    @symbols VARCHAR(8000), @prices NVARCHAR(4000), @quantities NVARCHAR(4000), @dts DATETIME2(6)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @ticks TABLE (place INT NOT NULL PRIMARY KEY, symbol VARCHAR(15) NOT NULL,
                          price DECIMAL(8,2) NOT NULL, quantity INT NOT NULL);
    DECLARE @reached TABLE (id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @place INT = 0, @count INT, @symbol VARCHAR(15), @price DECIMAL(8,2), @quantity INT;

    INSERT INTO @ticks (place, symbol, price, quantity)
    SELECT CAST(symbols.[key] AS INT), symbols.value, CAST(prices.value AS INT) / 100.0, CAST(quantities.value AS INT)
      FROM OPENJSON(CONCAT('["', REPLACE(@symbols, ',', '","'), '"]')) AS symbols
           JOIN OPENJSON(@prices) AS prices ON prices.[key] = symbols.[key]
           JOIN OPENJSON(@quantities) AS quantities ON quantities.[key] = symbols.[key];
    SELECT @count = COUNT(*) FROM @ticks;

    BEGIN TRANSACTION;
    WHILE @place < @count
    BEGIN
        SELECT @symbol = symbol, @price = price, @quantity = quantity FROM @ticks WHERE place = @place;
        UPDATE last_trade
           SET lt_price = @price, lt_vol = lt_vol + @quantity, lt_dts = @dts
         WHERE lt_s_symb = @symbol;
        -- What is reached has the date of the feed, so that a further price of the security does not reach it again.
        UPDATE trade
           SET t_st_id = 'SBMT', t_dts = @dts
        OUTPUT inserted.t_id INTO @reached (id)
          FROM trade_request WITH (UPDLOCK, ROWLOCK)
               JOIN trade WITH (ROWLOCK) ON t_id = tr_t_id
         WHERE tr_s_symb = @symbol AND t_dts < @dts
           AND ((tr_tt_id = 'TSL' AND tr_bid_price >= @price)
                OR (tr_tt_id = 'TLS' AND tr_bid_price <= @price)
                OR (tr_tt_id = 'TLB' AND tr_bid_price >= @price))
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @place = @place + 1;
    END;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
    SELECT id, @dts, 'SBMT' FROM @reached;
    DELETE trade_request
      FROM @reached JOIN trade_request WITH (ROWLOCK) ON tr_t_id = id
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;
    SELECT id FROM @reached;
END
