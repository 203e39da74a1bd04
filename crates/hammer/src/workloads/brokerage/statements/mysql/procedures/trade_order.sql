-- One order: whose it is and who gives it, what it would cost and gain, then the order itself. The limit is null for
-- market orders, which are sent with the last price; the executor is null where the owner gives it. Prices come and
-- go in hundredths. An order that is taken back leaves nothing.
CREATE PROCEDURE trade_order(
    p_t_id BIGINT, p_ca_id BIGINT, p_tax_id VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin,
    p_l_name VARCHAR(25) CHARACTER SET latin1 COLLATE latin1_bin,
    p_f_name VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin,
    p_symb VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin,
    p_co_name VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_bin,
    p_issue VARCHAR(6) CHARACTER SET latin1 COLLATE latin1_bin,
    p_tt_id VARCHAR(3) CHARACTER SET latin1 COLLATE latin1_bin, p_qty INT,
    p_limit_cents BIGINT, p_is_cash SMALLINT, p_lifo SMALLINT, p_dts DATETIME(6), p_taken_back BOOLEAN
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE balance, assets DECIMAL(20,2);
    DECLARE broker_id, customer_id BIGINT;
    DECLARE tax_status, tier, is_market, is_sell SMALLINT;
    DECLARE executor, broker_name VARCHAR(49) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE symbol VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE exchange_id VARCHAR(6) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE security_name, company_name VARCHAR(70) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE state VARCHAR(4) CHARACTER SET latin1 COLLATE latin1_bin;
    DECLARE price DECIMAL(8,2);
    DECLARE held INT;
    DECLARE gain DECIMAL(20,2);
    DECLARE fee, commission DECIMAL(10,2);
    DECLARE tax DECIMAL(10,2) DEFAULT 0;
    DECLARE problem VARCHAR(100);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    SELECT ca_bal, ca_b_id, ca_c_id, ca_tax_st, c_tier, CONCAT(c_f_name, ' ', c_l_name), b_name
      INTO balance, broker_id, customer_id, tax_status, tier, executor, broker_name
      FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id
     WHERE ca_id = p_ca_id;
    IF p_tax_id IS NOT NULL THEN
        SET executor = NULL;
        SELECT CONCAT(ap_f_name, ' ', ap_l_name) INTO executor
          FROM account_permission
         WHERE ap_ca_id = p_ca_id AND ap_tax_id = p_tax_id
           AND ap_l_name = p_l_name AND ap_f_name = p_f_name;
    END IF;
    IF executor IS NULL THEN
        SET problem = CONCAT('nobody of that name may act for account ', p_ca_id);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
    END IF;

    IF p_symb IS NULL THEN
        SELECT s_symb, s_ex_id, s_name, co_name, lt_price
          INTO symbol, exchange_id, security_name, company_name, price
          FROM company JOIN security ON s_co_id = co_id AND s_issue = p_issue
          JOIN last_trade ON lt_s_symb = s_symb
         WHERE co_name = p_co_name;
    ELSE
        SELECT s_symb, s_ex_id, s_name, co_name, lt_price
          INTO symbol, exchange_id, security_name, company_name, price
          FROM security JOIN company ON co_id = s_co_id JOIN last_trade ON lt_s_symb = s_symb
         WHERE s_symb = p_symb;
    END IF;
    SELECT tt_is_sell, tt_is_mrkt INTO is_sell, is_market FROM trade_type WHERE tt_id = p_tt_id;
    IF is_market = 0 THEN
        SET price = p_limit_cents / 100;
    END IF;

    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = p_ca_id AND hs_s_symb = symbol;
    IF (is_sell = 1 AND held > 0) OR (is_sell = 0 AND held < 0) THEN
        SELECT SUM(LEAST(ABS(h_qty), p_qty - before_it) * SIGN(h_qty) * (price - h_price)) INTO gain
          FROM (SELECT h_qty, h_price, SUM(ABS(h_qty)) OVER (
                       ORDER BY CASE p_lifo WHEN 1 THEN h_dts END DESC, h_dts, h_t_id ROWS UNBOUNDED PRECEDING
                       ) - ABS(h_qty) AS before_it
                  FROM holding WHERE h_ca_id = p_ca_id AND h_s_symb = symbol) AS lot
         WHERE before_it < p_qty;
        IF gain > 0 AND tax_status > 0 THEN
            SELECT ROUND(gain * SUM(tx_rate), 2) INTO tax
              FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = customer_id;
        END IF;
    END IF;
    SELECT ROUND(cr_rate * p_qty * price / 100, 2) INTO commission
      FROM commission_rate
     WHERE cr_c_tier = tier AND cr_tt_id = p_tt_id AND cr_ex_id = exchange_id
       AND cr_from_qty <= p_qty AND cr_to_qty >= p_qty;
    SELECT ch_chrg INTO fee FROM charge WHERE ch_tt_id = p_tt_id AND ch_c_tier = tier;
    SET assets = balance;
    IF p_is_cash = 0 THEN
        SELECT assets + COALESCE(SUM(hs_qty * lt_price), 0) INTO assets
          FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = p_ca_id;
    END IF;

    SET state = CASE is_market WHEN 1 THEN 'SBMT' ELSE 'PNDG' END;
    INSERT INTO trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name,
                       t_chrg, t_comm, t_tax, t_lifo)
    VALUES (p_t_id, p_dts, state, p_tt_id, p_is_cash, symbol, p_qty, price, p_ca_id, executor, fee, commission, 0,
            p_lifo);
    IF is_market = 0 THEN
        INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
        VALUES (p_t_id, p_tt_id, symbol, p_qty, price, broker_id);
    END IF;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (p_t_id, p_dts, state);
    IF p_taken_back THEN
        ROLLBACK;
    ELSE
        COMMIT;
    END IF;
    SELECT CAST(price * 100 AS SIGNED) AS price_cents, fee, commission, tax, assets;
END
