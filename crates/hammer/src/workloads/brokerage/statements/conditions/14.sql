-- T_COMM of a completed trade is its rate of quantity times price, rounded half up
SELECT concat('trade ', t_id, ': T_COMM ', t_comm, ', rate ', cr_rate)
FROM trade JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id JOIN security ON s_symb = t_s_symb
LEFT JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = t_tt_id AND cr_ex_id = s_ex_id
      AND cr_from_qty <= t_qty AND cr_to_qty >= t_qty
WHERE t_st_id = 'CMPT' AND (cr_rate IS NULL OR t_comm <> round(cr_rate * t_qty * t_trade_price / 100, 2))
