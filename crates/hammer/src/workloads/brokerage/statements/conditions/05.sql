-- A trade has a settlement and a T_TRADE_PRICE if and only if it is completed
SELECT concat('trade ', t_id, ': status ', t_st_id, ', T_TRADE_PRICE ', t_trade_price, ', settlement of ', se_t_id)
FROM trade LEFT JOIN settlement ON se_t_id = t_id
WHERE (t_st_id = 'CMPT' AND (se_t_id IS NULL OR t_trade_price IS NULL))
   OR (t_st_id <> 'CMPT' AND (se_t_id IS NOT NULL OR t_trade_price IS NOT NULL))
