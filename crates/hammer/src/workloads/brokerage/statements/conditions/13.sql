-- SE_AMT is price times quantity without charge, commission and withheld tax; only taxable accounts have tax
SELECT concat('trade ', t_id, ': SE_AMT ', se_amt, ', T_TAX ', t_tax, ', tax status ', ca_tax_st)
FROM settlement JOIN trade ON t_id = se_t_id JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id
WHERE se_amt <> CASE tt_is_sell WHEN 1 THEN 1 ELSE -1 END * t_qty * t_trade_price - t_chrg - t_comm
                - CASE ca_tax_st WHEN 1 THEN t_tax ELSE 0 END
   OR (t_tax > 0 AND ca_tax_st = 0)
