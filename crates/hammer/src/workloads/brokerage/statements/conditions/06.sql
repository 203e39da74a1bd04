-- A trade has a cash transaction if and only if it is completed and paid with cash, and CT_AMT equals SE_AMT
SELECT concat('trade ', t_id, ': status ', t_st_id, ', T_IS_CASH ', t_is_cash, ', CT_AMT ', ct_amt, ', SE_AMT ', se_amt)
FROM trade LEFT JOIN cash_transaction ON ct_t_id = t_id LEFT JOIN settlement ON se_t_id = t_id
WHERE (t_st_id = 'CMPT' AND t_is_cash = 1 AND ct_t_id IS NULL)
   OR ((t_st_id <> 'CMPT' OR t_is_cash = 0) AND ct_t_id IS NOT NULL)
   OR ct_amt <> se_amt
