-- HS_QTY equals the sum of H_QTY of the account's holdings of the security
SELECT concat('account ', account, ' security ', symbol, ': HS_QTY differs by ', sum(quantity))
FROM (
    SELECT hs_ca_id AS account, hs_s_symb AS symbol, hs_qty AS quantity FROM holding_summary
    UNION ALL
    SELECT h_ca_id, h_s_symb, -h_qty FROM holding
) AS parts
GROUP BY account, symbol HAVING sum(quantity) <> 0
