-- Changes of trades of the past and what is then shown of them: names of executors of trades by their numbers (JSON,
-- in their order), else settlements of an account's or cash transactions of a security's, from a moment on. The
-- trades are found without locks; their rows are locked in the order of their numbers.
CREATE PROCEDURE trade_update(
    p_ids TEXT, p_ca_id BIGINT, p_symb VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin, p_from DATETIME(6)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE ids TEXT DEFAULT p_ids;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    IF p_ca_id IS NOT NULL THEN
        SELECT CONCAT('[', GROUP_CONCAT(t_id ORDER BY t_id), ']') INTO ids
          FROM (SELECT t_id FROM trade WHERE t_ca_id = p_ca_id AND t_dts >= p_from
                 ORDER BY t_dts, t_id LIMIT 20) AS found;
        UPDATE JSON_TABLE(ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given STRAIGHT_JOIN settlement ON se_t_id = id
           SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account'
                              WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END;
    ELSEIF p_symb IS NOT NULL THEN
        SELECT CONCAT('[', GROUP_CONCAT(t_id ORDER BY t_id), ']') INTO ids
          FROM (SELECT t_id FROM trade WHERE t_s_symb = p_symb AND t_dts >= p_from
                 ORDER BY t_dts, t_id LIMIT 20) AS found;
        UPDATE JSON_TABLE(ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given
               STRAIGHT_JOIN cash_transaction ON ct_t_id = id
           SET ct_name = CASE WHEN ct_name LIKE '% shares of %' THEN REPLACE(ct_name, ' shares of ', ' Shares of ')
                         ELSE REPLACE(ct_name, ' Shares of ', ' shares of ') END;
    ELSE
        UPDATE JSON_TABLE(ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given STRAIGHT_JOIN trade ON t_id = id
           SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %' THEN REPLACE(t_exec_name, ' X ', ' ')
                             ELSE REPLACE(t_exec_name, ' ', ' X ') END;
    END IF;
    SELECT t_id, t_ca_id, t_tt_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price, tt_name, tt_is_mrkt, se_amt,
           se_cash_due_date, se_cash_type, ct_amt, ct_dts, ct_name
      FROM JSON_TABLE(ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given STRAIGHT_JOIN trade ON t_id = id
      JOIN trade_type ON tt_id = t_tt_id LEFT JOIN settlement ON se_t_id = t_id
      LEFT JOIN cash_transaction ON ct_t_id = t_id
     ORDER BY t_dts, t_id;
    SELECT th_t_id, th_dts, th_st_id
      FROM JSON_TABLE(ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS given STRAIGHT_JOIN trade_history ON th_t_id = id
     ORDER BY th_t_id, th_dts, th_st_id;
    COMMIT;
END
