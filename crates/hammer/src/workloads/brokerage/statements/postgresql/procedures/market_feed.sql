-- Prices of a feed, which come in the order of their symbols, so that two feeds take their locks in one order; gives
-- the orders before it whose limits they reach, which are submitted.
CREATE OR REPLACE FUNCTION market_feed(
    p_symbols text, p_prices integer[], p_quantities integer[], p_dts timestamptz
) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    reached bigint;
BEGIN
    FOR entry IN
        SELECT symbol, cents / 100.0 AS price, quantity
          FROM unnest(string_to_array(p_symbols, ','), p_prices, p_quantities)
               WITH ORDINALITY AS feed (symbol, cents, quantity, place)
         ORDER BY place
    LOOP
        UPDATE last_trade SET lt_price = entry.price, lt_vol = lt_vol + entry.quantity, lt_dts = p_dts
         WHERE lt_s_symb = entry.symbol;
        FOR reached IN
            DELETE FROM trade_request USING trade
             WHERE t_id = tr_t_id AND t_dts < p_dts AND tr_s_symb = entry.symbol
               AND ((tr_tt_id = 'TSL' AND tr_bid_price >= entry.price)
                    OR (tr_tt_id = 'TLS' AND tr_bid_price <= entry.price)
                    OR (tr_tt_id = 'TLB' AND tr_bid_price >= entry.price))
            RETURNING tr_t_id
        LOOP
            UPDATE trade SET t_st_id = 'SBMT', t_dts = p_dts WHERE t_id = reached;
            INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (reached, p_dts, 'SBMT');
            RETURN NEXT reached;
        END LOOP;
    END LOOP;
END
$$;
