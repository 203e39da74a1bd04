-- Prices of a feed, which come in the order of their symbols, so that two feeds take their locks in one order; gives
-- the orders before it whose limits they reach, which are submitted. Prices and quantities are JSON.
CREATE PROCEDURE market_feed(
    p_symbols TEXT CHARACTER SET latin1 COLLATE latin1_bin, p_prices TEXT, p_quantities TEXT, p_dts DATETIME(6)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE place INT DEFAULT 0;
    DECLARE symbol VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE price DECIMAL(8,2);
    DECLARE hit JSON;
    DECLARE reached JSON DEFAULT '[]';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    WHILE place < JSON_LENGTH(p_prices) DO
        SET symbol = SUBSTRING_INDEX(SUBSTRING_INDEX(p_symbols, ',', place + 1), ',', -1),
            price = CAST(JSON_EXTRACT(p_prices, CONCAT('$[', place, ']')) AS SIGNED) / 100;
        UPDATE last_trade
           SET lt_price = price, lt_dts = p_dts,
               lt_vol = lt_vol + CAST(JSON_EXTRACT(p_quantities, CONCAT('$[', place, ']')) AS SIGNED)
         WHERE lt_s_symb = symbol;
        SELECT JSON_ARRAYAGG(tr_t_id) INTO hit
          FROM trade_request STRAIGHT_JOIN trade ON t_id = tr_t_id AND t_dts < p_dts
         WHERE tr_s_symb = symbol
           AND ((tr_tt_id = 'TSL' AND tr_bid_price >= price)
                OR (tr_tt_id = 'TLS' AND tr_bid_price <= price)
                OR (tr_tt_id = 'TLB' AND tr_bid_price >= price))
           FOR UPDATE;
        IF hit IS NOT NULL THEN
            UPDATE JSON_TABLE(hit, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given STRAIGHT_JOIN trade ON t_id = id
               SET t_st_id = 'SBMT', t_dts = p_dts;
            INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
            SELECT id, p_dts, 'SBMT' FROM JSON_TABLE(hit, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given;
            DELETE trade_request
              FROM JSON_TABLE(hit, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given
                   STRAIGHT_JOIN trade_request ON tr_t_id = id;
            SET reached = JSON_MERGE_PRESERVE(reached, hit);
        END IF;
        SET place = place + 1;
    END WHILE;
    COMMIT;
    SELECT id FROM JSON_TABLE(reached, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given;
END
