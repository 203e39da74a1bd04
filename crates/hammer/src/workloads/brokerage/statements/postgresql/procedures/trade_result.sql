-- What the exchange has done with an order. The account is locked first, so that results of one account follow each
-- other; its broker, for whom most others wait, is changed last.
CREATE OR REPLACE FUNCTION trade_result(
    p_t_id bigint, p_price_cents bigint, p_dts timestamptz, OUT balance numeric, OUT amount numeric
) LANGUAGE plpgsql AS $$
DECLARE
    price numeric := p_price_cents / 100.0;
    deal record;
    account record;
    held integer;
    sign integer;
    rest integer;
    taken integer;
    lot record;
    gain numeric := 0;
    tax numeric := 0;
    commission numeric;
BEGIN
    SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, tt_name INTO deal
      FROM trade JOIN trade_type ON tt_id = t_tt_id
     WHERE t_id = p_t_id AND t_st_id = 'SBMT';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'trade % was not submitted', p_t_id;
    END IF;
    SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal INTO account
      FROM customer_account WHERE ca_id = deal.t_ca_id FOR NO KEY UPDATE;
    balance := account.ca_bal;
    sign := CASE deal.tt_is_sell WHEN 1 THEN -1 ELSE 1 END;
    rest := deal.t_qty;

    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = deal.t_ca_id AND hs_s_symb = deal.t_s_symb;
    IF held IS NULL THEN
        INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty)
        VALUES (deal.t_ca_id, deal.t_s_symb, sign * rest);
    ELSIF held + sign * rest <> 0 THEN
        UPDATE holding_summary SET hs_qty = held + sign * rest
         WHERE hs_ca_id = deal.t_ca_id AND hs_s_symb = deal.t_s_symb;
    END IF;
    IF held * sign < 0 THEN
        FOR lot IN
            SELECT h_t_id, h_qty, h_price FROM holding
             WHERE h_ca_id = deal.t_ca_id AND h_s_symb = deal.t_s_symb
             ORDER BY CASE deal.t_lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id
        LOOP
            taken := least(rest, abs(lot.h_qty));
            IF taken = abs(lot.h_qty) THEN
                DELETE FROM holding WHERE h_t_id = lot.h_t_id;
            ELSE
                UPDATE holding SET h_qty = h_qty + sign * taken WHERE h_t_id = lot.h_t_id;
            END IF;
            INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
            VALUES (p_t_id, lot.h_t_id, lot.h_qty, lot.h_qty + sign * taken);
            gain := gain - sign * taken * (price - lot.h_price);
            rest := rest - taken;
            EXIT WHEN rest = 0;
        END LOOP;
    END IF;
    IF rest > 0 THEN
        INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
        VALUES (p_t_id, deal.t_ca_id, deal.t_s_symb, p_dts, price, sign * rest);
        INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
        VALUES (p_t_id, p_t_id, 0, sign * rest);
    END IF;
    IF held + sign * deal.t_qty = 0 THEN
        DELETE FROM holding_summary WHERE hs_ca_id = deal.t_ca_id AND hs_s_symb = deal.t_s_symb;
    END IF;

    IF gain > 0 AND account.ca_tax_st > 0 THEN
        SELECT round(gain * sum(tx_rate), 2) INTO tax
          FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = account.ca_c_id;
    END IF;
    SELECT round(cr_rate / 100 * deal.t_qty * price, 2) INTO commission
      FROM security JOIN customer ON c_id = account.ca_c_id
      JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = deal.t_tt_id AND cr_ex_id = s_ex_id
       AND cr_from_qty <= deal.t_qty AND cr_to_qty >= deal.t_qty
     WHERE s_symb = deal.t_s_symb;

    UPDATE trade
       SET t_comm = commission, t_tax = tax, t_dts = p_dts, t_st_id = 'CMPT', t_trade_price = price
     WHERE t_id = p_t_id;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (p_t_id, p_dts, 'CMPT');
    amount := -sign * deal.t_qty * price - deal.t_chrg - commission
              - CASE account.ca_tax_st WHEN 1 THEN tax ELSE 0 END;
    INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
    VALUES (p_t_id, CASE deal.t_is_cash WHEN 1 THEN 'Cash Account' ELSE 'Margin' END,
            (p_dts AT TIME ZONE 'UTC')::date + 2, amount);
    IF deal.t_is_cash = 1 THEN
        UPDATE customer_account SET ca_bal = ca_bal + amount WHERE ca_id = deal.t_ca_id RETURNING ca_bal INTO balance;
        INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
        VALUES (p_t_id, p_dts, amount, concat(deal.tt_name, ' ', deal.t_qty, ' shares of ', deal.t_s_symb));
    END IF;
    UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + commission
     WHERE b_id = account.ca_b_id;
END
$$;
