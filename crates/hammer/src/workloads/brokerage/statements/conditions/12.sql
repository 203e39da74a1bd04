-- HS_QTY equals the sum of T_QTY of the completed trades of the account in the security, sells below 0
SELECT concat('account ', account, ' security ', symbol, ': HS_QTY differs by ', sum(quantity))
FROM (
    SELECT hs_ca_id AS account, hs_s_symb AS symbol, hs_qty AS quantity FROM holding_summary
    UNION ALL
    SELECT t_ca_id, t_s_symb, CASE tt_is_sell WHEN 1 THEN t_qty ELSE -t_qty END
    FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_st_id = 'CMPT'
) AS parts
GROUP BY account, symbol HAVING sum(quantity) <> 0
