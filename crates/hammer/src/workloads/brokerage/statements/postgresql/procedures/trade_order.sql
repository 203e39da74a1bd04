-- One order: whose it is and who gives it, what it would cost and gain, then the order itself. The limit is null for
-- market orders, which are sent with the last price; the executor is null where the owner gives it. Prices come and
-- go in hundredths.
CREATE OR REPLACE FUNCTION trade_order(
    p_t_id bigint, p_ca_id bigint, p_tax_id varchar, p_l_name varchar, p_f_name varchar,
    p_symb varchar, p_co_name varchar, p_issue varchar, p_tt_id varchar, p_qty integer,
    p_limit_cents bigint, p_is_cash smallint, p_lifo smallint, p_dts timestamptz,
    OUT price_cents bigint, OUT charge numeric, OUT commission numeric, OUT tax numeric, OUT assets numeric
) LANGUAGE plpgsql AS $$
DECLARE
    account record;
    executor varchar;
    stock record;
    kind record;
    price numeric;
    held integer;
    lot record;
    rest integer := p_qty;
    taken integer;
    gain numeric := 0;
BEGIN
    SELECT ca_bal, ca_b_id, ca_c_id, ca_tax_st, c_tier, c_f_name || ' ' || c_l_name AS name, b_name INTO account
      FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id
     WHERE ca_id = p_ca_id;
    executor := account.name;
    IF p_tax_id IS NOT NULL THEN
        SELECT ap_f_name || ' ' || ap_l_name INTO executor
          FROM account_permission
         WHERE ap_ca_id = p_ca_id AND ap_tax_id = p_tax_id
           AND ap_l_name = p_l_name AND ap_f_name = p_f_name;
    END IF;
    IF executor IS NULL THEN
        RAISE EXCEPTION 'nobody of that name may act for account %', p_ca_id;
    END IF;

    IF p_symb IS NULL THEN
        SELECT s_symb, s_ex_id, s_name, co_name, lt_price INTO stock
          FROM company JOIN security ON s_co_id = co_id AND s_issue = p_issue
          JOIN last_trade ON lt_s_symb = s_symb
         WHERE co_name = p_co_name;
    ELSE
        SELECT s_symb, s_ex_id, s_name, co_name, lt_price INTO stock
          FROM security JOIN company ON co_id = s_co_id JOIN last_trade ON lt_s_symb = s_symb
         WHERE s_symb = p_symb;
    END IF;
    SELECT tt_is_sell, tt_is_mrkt INTO kind FROM trade_type WHERE tt_id = p_tt_id;
    price := CASE kind.tt_is_mrkt WHEN 1 THEN stock.lt_price ELSE p_limit_cents / 100.0 END;

    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = p_ca_id AND hs_s_symb = stock.s_symb;
    IF (kind.tt_is_sell = 1 AND held > 0) OR (kind.tt_is_sell = 0 AND held < 0) THEN
        FOR lot IN
            SELECT h_qty, h_price FROM holding
             WHERE h_ca_id = p_ca_id AND h_s_symb = stock.s_symb
             ORDER BY CASE p_lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id
        LOOP
            taken := least(rest, abs(lot.h_qty));
            gain := gain + taken * sign(lot.h_qty) * (price - lot.h_price);
            rest := rest - taken;
            EXIT WHEN rest = 0;
        END LOOP;
    END IF;
    tax := 0;
    IF gain > 0 AND account.ca_tax_st > 0 THEN
        SELECT round(gain * sum(tx_rate), 2) INTO tax
          FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = account.ca_c_id;
    END IF;
    SELECT round(cr_rate / 100 * p_qty * price, 2) INTO commission
      FROM commission_rate
     WHERE cr_c_tier = account.c_tier AND cr_tt_id = p_tt_id AND cr_ex_id = stock.s_ex_id
       AND cr_from_qty <= p_qty AND cr_to_qty >= p_qty;
    SELECT ch_chrg INTO charge FROM charge WHERE ch_tt_id = p_tt_id AND ch_c_tier = account.c_tier;
    assets := account.ca_bal;
    IF p_is_cash = 0 THEN
        SELECT assets + coalesce(sum(hs_qty * lt_price), 0) INTO assets
          FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = p_ca_id;
    END IF;

    INSERT INTO trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name,
                       t_chrg, t_comm, t_tax, t_lifo)
    VALUES (p_t_id, p_dts, CASE kind.tt_is_mrkt WHEN 1 THEN 'SBMT' ELSE 'PNDG' END, p_tt_id, p_is_cash, stock.s_symb,
            p_qty, price, p_ca_id, executor, charge, commission, 0, p_lifo);
    IF kind.tt_is_mrkt = 0 THEN
        INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
        VALUES (p_t_id, p_tt_id, stock.s_symb, p_qty, price, account.ca_b_id);
    END IF;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
    VALUES (p_t_id, p_dts, CASE kind.tt_is_mrkt WHEN 1 THEN 'SBMT' ELSE 'PNDG' END);
    price_cents := price * 100;
END
$$;
