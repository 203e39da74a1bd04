-- What the exchange has done with an order. The account is locked first, so that results of one account follow each
-- other; then, in the order of their numbers, the trades to which rows will refer, each of which a trade-update may
-- hold; its broker, for whom most others wait, is changed last. What is decided by is read with locks: so it is the
-- latest at every level of isolation.
CREATE PROCEDURE trade_result(p_t_id BIGINT, p_price_cents BIGINT, p_dts DATETIME(6))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE price DECIMAL(8,2) DEFAULT p_price_cents / 100;
    DECLARE account_id, broker_id, customer_id BIGINT;
    DECLARE is_lifo, is_cash, tax_status, direction SMALLINT;
    DECLARE kind VARCHAR(3) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE kind_name VARCHAR(12) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE symbol VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE state VARCHAR(4) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE quantity, rest, held, holds INT;
    DECLARE fee, commission, amount DECIMAL(10,2);
    DECLARE balance DECIMAL(12,2);
    DECLARE gain DECIMAL(20,2);
    DECLARE tax DECIMAL(10,2) DEFAULT 0;
    DECLARE problem VARCHAR(100);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_name, 1 - 2 * tt_is_sell
      INTO account_id, kind, symbol, quantity, fee, is_lifo, is_cash, kind_name, direction
      FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id = p_t_id;
    SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal INTO broker_id, customer_id, tax_status, balance
      FROM customer_account WHERE ca_id = account_id FOR UPDATE;
    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = account_id AND hs_s_symb = symbol FOR UPDATE;
    IF held * direction < 0 THEN
        SELECT MAX(CASE t_id WHEN p_t_id THEN t_st_id END) INTO state
          FROM (SELECT h_t_id AS id FROM holding WHERE h_ca_id = account_id AND h_s_symb = symbol
                 UNION ALL SELECT p_t_id ORDER BY id LIMIT 1000000) AS referred
               STRAIGHT_JOIN trade ON t_id = id FOR UPDATE;
    ELSE
        SELECT t_st_id INTO state FROM trade WHERE t_id = p_t_id FOR UPDATE;
    END IF;
    IF state IS NULL OR state <> 'SBMT' THEN
        SET problem = CONCAT('trade ', p_t_id, ' was not submitted');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
    END IF;

    SET rest = quantity, holds = COALESCE(held, 0) + direction * quantity;
    IF held IS NULL THEN
        INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (account_id, symbol, holds);
    ELSEIF holds <> 0 THEN
        UPDATE holding_summary SET hs_qty = holds WHERE hs_ca_id = account_id AND hs_s_symb = symbol;
    END IF;
    IF held * direction < 0 THEN
        INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
        SELECT p_t_id, h_t_id, h_qty, h_qty + direction * LEAST(ABS(h_qty), quantity - before_it)
          FROM (SELECT h_t_id, h_qty, SUM(ABS(h_qty)) OVER (
                       ORDER BY CASE is_lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id ROWS UNBOUNDED PRECEDING
                       ) - ABS(h_qty) AS before_it
                  FROM holding WHERE h_ca_id = account_id AND h_s_symb = symbol) AS lot
         WHERE before_it < quantity;
        SELECT SUM((hh_before_qty - hh_after_qty) * (price - h_price)),
               quantity - SUM(ABS(hh_before_qty - hh_after_qty))
          INTO gain, rest
          FROM holding_history STRAIGHT_JOIN holding ON h_t_id = hh_h_t_id WHERE hh_t_id = p_t_id FOR UPDATE;
        UPDATE holding_history STRAIGHT_JOIN holding ON h_t_id = hh_h_t_id
           SET h_qty = hh_after_qty
         WHERE hh_t_id = p_t_id AND hh_after_qty <> 0;
        DELETE holding FROM holding_history STRAIGHT_JOIN holding ON h_t_id = hh_h_t_id
         WHERE hh_t_id = p_t_id AND hh_after_qty = 0;
    END IF;
    IF rest > 0 THEN
        INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
        VALUES (p_t_id, account_id, symbol, p_dts, price, direction * rest);
        INSERT INTO holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)
        VALUES (p_t_id, p_t_id, 0, direction * rest);
    END IF;
    IF holds = 0 THEN
        DELETE FROM holding_summary WHERE hs_ca_id = account_id AND hs_s_symb = symbol;
    END IF;

    IF gain > 0 AND tax_status > 0 THEN
        SELECT ROUND(gain * SUM(tx_rate), 2) INTO tax
          FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = customer_id;
    END IF;
    SELECT ROUND(cr_rate * quantity * price / 100, 2) INTO commission
      FROM security JOIN customer ON c_id = customer_id
      JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = kind AND cr_ex_id = s_ex_id
       AND cr_from_qty <= quantity AND cr_to_qty >= quantity
     WHERE s_symb = symbol;

    UPDATE trade
       SET t_comm = commission, t_tax = tax, t_dts = p_dts, t_st_id = 'CMPT', t_trade_price = price
     WHERE t_id = p_t_id;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (p_t_id, p_dts, 'CMPT');
    SET amount = -direction * quantity * price - fee - commission - CASE tax_status WHEN 1 THEN tax ELSE 0 END;
    INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
    VALUES (p_t_id, CASE is_cash WHEN 1 THEN 'Cash Account' ELSE 'Margin' END, DATE(p_dts) + INTERVAL 2 DAY, amount);
    IF is_cash = 1 THEN
        SET balance = balance + amount;
        UPDATE customer_account SET ca_bal = balance WHERE ca_id = account_id;
        INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
        VALUES (p_t_id, p_dts, amount, CONCAT(kind_name, ' ', quantity, ' shares of ', symbol));
    END IF;
    UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + commission
     WHERE b_id = broker_id;
    COMMIT;
    SELECT balance, amount;
END
